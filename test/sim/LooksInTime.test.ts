/** When accounts under liquidation have waited too long for their examination, and when no record could examine anybody: small histories. */
import { expect, test } from "vitest"
import { liquidation } from "../../sim/properties/liquidation.js"
import type { Observation } from "../../sim/properties/Observation.js"
import { btc } from "../edge/FakeEngine.js"

const account = 7

/** The market's only position loses at the mark, and leaves its account less than two thirds of its requirement, from second 0 on. */
const begun = (): ReturnType<typeof liquidation.initial> => {
  const state = liquidation.initial()
  state.markets.push({
    parameters: { ...btc, indexStaleMs: 1_000_000 },
    status: "open",
    isClosed: false,
    mark: 1_000n,
    index: 1_000n,
    sourceEpochMs: 1,
    isGoing: true,
    goingSinceEpochMs: 0,
    held: new Map([[account, { quantity: 1_000_000n, entry: 0n }]]),
    second: 1,
    againstLongs: undefined,
    againstShorts: undefined,
    isDelisted: false,
    markedIn: 0
  })
  const { quantity } = state.markets[0]!.held.get(account)!
  // What the position gained is lost again, all but one atom.
  state.collateral.set(account, 1n - quantity * 1_000n * 10n ** BigInt(6 - btc.priceScale - btc.quantityScale))
  state.under.add(account)
  state.due.set(account, 1_000)
  return state
}

/** A record in each second from the first on, all of which could examine accounts, or none of which could. */
const seconds = (count: number, couldLook: (second: number) => boolean): ReadonlyArray<Observation> =>
  Array.from({ length: count }, (_, at) => {
    const record = { sequence: at + 1, atEpochMs: (at + 1) * 1_000 + 500, command: { kind: "PassTime" } }
    const model = { couldLook: couldLook(at + 1), published: { rankings: [], nobodyFor: [] } }
    return [{ _tag: "Committed", record, model }, { _tag: "Fed", decided: { record, events: [] } }] as unknown as ReadonlyArray<Observation>
  }).flat()

test.each<readonly [what: string, seen: ReadonlyArray<Observation>, isBroken: boolean]>([
  ["no look in four seconds whose records could examine", seconds(6, () => true), true],
  ["four seconds in which funding was left to be settled", seconds(6, () => false), false],
  ["funding left to be settled every other second", seconds(6, (second) => second % 2 === 0), false],
  ["funding left to be settled every other second, for long", seconds(12, (second) => second % 2 === 0), true]
])("%s", (_, seen, isBroken) => {
  const state = begun()
  expect(seen.some((each) => liquidation.observe(state, each) !== undefined)).toBe(isBroken)
})
