/** A deposit that has ended is answered as it is, even if the venue fails to withdraw its offer to the ledger. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as Confirming from "../../../src/edge/funds/Confirming.js"
import type { Services } from "../../../src/edge/http/Call.js"
import type { TransferView } from "../../../src/engine/Reads.js"
import { Declined, Unreachable } from "../../../src/funds/Trouble.js"

test.each([
  ["cannot be reached", new Unreachable({ whom: "ledger", detail: "down" })],
  ["declines", new Declined({ code: "CONTRACT_NOT_FOUND", detail: "no offer stands" })]
] as const)("where the ledger %s, initiate gives the deposit that is over, and asks for nothing", async (_, trouble) => {
  const over = {
    number: 1,
    account: 0,
    kind: "deposit",
    status: "expired",
    end: "expired",
    awaits: "preparation",
    stepAtHand: { name: "treasury_offer_withdrawal" },
    steps: []
  } as unknown as TransferView
  const services = { funds: { ask: () => Effect.fail(trouble) }, state: { transfer: () => over } } as unknown as Services
  expect(await Effect.runPromise(Confirming.initiate(services, { kept: over }))).toEqual({ transfer: over, due: undefined })
  const running = { ...over, status: "bound", end: null } as unknown as TransferView
  const among = { ...services, state: { transfer: () => running } } as unknown as Services
  expect((await Effect.runPromise(Effect.either(Confirming.initiate(among, { kept: running }))))._tag).toBe("Left")
})
