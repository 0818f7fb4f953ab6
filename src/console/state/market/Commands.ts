/** Commands of the signed-in owner, through the reference client: each ends in an outcome that the venue reported, or as unknown. */
import { Client, type NewOrder } from "../../../client/venue/Client.js"
import { isTooNewToForget } from "../../../client/venue/CommandKey.js"
import type * as Contract from "../../../client/venue/Contract.js"
import type { Outcome } from "../../../client/venue/Outcome.js"
import { Refusal, Unanswered } from "../../../client/venue/Refusal.js"
import { nativeVersion } from "../../../client/venue/Rest.js"
import type { Credential } from "../Credential.js"
import * as Failure from "../Failure.js"
import type { Key } from "../Keyed.js"
import type { Outside } from "../Outside.js"
import { words } from "../Words.js"

/** The time limit for an answer, in milliseconds, and the attempts to send a command before the venue is asked for its outcome. */
const patience = { timeoutMs: 6_000, maxAttempts: 3 }

const unheard = (message: string, advice: string, again: boolean): Failure.Failure => ({
  message,
  advice,
  code: undefined,
  requestId: undefined,
  again
})

const neverArrived = unheard("It never reached the venue, and never will.", "Check your connection, then send it again.", false)

const ofAnotherBody = unheard(
  "Another request was decided under the same key, and this one was not done.",
  "Look at your orders and positions before you send it again.",
  false
)

const neverPlaced = unheard(
  "It was not placed, and never will be.",
  "Look at your orders and positions before you send it again.",
  false
)

const nobodyKnows = unheard(
  "Nobody knows yet what became of it: its answer was lost, and the venue could not be asked.",
  "Try again: the same is asked once more, and nothing is done twice.",
  true
)

/** The failure of a batch with no accepted entry: entries give only the name of their refusal. */
const allRefused = ({ code, rejectionGuard }: { readonly code: string; readonly rejectionGuard?: string }): Failure.Failure =>
  unheard(`It was refused: ${words(rejectionGuard ?? code).toLowerCase()}.`, "Look at your orders and positions, then try again.", false)

/** Whether a refusal will remain the answer under the key. */
const standsForKey = (refusal: Refusal): boolean => refusal.isDecision || refusal.isConflict

/** Whether the key belongs to another request: repeating it reveals nothing more. */
const isConflict = (cause: unknown): boolean => cause instanceof Refusal && cause.isConflict

/**
 * An outcome in the form for the pages. An unknown one may be tried again under its key. So may one that was not accepted under a key that
 * was sent before (`isNew` is false): nothing has been done yet, but an earlier request may still be on its way.
 */
export const resultOf = <A>(outcome: Outcome<A>, isNew: boolean): Failure.Result<A> => {
  switch (outcome.kind) {
    case "accepted":
      return { value: outcome.value }
    case "refused":
      return { failure: Failure.ofEnvelope(outcome.refusal.envelope, !isNew && !outcome.refusal.isDecision) }
    case "never_arrived":
      return { failure: neverArrived }
    case "unknown":
      return { failure: isConflict(outcome.cause) ? ofAnotherBody : nobodyKnows }
  }
}

/** An order with a clientOrderId, by which the venue finds it even when the key under which it was sent is forgotten. */
export type NamedOrder = NewOrder & { readonly clientOrderId: string }

interface Asked {
  readonly method: "PUT" | "DELETE"
  readonly path: string
  readonly body?: unknown
}

export class Commands {
  private held: { readonly accountId: string; readonly client: Client } | undefined

  constructor(private readonly credential: Credential, private readonly outside: Pick<Outside, "now" | "venue">) {}

  /** Places an order. One that was sent so long ago that its key may be forgotten is looked up instead, since it could be placed twice. */
  async place(order: NamedOrder, key: Key): Promise<Failure.Result<Contract.Order>> {
    if (this.mayBeForgotten(key)) return await this.becameOf([order], key)
    return this.told(await this.client.place(order, { idempotencyKey: key.key, isNew: key.isNew }), key.isNew)
  }

  /** Places orders in one turn of the venue, or looks up their outcome; succeeds if any of them was accepted. */
  async placeAll(orders: ReadonlyArray<NamedOrder>, key: Key): Promise<Failure.Result<unknown>> {
    const [first] = orders
    // A single order gets the reason for a refusal in whole sentences.
    if (first !== undefined && orders.length === 1) return await this.place(first, key)
    if (this.mayBeForgotten(key)) return await this.becameOf(orders, key)
    const placed = this.told(await this.client.placeBatch(orders, { idempotencyKey: key.key, isNew: key.isNew }), key.isNew)
    if (Failure.hasFailed(placed)) return placed
    const { outcomes } = placed.value
    const [refused] = outcomes
    return refused?.accepted === false && outcomes.every(({ accepted }) => !accepted) ? { failure: allRefused(refused) } : placed
  }

