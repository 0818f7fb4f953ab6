/** What a balance tells of a liquidation. The fake engine's accounts are under one. `ask` checks every schema. */
import { expect, test } from "vitest"
import { payloads } from "../../../src/edge/socket/Payloads.js"
import * as Fake from "../FakeVenue.js"

test("an account under liquidation reads so in both families, and no stream tells it", async () => {
  const fake = Fake.make()
  const { alice: key } = fake.keys
  const balance = Fake.json(await fake.ask({ target: `/v1/accounts/${fake.accounts[0]}/balance`, key }))
  const { info } = Fake.json(await fake.ask({ target: "/v2/balance", key }))
  expect([balance.underLiquidation, info]).toEqual([true, balance])
  const streamed = JSON.parse(payloads.snapshot(fake.state, "account.balance", 0, 0))
  expect(streamed).toEqual({ ...balance, underLiquidation: undefined })
  expect(streamed).not.toHaveProperty("underLiquidation")
})
