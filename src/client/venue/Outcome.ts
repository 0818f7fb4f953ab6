/**
 * The outcome of a command. Where its answers were lost, the venue is asked under the command's own identity first: an outcome is always
 * what the venue reported, and never a guess.
 */
import { clientOrderIdOf } from "./ClientOrderId.js"
import { type CommandKey, isTooNewToForget, mayBeMissing } from "./CommandKey.js"
import type * as Contract from "./Contract.js"
import type { Refusal } from "./Refusal.js"
import { Unanswered } from "./Refusal.js"
import { type Asked, type Attempt, nativeVersion, type Rest } from "./Rest.js"

/** The venue decided the command and did it. */
export interface Accepted<A> {
  readonly kind: "accepted"
  readonly idempotencyKey: string
  /** The venue's answer; for an order whose key the venue has forgotten, the order in its present state. */
  readonly value: A
}

/** Not done: the venue decided against it, or did not accept it and has seen no earlier one under its key. */
export interface NotDone {
  readonly kind: "refused"
  readonly idempotencyKey: string
  readonly refusal: Refusal
}

/**
 * Its answers were lost, or it could not be sent, and it had never arrived; or it was a cancel that found none of its orders open, of which
 * the venue keeps nothing: whether an order is open is known only by reading it. Its identity is fenced: nothing is done under it until
 * the fence ends.
 */
export interface NeverArrived {
  readonly kind: "never_arrived"
  readonly idempotencyKey: string
  /** Undefined where the venue does not say how long its fence holds. */
  readonly fencedUntilEpochMs: number | undefined
  /** Why there was no direct answer. */
  readonly cause: unknown
}

/**
 * Unknown: its answers were lost, or it was not accepted under a key that may have been used before, and the venue could not tell the
 * outcome. The same command under the same key is done at most once and returns the outcome, until the venue's retention (`GET /v1/limits`)
 * has passed since it was first sent. After that this still holds for orders, which are looked up by their `clientOrderId` before they are
 * sent, but any other command would be done again. It is also the outcome where the key belongs to another body (`cause` is a `Refusal`
 * with `isConflict`), or where the venue has forgotten it but has an order with its name (`cause` is `Forgotten`): then `seen` holds what
 * was done, and repeating tells no more. Nor does it where the venue's orders do not reach back far enough (`cause` is `Unproven`).
 */
export interface Unknown {
  readonly kind: "unknown"
  readonly idempotencyKey: string
  readonly cause: unknown
  /** What the venue remembers under the key, where it could be asked: this was decided, but the answer itself could not be obtained. */
  readonly seen: Contract.OutcomeLookup | undefined
}

/**
 * The venue has forgotten what was decided under a key, and has an order with its name: nothing was sent, since that would be a second
 * order.
 */
export class Forgotten extends Error {
  override readonly name = "Forgotten"
  readonly isRetryable = false

  constructor(idempotencyKey: string, { clientOrderId = "", orderId }: Contract.Order) {
    super(`the venue has forgotten what was decided under ${idempotencyKey}, and has ${orderId} of the name ${clientOrderId}`)
  }
}

/**
 * The venue has forgotten what was decided under a key, and its orders are complete only since an upgrade that is less than 30 days ago:
 * that it finds no order with the command's names does not prove that there was none. Nothing was sent.
 */
export class Unproven extends Error {
  override readonly name = "Unproven"
  readonly isRetryable = false

  constructor(idempotencyKey: string, readonly completeSinceEpochMs: number | undefined) {
    super(`the venue has forgotten what was decided under ${idempotencyKey}, and does not have all orders from before its upgrade`)
  }
}

export type Outcome<A> = Accepted<A> | NotDone | NeverArrived | Unknown

/** A command in the form in which it is sent by HTTP. */
export interface Command extends Asked, CommandKey {
  readonly method: "POST"
  readonly idempotencyKey: string
  /** Set once for all transports, and for the request for its answer: the venue's retention does not start anew with these. */
  readonly sentAtEpochMs: number
}

/** The orders that a command would place. */
export interface Placing {
  /** Their clientOrderIds. */
  readonly names: ReadonlyArray<string>
  readonly isBatch: boolean
}

