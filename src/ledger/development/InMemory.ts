/** Requests to a development ledger in the same process: no network, but the same JSON, the same faults, and the clock of the caller. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { DevelopmentLedger } from "./DevelopmentLedger.js"
import { Lost, type Reply, type Transport } from "../Transport.js"

const throughJson = (value: unknown): unknown => value === undefined ? undefined : JSON.parse(JSON.stringify(value)) as unknown

/** `bytes` supplies the ledger's randomness. */
export const transport = (ledger: DevelopmentLedger, bytes: (count: number) => Uint8Array): Transport => (question) =>
  Effect.flatMap(Clock.currentTimeMillis, (epochMs) =>
    Effect.try({
      try: () => ledger.handle({ ...question, body: throughJson(question.body) }, { epochMs, bytes }),
      // The input could not be stored.
      catch: (cause) => new Lost(String(cause))
    }).pipe(Effect.flatMap((handled): Effect.Effect<Reply, Lost> => {
      if (handled.reply === undefined) return Effect.fail(new Lost("the connection ended without an answer"))
      const reply = Effect.succeed({ status: handled.reply.status, body: throughJson(handled.reply.body) })
      return handled.afterMs === 0 ? reply : Effect.delay(reply, handled.afterMs)
    })))
