/**
 * What became of a command. Where its answers were lost, the venue is asked under the command's own identity before anything is said:
 * an outcome is what the venue told, and never a guess.
 */
import { type CommandKey, isTooNewToForget } from "./CommandKey.js"
import type * as Contract from "./Contract.js"
import type { Refusal } from "./Refusal.js"
import { Unanswered } from "./Refusal.js"
import type { Asked, Attempt, Rest } from "./Rest.js"

/** The venue decided it, and did it. */
export interface Accepted<A> {
  readonly kind: "accepted"
  readonly idempotencyKey: string
  readonly value: A
}

/** It was not done so far: the venue decided against it, or did not take it, and has seen no earlier one under its key. */
export interface NotDone {
  readonly kind: "refused"
  readonly idempotencyKey: string
  readonly refusal: Refusal
}

/**
 * Its answers were lost, or it could not be sent, and it had never arrived. Its identity is fenced: nothing is done under it until the
 * fence ends.
 */
export interface NeverArrived {
  readonly kind: "never_arrived"
  readonly idempotencyKey: string
  /** Undefined where the venue does not tell how long its fence holds. */
  readonly fencedUntilEpochMs: number | undefined
  /** Why there was no answer of its own. */
  readonly cause: unknown
}

/**
 * Its answers were lost, or it was not taken under a key that may have been sent before, and the venue could not tell what became of
 * it. The same command under the same key is safe at any time: it is done once at most, and tells. Or the key stands for another body
 * (`cause` is a `Refusal` that `isConflict`): then `seen` tells what was done under it, and repeating tells no more.
 */
export interface Unknown {
  readonly kind: "unknown"
  readonly idempotencyKey: string
  readonly cause: unknown
  /** What the venue remembers under the key, where it could be asked: it was decided so, but the answer itself could not be had. */
  readonly seen: Contract.OutcomeLookup | undefined
}

export type Outcome<A> = Accepted<A> | NotDone | NeverArrived | Unknown

/** A command as it is sent by HTTP. */
export interface Command extends Asked, CommandKey {
  readonly method: "POST"
  readonly idempotencyKey: string
}

/** Sends commands, and finds out what became of those whose answers were lost. */
export class Outcomes {
  constructor(private readonly rest: Rest, private readonly accountId: () => Promise<string>) {}

  /** `isUncertain`: whether it was sent already, by a way on which its answer was lost. */
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
   * A command that the venue did not take now. Under a key of the caller's an earlier call may have acted, of which a refusal says
   * nothing that would be another at another time: the venue is starting, the session has ended.
   */
  async notTaken<A>(command: Command, refusal: Refusal): Promise<Outcome<A>> {
    const { idempotencyKey, madeAtEpochMs } = command
    if (madeAtEpochMs !== undefined) return { kind: "refused", idempotencyKey, refusal }
    const seen = await this.lookUp(idempotencyKey).catch(() => undefined)
    if (seen?.outcome === "never_seen") return { kind: "refused", idempotencyKey, refusal }
    if (seen === undefined || seen.outcome === "unknown_expired") {
      // What is wrong with a request, or allowed to nobody with this key, was so before.
      const isPassing = refusal.isRetryable || refusal.code === "unauthorized"
      return isPassing ? { kind: "unknown", idempotencyKey, cause: refusal, seen } : { kind: "refused", idempotencyKey, refusal }
    }
    return await this.decided(command, refusal, seen)
  }

  /** What the venue remembers under an identity. Rejects where it cannot be asked. */
  async lookUp(idempotencyKey: string): Promise<Contract.OutcomeLookup> {
    return await this.rest.get(`/v1/accounts/${encodeURIComponent(await this.accountId())}/outcomes`, { idempotencyKey })
  }

  /** What became of a command, without doing it: what was not decided by now is fenced. `lostCause`: why that is not known. */
  async findOut<A>(command: Command, lostCause: unknown): Promise<Outcome<A>> {
    const { idempotencyKey } = command
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
    return await this.decided(command, lostCause, seen)
  }

  /** The answer of what was decided: the same request gets the same one. */
  private async decided<A>(command: Command, lostCause: unknown, seen: Contract.OutcomeLookup): Promise<Outcome<A>> {
    const { idempotencyKey } = command
    const known = outcomeOf(idempotencyKey, await this.rest.repeat<A>(command, () => {}))
    if (known?.kind === "accepted" || known?.kind === "refused" && known.refusal.isDecision) return known
    return { kind: "unknown", idempotencyKey, cause: known?.kind === "refused" ? known.refusal : lostCause, seen }
  }

  /** The key stands for another body: what the venue remembers under it, since something may be done that nobody was told of. */
  async ofAnotherBody(idempotencyKey: string, conflict: Refusal): Promise<Unknown> {
    const seen = await this.lookUp(idempotencyKey).catch(() => undefined)
    return { kind: "unknown", idempotencyKey, cause: conflict, seen }
  }

  /** Bars an identity from ever acting; undefined where something was decided under it meanwhile. */
  private async fence(idempotencyKey: string): Promise<Contract.Fence | undefined> {
    const asked: Command = {
      method: "POST",
      path: `/v1/accounts/${encodeURIComponent(await this.accountId())}/outcomes/fence`,
      body: { idempotencyKey },
      idempotencyKey: this.rest.platform.newKey(),
      madeAtEpochMs: this.rest.platform.nowEpochMs()
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