/** Sends commands, and finds out what became of those whose answers were lost. */
export class Outcomes {
  constructor(private readonly rest: Rest, private readonly accountId: () => Promise<string>) {}

  /** `isUncertain`: whether it was already sent by another transport, where its answer was lost. */
  async settle<A>(command: Command, isUncertain: boolean): Promise<Outcome<A>> {
    let wasLost = isUncertain
    const attempt = await this.rest.repeat<A>(command, () => {
      wasLost = true
    })
    const { idempotencyKey } = command
    const known = outcomeOf(idempotencyKey, attempt)
    if (known?.kind === "refused" && known.refusal.isConflict) return await this.ofAnotherBody(idempotencyKey, known.refusal)
    if (known?.kind === "accepted" || known?.kind === "refused" && known.refusal.isDecision) return known
    if (known?.kind === "refused" && !wasLost) return await this.notTaken(command, known.refusal)
    return await this.findOut(command, attempt.kind === "refused" ? attempt.refusal : attempt.kind === "lost" ? attempt.cause : undefined)
  }

  /**
   * A command that the venue did not accept at present. Under a key of the caller's an earlier call may have been decided, which a
   * temporary refusal (the venue is starting, the session has ended) does not reveal.
   */
  async notTaken<A>(command: Command, refusal: Refusal): Promise<Outcome<A>> {
    const { idempotencyKey, madeAtEpochMs } = command
    if (madeAtEpochMs !== undefined) return { kind: "refused", idempotencyKey, refusal }
    const askedAtEpochMs = this.rest.platform.nowEpochMs()
    const seen = await this.lookUp(idempotencyKey).catch(() => undefined)
    if (seen?.outcome === "never_seen") return { kind: "refused", idempotencyKey, refusal }
    if (seen === undefined || seen.outcome === "unknown_expired") {
      // An invalid request, or one that this key never permits, was so before as well.
      const isPassing = refusal.isRetryable || refusal.code === "unauthorized"
      return isPassing ? { kind: "unknown", idempotencyKey, cause: refusal, seen } : { kind: "refused", idempotencyKey, refusal }
    }
    return await this.decided(command, refusal, seen, askedAtEpochMs)
  }

  /**
   * What is known of orders about to be sent under a key of the caller's; undefined where they may be sent. Decisions under the key may be
   * forgotten, so that the venue would take the orders for new ones. But it finds every order by its name, however old: where there is none
   * with these names, they were not placed, unless the venue says that it does not have all of them.
   */
  async earlier<A>({ idempotencyKey, madeAtEpochMs }: CommandKey, { isBatch, names }: Placing): Promise<Outcome<A> | undefined> {
    if (madeAtEpochMs !== undefined) return undefined
    try {
      if ((await this.lookUp(idempotencyKey)).outcome !== "unknown_expired") return undefined
      for (const clientOrderId of names) {
        const seen = await this.seenUnder({ clientOrderId })
        if (seen.order === undefined) {
          if (!mayBeMissing(seen.completeSinceEpochMs, this.rest.platform.nowEpochMs())) continue
          return { kind: "unknown", idempotencyKey, cause: new Unproven(idempotencyKey, seen.completeSinceEpochMs), seen }
        }
        const isOfKey = clientOrderId === clientOrderIdOf(idempotencyKey, undefined) || seen.order.idempotencyKey === idempotencyKey
        // The caller's own name may be that of another order, and a batch's answer would have to cover each of its orders.
        if (isOfKey && !isBatch) return { kind: "accepted", idempotencyKey, value: seen.order as A }
        return { kind: "unknown", idempotencyKey, cause: new Forgotten(idempotencyKey, seen.order), seen }
      }
      return undefined
    } catch (cause) {
      return { kind: "unknown", idempotencyKey, cause, seen: undefined }
    }
  }

  /** What the venue remembers under an identity. Rejects where the venue cannot be asked. */
  async lookUp(idempotencyKey: string): Promise<Contract.OutcomeLookup> {
    return await this.seenUnder({ idempotencyKey })
  }

