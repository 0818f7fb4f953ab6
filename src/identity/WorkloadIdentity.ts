/**
 * A workload's identity by the token that its platform issued: the interface behind which the cryptography and the platform's keys lie. A
 * workload bound to an account here may obtain a bot's key for it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The platform whose workloads may obtain bots' keys: where its keys are, and which workload is bound to which account. */
export interface WorkloadSetting {
  /** A file or a URL. */
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  /** A JSON file, or a list of `subject=acc_...`. */
  readonly accounts: string
}

/** An authenticated workload. */
export interface Workload {
  readonly subject: string
  /** The account to which it is bound. */
  readonly accountId: string
}

/** Why a token is not accepted, in words for its sender. */
export class TokenRejected {
  readonly _tag = "TokenRejected"
  constructor(readonly reason: string) {}
}

/** The token cannot be judged, since the platform's keys cannot be obtained now. */
export class KeysUnavailable {
  readonly _tag = "KeysUnavailable"
  constructor(readonly cause: unknown) {}
}

/** The venue has no platform configured. */
export class NotConfigured {
  readonly _tag = "NotConfigured"
}

export class WorkloadIdentity extends Context.Tag("venue/identity/WorkloadIdentity")<WorkloadIdentity, {
  /** The workload of a token at a time. Without a time, the token's times are not checked: it was found valid when it was first shown. */
  readonly verify: (
    token: string,
    atEpochMs: number | undefined
  ) => Effect.Effect<Workload, TokenRejected | KeysUnavailable | NotConfigured>
}>() {}

/** A venue without bots. */
export const layerNone: Layer.Layer<WorkloadIdentity> = Layer.succeed(WorkloadIdentity, {
  verify: () => Effect.fail(new NotConfigured())
})