  async cancelAll(marketId: string, { isNew, key }: Key): Promise<Failure.Result<Contract.CanceledAll>> {
    return this.told(await this.client.cancelAll(marketId, { idempotencyKey: key, isNew }), isNew)
  }

  /** Sets the take-profit and stop-loss of a market's position, in place of all existing ones. */
  async setAutoClose(marketId: string, autoClose: object, key: Key): Promise<Failure.Result<unknown>> {
    return await this.ask({ method: "PUT", path: this.autoClose(marketId), body: autoClose }, key)
  }

  async removeAutoClose(marketId: string, key: Key): Promise<Failure.Result<unknown>> {
    return await this.ask({ method: "DELETE", path: this.autoClose(marketId) }, key)
  }

  /** Drops the client of the previous account. */
  clear(): void {
    void this.held?.client.close()
    this.held = undefined
  }

  private get accountId(): string {
    return this.credential.signed.value?.accountId ?? ""
  }

  /** A client for the account that is signed in. */
  private get client(): Client {
    const { accountId, credential, outside: { venue: { platform, url } } } = this
    if (this.held?.accountId !== accountId) {
      this.clear()
      const apiKey = (): string | undefined => credential.signed.value?.accessToken
      this.held = { accountId, client: new Client(platform, { url, apiKey, accountId, ...patience }) }
    }
    return this.held.client
  }

  private ofAccount(what: string): string {
    return `/v1/accounts/${encodeURIComponent(this.accountId)}/${what}`
  }

  private autoClose(marketId: string): string {
    return this.ofAccount(`positions/${encodeURIComponent(marketId)}/auto-close`)
  }

  private mayBeForgotten({ isNew, sentAtEpochMs }: Key): boolean {
    return !isNew && !isTooNewToForget(sentAtEpochMs, this.outside.now())
  }

  /**
   * Finds the outcome of orders without sending them: the first one that exists by its clientOrderId. Where there is none, the key under
   * which they were sent is fenced, so that a request still in transit does nothing either; if one had arrived meanwhile, the search is
   * repeated.
   */
  private async becameOf(orders: ReadonlyArray<NamedOrder>, { key }: Key): Promise<Failure.Result<Contract.Order>> {
    // The orders' owner stays the same, whoever is signed in when an answer arrives.
    const { client: { rest } } = this
    const path = this.ofAccount("outcomes")
    const named = async (): Promise<Contract.Order | undefined> => {
      for (const { clientOrderId } of orders) {
        const query = { clientOrderId }
        const { order } = await rest.ask<Contract.OutcomeLookup>({ method: "GET", path, query, version: nativeVersion })
        if (order !== undefined) return order
      }
      return undefined
    }
    try {
      const found = await named()
      if (found !== undefined) return { value: found }
      const idempotencyKey = this.outside.venue.platform.newKey()
      const fence = await rest.repeat<Contract.Fence>({
        method: "POST",
        path: `${path}/fence`,
        body: { idempotencyKey: key },
        version: nativeVersion,
        idempotencyKey
      }, () => {})
      if (fence.kind === "lost") return { failure: nobodyKnows }
      if (fence.kind === "answered") return { failure: neverPlaced }
      if (fence.refusal.envelope.rejectionGuard !== "already_seen") throw fence.refusal
      const late = await named()
      return late === undefined ? { failure: neverPlaced } : { value: late }
    } catch (cause) {
      if (cause instanceof Unanswered) return { failure: nobodyKnows }
      if (!(cause instanceof Refusal)) throw cause
      this.refused(cause)
      return { failure: Failure.ofEnvelope(cause.envelope, true) }
    }
  }

  private async ask(asked: Asked, { isNew, key }: Key): Promise<Failure.Result<unknown>> {
    let mayBeDone = !isNew
    const attempt = await this.client.rest.repeat<unknown>({ ...asked, version: nativeVersion, idempotencyKey: key }, () => {
      mayBeDone = true
    })
    switch (attempt.kind) {
      case "answered":
        return { value: attempt.value }
      case "refused":
        this.refused(attempt.refusal)
        // This refusal reveals nothing about earlier attempts: repeating under the same key does.
        if (mayBeDone && !standsForKey(attempt.refusal)) return { failure: Failure.ofEnvelope(attempt.refusal.envelope, true) }
        return { failure: Failure.ofEnvelope(attempt.refusal.envelope) }
      case "lost":
        return { failure: nobodyKnows }
    }
  }

  private told<A>(outcome: Outcome<A>, isNew: boolean): Failure.Result<A> {
    if (outcome.kind === "refused") this.refused(outcome.refusal)
    if (outcome.kind === "unknown" && outcome.cause instanceof Refusal) this.refused(outcome.cause)
    return resultOf(outcome, isNew)
  }

  /** Handles a session that the venue no longer accepts. */
  private refused({ code }: Refusal): void {
    const token = this.credential.signed.value?.accessToken
    if (code === "unauthorized" && token !== undefined) this.credential.rejected(token)
  }
}
