/**
 * Connections that cancel their orders as they end. Each is armed by a record before its client is told so, and ended by another as
 * soon as it is over: that one is asked for until it is taken, whatever the venue has to do. What a process has no time for, the next
 * one's start does.
 */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { Refusal } from "../../domain/Refusal.js"
import { secondsUntil } from "../../identity/RateLimits.js"
import { noFingerprint } from "../../operations/Fingerprint.js"
import { internal, Principal } from "../../operations/Header.js"
import { Operation, withFields } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import type { Stage } from "../http/Readiness.js"
import type { Authority } from "./Authority.js"

/** How long the end of a connection waits that found no room. */
const againMs = 100

/** The number of an armed connection; otherwise what is wrong. */
export type Armed = number | Errors.Failure

export class Disconnects {
  /** Ends that have found no room so far. */
  private waiting = 0

  constructor(
    private readonly services: Pick<Services, "now" | "rateLimits" | "submit">,
    private readonly stage: () => Stage,
    private readonly runtime: Runtime.Runtime<never>
  ) {}

  /** Ends that have found no room so far. */
  get untaken(): number {
    return this.waiting
  }

  /** Arms a connection for whoever it speaks for, as a request of his key; `answer` is called once that is durable. */
  arm(authority: Authority, connectionId: string, answer: (armed: Armed) => void): void {
    const { account, apiKey } = authority
    const { now, rateLimits: { key: windows }, submit } = this.services
    const atEpochMs = now()
    if (!windows.take(apiKey, atEpochMs, 0)) {
      return answer(Errors.rateLimited(Math.max(1, secondsUntil(windows.resetsAtEpochMs, atEpochMs))))
    }
    const header = {
      principal: Principal.key,
      account,
      credential: apiKey,
      operation: Operation.armConnection,
      idempotencyKey: "",
      fingerprint: noFingerprint
    }
    submit(withFields("ArmConnection", header, { connectionId }),
      ({ refusal, sequence }) => answer(refusal === Refusal.none ? sequence : Errors.refused(refusal)), authority)
  }

  /** An armed connection is over. */
  end(connection: number): void {
    this.services.submit(withFields("EndConnection", internal(Principal.venue), { connection }), ({ refusal }) => {
      if (refusal === Refusal.none || this.stage() === "stopping") return
      this.waiting++
      Runtime.runFork(this.runtime)(Effect.delay(
        Effect.sync(() => {
          this.waiting--
          this.end(connection)
        }),
        againMs
      ))
    })
  }
}
