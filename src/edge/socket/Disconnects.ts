/**
 * Connections whose orders are cancelled when they end. A record arms each before its client is told so, and another one ends it as
 * soon as it has closed: the command is retried until it is accepted, however busy the venue is. What a process does not get done,
 * the start of the next one does.
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

/** Pause before the end of a connection is submitted again, where the inbox had no room. */
const againMs = 100

/** The number of an armed connection; otherwise what is wrong. */
export type Armed = number | Errors.Failure

/** Of connections that are too many any may end at any moment: nobody needs to wait a minute for that. */
const refusedFor = (refusal: Refusal): Errors.Failure =>
  refusal === Refusal.connectionLimit ? { ...Errors.refused(refusal), retryAfterSeconds: 1 } : Errors.refused(refusal)

export class Disconnects {
  /** Ends that have not been accepted yet. */
  private waiting = 0

  constructor(
    private readonly services: Pick<Services, "now" | "rateLimits" | "submit">,
    private readonly stage: () => Stage,
    private readonly runtime: Runtime.Runtime<never>
  ) {}

  /** The number of ends that have not been accepted yet. */
  get untaken(): number {
    return this.waiting
  }

  /** Arms a connection as a request of its API key; `answer` is called once that is durable. */
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
      ({ refusal, sequence }) => answer(refusal === Refusal.none ? sequence : refusedFor(refusal)), authority)
  }

  /** Submits the end of an armed connection that has closed. */
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
