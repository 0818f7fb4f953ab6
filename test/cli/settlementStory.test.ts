/** The story of a delisting in a replay: the final price, who bore which deficit, and each position that was closed. */
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

test("an account's story names the final price and what it was closed against, and only what concerns it", () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000 }))
  driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 0, indexStepMaxBps: 10_000 }), 1000)
  const [short, ruined, small] = [driver.account(usdc(10_000)), driver.account(usdc(15)), driver.account(usdc(1_000))]
  driver.place(short, { side: Order.sell, quantityAtoms: 1_500 })
  driver.place(ruined, { quantityAtoms: 1_000 })
  driver.place(small, { quantityAtoms: 500 })
  driver.price(0, 800)
  const { state } = driver.engine
  const names = [short, ruined, small].map((account) => Ids.accountId(state.accounts.born(account)))
  const stories = [short, ruined, small].map((): Array<string> => [])
  const all: Array<string> = []
  const tell = (send: () => void, command: Record["command"]): void => {
    state.events.clear()
    send()
    const record: Record = { sequence: driver.engine.sequence, atEpochMs: driver.atEpochMs, command }
    const outcome = { sequence: record.sequence, atEpochMs: record.atEpochMs, refusal: 0, replayed: false, entries: [] } as const
    const events = decode(state.events.words, 0, state.events.length)
    ;[short, ruined, small].forEach((account, index) =>
      stories[index]!.push(...linesOf(state, record, outcome, events, { account, orderNumber: -1, market: -1, transfer: -1 }))
    )
    all.push(...allLinesOf(state, record, outcome, events))
  }
  const passing = { kind: "PassTime", ...internal(Principal.timer) } as const
  tell(() => driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 }), passing)
  tell(() => driver.run(passing), passing)
  expect(all).toContain("AAA-USDC-PERP is delisted: its final price is 80.0")
  expect(all).toContain("AAA-USDC-PERP is settled: nothing is held in it any more")
  // It had 15 USDC for a loss of 20: closed at 85.0, it is left with nothing.
  expect(stories[1]!.join("\n")).toContain(`${names[1]} has 1.000 AAA-USDC-PERP to be deleveraged at 85.0`)
  expect(stories[1]!.join("\n")).toContain(`${names[1]} collateral 0.000000`)
  const settled = `${names[2]} has 0.500 AAA-USDC-PERP closed at the final price of 80.0, against ${names[0]}`
  expect(stories.map((story) => story.includes(settled))).toEqual([true, false, true])
  expect([...all, ...stories.flat()].join("\n")).not.toContain("undefined")
})

test("an announcement, another, and its withdrawal are told of the market", () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000 }))
  driver.market(parameters("AAA"), 1000)
  const { state } = driver.engine
  const lines: Array<string> = []
  const at = driver.atEpochMs + 86_400_000
  for (const [action, effectiveAtEpochMs] of [["delist", at], ["withdraw", 0]] as const) {
    state.events.clear()
    const command = { kind: "PassTime", ...internal(Principal.timer) } as const
    const outcome = driver.send({ kind: "DelistMarket", idempotencyKey: action, market: 0, action, effectiveAtEpochMs })
    const record: Record = { sequence: driver.engine.sequence, atEpochMs: driver.atEpochMs, command }
    const events = decode(state.events.words, 0, state.events.length)
    lines.push(...linesOf(state, record, outcome, events, { account: -1, orderNumber: -1, market: 0, transfer: -1 }))
  }
  expect(lines).toEqual([
    "AAA-USDC-PERP is to be delisted at 2023-11-15T22:13:20.000Z",
    "AAA-USDC-PERP is not to be delisted any more"
  ])
})
