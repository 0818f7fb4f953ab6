/** Commands of the signed-in owner, by the reference client: each comes to an outcome that the venue told, or to its being unknown. */
import { Client, type NewOrder } from "../../../client/venue/Client.js"
import type * as Contract from "../../../client/venue/Contract.js"
import type { Outcome } from "../../../client/venue/Outcome.js"
import { Refusal } from "../../../client/venue/Refusal.js"
import type { Credential } from "../Credential.js"
import * as Failure from "../Failure.js"
import type { Key } from "../Keyed.js"
import type { Outside } from "../Outside.js"

/** Until an answer is taken for lost, and how often a command is sent before the venue is asked what became of it. */
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

const isUnknown = unheard(
  "Nobody knows yet what became of it: its answer was lost, and the venue could not be asked.",
  "Try again: the same is asked once more, and nothing is done twice.",
  true
)

/** Whether a refusal is what will be answered under the key from now on. */
const standsForKey = (refusal: Refusal): boolean => refusal.isDecision || refusal.isConflict

/** Whether a key was found to stand for another request: asking again under it tells no more. */
const isConflict = (cause: unknown): boolean => cause instanceof Refusal && cause.isConflict

/**
 * An outcome as the pages take it. One that is unknown may be tried again under its key. So may one that was not taken under a key that
 * was sent before (`isNew` is false): nothing was done until now, but an earlier request may still be on its way.
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
      return { failure: isConflict(outcome.cause) ? ofAnotherBody : isUnknown }
  }
}

interface Asked {
  readonly method: "PUT" | "DELETE"
  readonly path: string
  readonly body?: unknown
}

export class Commands {
  private held: { readonly accountId: string; readonly client: Client } | undefined

  constructor(private readonly credential: Credential, private readonly venue: Outside["venue"]) {}

  async place(order: NewOrder, { isNew, key }: Key): Promise<Failure.Result<Contract.PlacedOrder>> {
    return this.told(await this.client.place(order, { idempotencyKey: key, isNew }), isNew)
  }

  async cancelAll(marketId: string, { isNew, key }: Key): Promise<Failure.Result<Contract.CanceledAll>> {
    return this.told(await this.client.cancelAll(marketId, { idempotencyKey: key, isNew }), isNew)
  }

  /** Sets what closes the position in a market by itself, in the place of all that did. */
  async setAutoClose(marketId: string, autoClose: object, key: Key): Promise<Failure.Result<unknown>> {
    return await this.ask({ method: "PUT", path: this.autoClose(marketId), body: autoClose }, key)
  }

  async removeAutoClose(marketId: string, key: Key): Promise<Failure.Result<unknown>> {
    return await this.ask({ method: "DELETE", path: this.autoClose(marketId) }, key)
  }

  /** Forgets whose commands these were. */
  clear(): void {
    void this.held?.client.close()
    this.held = undefined
  }

  private get accountId(): string {
    return this.credential.signed.value?.accountId ?? ""
  }

  /** A client of the account that is signed in. */
  private get client(): Client {
    const { accountId, credential, venue: { platform, url } } = this
    if (this.held?.accountId !== accountId) {
      this.clear()
      const apiKey = (): string | undefined => credential.signed.value?.accessToken
      this.held = { accountId, client: new Client(platform, { url, apiKey, accountId, ...patience }) }
    }
    return this.held.client
  }

  private autoClose(marketId: string): string {
    return `/v1/accounts/${encodeURIComponent(this.accountId)}/positions/${encodeURIComponent(marketId)}/auto-close`
  }

  private async ask(asked: Asked, { isNew, key }: Key): Promise<Failure.Result<unknown>> {
    let mayBeDone = !isNew
    const attempt = await this.client.rest.repeat<unknown>({ ...asked, idempotencyKey: key }, () => {
      mayBeDone = true
    })
    switch (attempt.kind) {
      case "answered":
        return { value: attempt.value }
      case "refused":
        this.refused(attempt.refusal)
        // Says nothing of what was sent before: the same key finds that out.
        if (mayBeDone && !standsForKey(attempt.refusal)) return { failure: Failure.ofEnvelope(attempt.refusal.envelope, true) }
        return { failure: Failure.ofEnvelope(attempt.refusal.envelope) }
      case "lost":
        return { failure: isUnknown }
    }
  }

  private told<A>(outcome: Outcome<A>, isNew: boolean): Failure.Result<A> {
    if (outcome.kind === "refused") this.refused(outcome.refusal)
    if (outcome.kind === "unknown" && outcome.cause instanceof Refusal) this.refused(outcome.cause)
    return resultOf(outcome, isNew)
  }

  /** A session that the venue no longer takes has ended. */
  private refused({ code }: Refusal): void {
    const token = this.credential.signed.value?.accessToken
    if (code === "unauthorized" && token !== undefined) this.credential.rejected(token)
  }
}