  private async seenUnder(query: NonNullable<Asked["query"]>): Promise<Contract.OutcomeLookup> {
    const path = `/v1/accounts/${encodeURIComponent(await this.accountId())}/outcomes`
    return await this.rest.ask({ method: "GET", path, query, version: nativeVersion })
  }

  /**
   * Finds out a command's outcome without doing it: what has not been decided by now is fenced. `lostCause`: why the outcome is not known.
   */
  async findOut<A>(command: Command, lostCause: unknown): Promise<Outcome<A>> {
    const { idempotencyKey } = command
    const askedAtEpochMs = this.rest.platform.nowEpochMs()
    let seen: Contract.OutcomeLookup
    try {
      seen = await this.lookUp(idempotencyKey)
      const isNew = isTooNewToForget(command.madeAtEpochMs, this.rest.platform.nowEpochMs())
      if (seen.outcome === "unknown_expired" && !isNew) return { kind: "unknown", idempotencyKey, cause: lostCause, seen }
      if (seen.outcome === "never_seen" || seen.outcome === "unknown_expired") {
        const fence = await this.fence(idempotencyKey)
        if (fence !== undefined) {
          return { kind: "never_arrived", idempotencyKey, fencedUntilEpochMs: fence.holdsUntilEpochMs, cause: lostCause }
        }
      }
    } catch (cause) {
      return { kind: "unknown", idempotencyKey, cause, seen: undefined }
    }
    return await this.decided(command, lostCause, seen, askedAtEpochMs)
  }

  /**
   * The answer of a decided command: the identical request gets it again. `askedAtEpochMs`: when the venue was asked whether it remembers
   * the command. If the machine has slept since, the venue may have forgotten it, and would do it again.
   */
  private async decided<A>(
    command: Command,
    lostCause: unknown,
    seen: Contract.OutcomeLookup,
    askedAtEpochMs: number
  ): Promise<Outcome<A>> {
    const { idempotencyKey } = command
    if (!isTooNewToForget(askedAtEpochMs, this.rest.platform.nowEpochMs()))
      return { kind: "unknown", idempotencyKey, cause: lostCause, seen }
    const known = outcomeOf(idempotencyKey, await this.rest.repeat<A>(command, () => {}))
    if (known?.kind === "accepted" || known?.kind === "refused" && known.refusal.isDecision) return known
    return { kind: "unknown", idempotencyKey, cause: known?.kind === "refused" ? known.refusal : lostCause, seen }
  }

  /**
   * The key belongs to another body: returns what the venue remembers under it, since something may have been done that the caller does not
   * know of.
   */
  async ofAnotherBody(idempotencyKey: string, conflict: Refusal): Promise<Unknown> {
    const seen = await this.lookUp(idempotencyKey).catch(() => undefined)
    return { kind: "unknown", idempotencyKey, cause: conflict, seen }
  }

  /** Bars an identity from ever acting; undefined where something was decided under it meanwhile. */
  private async fence(idempotencyKey: string): Promise<Contract.Fence | undefined> {
    const nowEpochMs = this.rest.platform.nowEpochMs()
    const asked: Command = {
      method: "POST",
      path: `/v1/accounts/${encodeURIComponent(await this.accountId())}/outcomes/fence`,
      body: { idempotencyKey },
      version: nativeVersion,
      idempotencyKey: this.rest.platform.newKey(),
      madeAtEpochMs: nowEpochMs,
      sentAtEpochMs: nowEpochMs
    }
    const attempt = await this.rest.repeat<Contract.Fence>(asked, () => {})
    if (attempt.kind === "answered") return attempt.value
    if (attempt.kind === "lost") throw new Unanswered(`${asked.method} ${asked.path}`, attempt.cause)
    if (attempt.refusal.envelope.rejectionGuard === "already_seen") return undefined
    throw attempt.refusal
  }
}

const outcomeOf = <A>(idempotencyKey: string, attempt: Attempt<A>): Accepted<A> | NotDone | undefined => {
  switch (attempt.kind) {
    case "answered":
      return { kind: "accepted", idempotencyKey, value: attempt.value }
    case "refused":
      return { kind: "refused", idempotencyKey, refusal: attempt.refusal }
    case "lost":
      return undefined
  }
}
