/**
 * Who a workload is, by the token that its platform gave it: the leaf behind which the cryptography and the platform's keys
 * are. A workload that is bound to an account here may have a bot's key of it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The platform whose workloads may have bots' keys: where its keys are, and which workload is bound to which account. */
export interface WorkloadSetting {
  /** A file or a URL. */
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  /** A JSON file, or a list of `subject=acc_...`. */
  readonly accounts: string
}

/** A workload that has proved who it is. */
export interface Workload {
  readonly subject: string
  /** The account that it is bound to. */
  readonly accountId: string
}

/** Why a token is not taken, in words for whoever sent it. */
export class TokenRejected {
  readonly _tag = "TokenRejected"
  constructor(readonly reason: string) {}
}

/** Nothing can be said of the token: the platform's keys cannot be had now. */
export class KeysUnavailable {
  readonly _tag = "KeysUnavailable"
  constructor(readonly cause: unknown) {}
}

/** The venue knows no platform. */
export class NotConfigured {
  readonly _tag = "NotConfigured"
}

export class WorkloadIdentity extends Context.Tag("venue/identity/WorkloadIdentity")<WorkloadIdentity, {
  /** The workload of a token, as of a time; undefined: of one that was found good when it was first shown, whatever the time is now. */
  readonly verify: (
    token: string,
    atEpochMs: number | undefined
  ) => Effect.Effect<Workload, TokenRejected | KeysUnavailable | NotConfigured>
}>() {}

/** A venue without bots. */
export const layerNone: Layer.Layer<WorkloadIdentity> = Layer.succeed(WorkloadIdentity, {
  verify: () => Effect.fail(new NotConfigured())
})
