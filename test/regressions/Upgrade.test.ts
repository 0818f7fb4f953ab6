/** What version 0.1.0 left is taken over: answers, state and what follows, and nothing is lost on the way. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { withoutRequestId } from "../../scripts/fixtures/Version.js"
import * as Kept from "./KeptVersion.js"

test("every request of rules 1 that is repeated gets the answer that rules 1 gave", async () => {
  const exchanges = Kept.exchangesOf("rules-1")
  const disk = await Kept.diskOf("rules-1")
  const running = await Effect.runPromise(Kept.start(disk.mount(), Kept.soonAfterMs(exchanges)))
  for (const exchange of exchanges) {
    if (exchange.answer.status === 503) continue
    const expected = exchange.again ?? exchange.answer
    const answer = await running.ask(exchange.request)
    expect.soft([answer.status, withoutRequestId(answer.body)], exchange.title).toEqual([expected.status, withoutRequestId(expected.body)])
  }
  await running.stop()
})
