/**
 * Samples of a state, by which the writer and its follower compare theirs: whatever one figure of the state differs in, one of the next
 * samples differs too, and equal states have equal samples.
 */
import type { State } from "../../src/engine/State.js"
import { valueNames } from "../../src/engine/State.js"
import { none } from "../../src/domain/None.js"
import { stateSample } from "../../src/sequencer/StateSample.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Judge } from "./Yard.js"

/** A figure that is changed, and put back. */
interface Figure {
  readonly what: string
  readonly set: (by: number) => void
}

/** Figures that samples do not show: they say when, or are what a sample is taken at. */
const unsampled: ReadonlySet<string> = new Set(["sequence"])

/** Samples of as many records find a figure wherever it lies among so many items, of which each sample has a few. */
const samplesFor = (items: number): number => 40 + items

const positionFigures = ["Quantity", "EntryNotional", "OpenBuys", "OpenSells", "OpenCount", "RealizedPnl", "FeesPaid",
  "FundingEpoch"] as const
const marketFigures = ["lastPrice", "indexPrice", "mark", "openInterest", "bookSequence", "marketSequence", "fundingEpoch",
  "premiumSumE9"] as const

/** The figures of one account, its first position and that position's first order. */
const ofAccount = ({ accounts, orders, positions }: State, account: number): ReadonlyArray<Figure> => {
  const position = accounts.firstPosition(account)
  const order = position === none ? none : positions.firstOrder(position)
  return [
    { what: "collateral", set: (by) => accounts.setCollateral(account, accounts.collateral(account) + by) },
    { what: "last sequence", set: (by) => accounts.setLastSequence(account, accounts.lastSequence(account) + by) },
    ...(position === none ? [] : positionFigures.map((name): Figure => {
      const read = `${name[0]!.toLowerCase()}${name.slice(1)}` as Uncapitalize<typeof name>
      return { what: `position's ${read}`, set: (by) => positions[`set${name}`](position, positions[read](position) + by) }
    })),
    ...(order === none ? [] : [
      { what: "order's remaining", set: (by: number) => orders.setRemaining(order, orders.remaining(order) + by) },
      { what: "order's price", set: (by: number) => orders.setPriceAtoms(order, orders.priceAtoms(order) + by) }
    ])
  ]
}

/** Every figure that a sample covers, of one account and one market. */
const figuresOf = (state: State, random: SimRandom): ReadonlyArray<Figure> => {
  const { accounts, credited, fees, fundingPool, markets } = state
  const market = markets.length === 0 ? undefined : random.pick(markets) as unknown as Record<(typeof marketFigures)[number], number>
  const values = state as unknown as Record<string, unknown>
  return [
    ...(accounts.count === 0 ? [] : ofAccount(state, random.below(accounts.count))),
    ...(market === undefined
      ? []
      : marketFigures.map((name): Figure => ({ what: `market's ${name}`, set: (by) => void (market[name] += by) }))),
    ...[fees, credited, fundingPool].map((total, index): Figure => ({ what: `total ${index}`, set: (by) => total.add(by) })),
    ...valueNames.filter((name) => !unsampled.has(name) && typeof values[name] === "number").map((name): Figure => ({
      what: name,
      set: (by) => void (values[name] = values[name] as number + by)
    }))
  ]
}

/** Changes one figure after the other: the samples of the next records show it, and show nothing once it is put back. */
export const sampling = (judge: Judge, state: State, random: SimRandom): void => {
  const { sequence } = state
  const samples = (): ReadonlyArray<string> => {
    const taken = Array.from({ length: samplesFor(Math.max(state.accounts.count, state.markets.length)) }, (_, index) => {
      state.sequence = sequence + index
      return stateSample(state)
    })
    state.sequence = sequence
    return taken
  }
  const before = samples()
  judge.equal("samples of one state at different records", new Set(before).size, before.length)
  const figures = figuresOf(state, random)
  for (let left = figuresInOne; left > 0; left--) {
    const { set, what } = random.pick(figures)
    set(1)
    const changed = samples()
    judge.holds(`no sample shows another ${what}`, changed.some((sample, index) => sample !== before[index]))
    set(-1)
  }
  judge.equal("samples of the state as it was", samples(), before)
}

/** Figures that one run changes. */
const figuresInOne = 5
