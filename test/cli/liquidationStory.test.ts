/** The story of a liquidation in a replay: a support engineer can answer the owner's questions from it. */
import { expect, test } from "vitest"
import { allLinesOf, linesOf } from "../../src/cli/replay/Lines.js"
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { Driver, parameters } from "../engine/drive.js"

const usdc = (amount: number): number => amount * 1_000_000

/** A long of 100 USDC, ruined by a mark of 93.0, and its account's story of the two records. */
const told = () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000 }))
  driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 0, liquidationFeeBps: 10 }), 1000)
  const [other, account] = [driver.account(usdc(10_000)), driver.account(usdc(10))]
  driver.place(other, { side: Order.sell, quantityAtoms: 1_000 })
  driver.place(account, { quantityAtoms: 1_000 })
  driver.place(other, { priceAtoms: 925, quantityAtoms: 200 })
  driver.price(0, 930)
  const { state } = driver.engine
  const stories: Array<ReadonlyArray<string>> = []
  const everything: Array<ReadonlyArray<string>> = []
  driver.atEpochMs += 1_000
  for (const kind of ["MarkTick", "PassTime"] as const) {
    state.events.clear()
    const command = { kind, ...internal(Principal.timer) }
    const outcome = driver.run(command)
    const record: Record = { sequence: driver.engine.sequence, atEpochMs: driver.atEpochMs, command }
    const events = decode(state.events.words, 0, state.events.length)
    stories.push(linesOf(state, record, outcome, events, { account, orderNumber: -1, market: -1, transfer: -1 }))
    everything.push(allLinesOf(state, record, outcome, events))
  }
  return { id: Ids.accountId(state.accounts.born(account)), otherId: Ids.accountId(state.accounts.born(other)), stories, everything }
}

test("names the mark and its inputs, what there was and was needed, each step with its price, and each fee", () => {
  const { id, otherId, stories: [fell, looked] } = told()
  expect(fell).toEqual([
    `${id} is under liquidation: equity 3.000000 of 4.650000 maintenance margin; 1.000 AAA-USDC-PERP at mark 93.0, the median of 93.0, `
    + "93.0 and 93.0 within 93.0 to 93.0 of index 93.0"
  ])
  const text = looked!.join("\n")
  expect(text).toContain(`${id} has 1.000 AAA-USDC-PERP liquidated by ord_`)
  expect(text).toContain("at 90.0 or better (mark 93.0, equity 3.000000 of 4.650000 maintenance margin)")
  expect(text).toContain(`of ${id} sold 0.200 at 92.5 for 18.500000 (fee 0.000000)`)
  expect(text).toContain(`${id} pays 0.018500 to the insurance fund for its liquidation in AAA-USDC-PERP`)
  // 2.8815 is more than two thirds of 3.72, so nothing more happens before the next second.
  expect(text).not.toContain("deleveraged")
  expect(text).not.toContain("undefined")
  expect(text).toContain(otherId)
})

test("tells nothing of it to the story of somebody else, and all of it to that of everything", () => {
  const { everything, id } = told()
  expect(everything.flat().join("\n")).toContain(`${id} is under liquidation`)
})
