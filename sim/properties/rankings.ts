/**
 * Safety (I13 as everybody can see it). A ranking can be reckoned again from what is published of it, and of nothing else: its places
 * are in the order of their scores, the largest first, and each has closed what the steps say that name its place, or more where
 * not all of them were read.
 */
import { rankingPlacesOf, venueBounds } from "../model/NaiveLiquidation.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A step that closed something of a place. */
interface Closing {
  readonly sequence: number
  readonly size: bigint
}

interface State {
  /** Steps that were told, by market, ranking and place, then by their ids. */
  readonly told: Map<string, Map<string, Closing>>
  /** The last record seen durable, and what it was when a call was sent. */
  sequence: number
  readonly asked: Map<string, number>
  /** Whether rankings have no room for all, so that more than one may be begun in a record. */
  hasLittleRoom: boolean
}

const atomsOf = (json: Json, name: string): bigint => BigInt(String(json[`${name}Atoms`]))
const atLeastOne = (atoms: bigint): bigint => (atoms < 1n ? 1n : atoms)

/** A place's score as a fraction; of those that are not in profit it lies below all others. */
const scoreOf = (place: Json): { readonly isProfit: boolean; readonly over: bigint; readonly under: bigint } => {
  const [profit, notional] = [atomsOf(place, "unrealizedPnl"), atomsOf(place, "notional")]
  const [entry, equity] = [atLeastOne(atomsOf(place, "entryNotional")), atLeastOne(atomsOf(place, "equity"))]
  return profit > 0n
    ? { isProfit: true, over: profit * notional, under: entry * equity }
    : { isProfit: false, over: profit * equity, under: entry * notional }
}

const orderVerdict = (what: string, ranking: ReadonlyArray<Json>): Verdict => {
  for (let at = 0; at < ranking.length; at++) {
    if (ranking[at]!["rank"] !== at + 1) return broken(`${what} has number ${String(ranking[at]!["rank"])} at place ${at + 1}`)
    if (at === 0) continue
    const [above, below] = [scoreOf(ranking[at - 1]!), scoreOf(ranking[at]!)]
    const isInOrder = above.isProfit === below.isProfit ? above.over * below.under >= below.over * above.under : above.isProfit
    if (!isInOrder) return broken(`${what} has place ${at + 1} behind place ${at}, which scores less`)
  }
  return holds
}

/**
 * What was closed of a place is no less than the steps say that had been made when it was asked for. Rankings that were begun in the
 * same record, as those had no room for all, are not told apart by the steps.
 */
const closedVerdict = (what: string, { told }: State, alike: ReadonlyArray<Json>, key: string, asked: number): Verdict => {
  const places = alike.flatMap(placesOf)
  for (const rank of new Set(places.map((place) => String(place["rank"])))) {
    const closings = [...told.get(`${key} ${rank}`)?.values() ?? []].filter(({ sequence }) => sequence <= asked)
    const closed = closings.reduce((sum, { size }) => sum + size, 0n)
    const shown = places.reduce((sum, place) => String(place["rank"]) === rank ? sum + atomsOf(place, "closedQuantity") : sum, 0n)
    if (shown < closed) return broken(`${what} says that ${shown} of place ${rank} were closed, steps say ${closed}`)
  }
  return holds
}

const placesOf = (ranking: Json): ReadonlyArray<Json> => ranking["ranking"] as ReadonlyArray<Json>

/** What the steps name a ranking by. */
const keyOf = (ranking: Json): string => `${String(ranking["marketId"])} ${String(ranking["sequence"])} ${opposite(ranking["side"])}`

/** Whether an answer may have some and not all of the rankings that are alike: of the oldest in it, where one has little room. */
const mayLackSome = ({ hasLittleRoom }: State, told: ReadonlyArray<Json>, key: string): boolean =>
  hasLittleRoom && keyOf(told.at(-1)!) === key

const note = ({ told }: State, step: Json): void => {
  if (step["step"] !== "deleveraging") return
  const key = `${String(step["marketId"])} ${String(step["rankingSequence"])} ${String(step["side"])} ${String(step["rank"])}`
  const closings = told.get(key) ?? new Map<string, Closing>()
  closings.set(String(step["stepId"]), { sequence: Number(step["sequence"]), size: atomsOf(step, "filledQuantity") })
  told.set(key, closings)
}

const opposite = (side: unknown): string => (side === "long" ? "short" : "long")

export const rankings: Property<State> = {
  name: "rankings-can-be-reckoned-again",
  invariant: "I13",
  kind: "safety",
  initial: () => ({ told: new Map(), sequence: 0, asked: new Map(), hasLittleRoom: false }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.hasLittleRoom = rankingPlacesOf(seen.bounds) < venueBounds.places
    if (seen._tag === "Committed") state.sequence = seen.record.sequence
    if (seen._tag === "Asked" && seen.call.endpoint === "listDeleveragings") {
      state.asked.set(`${seen.call.id}/${seen.attempt}`, state.sequence)
    }
    if (seen._tag !== "Answered" || seen.answer.status !== 200 || !isObject(seen.answer.json)) return holds
    const { answer: { json }, attempt, call: { endpoint, id } } = seen
    if (endpoint === "listLiquidations") { for (const step of json["steps"] as ReadonlyArray<Json>) note(state, step) }
    if (endpoint !== "listDeleveragings") return holds
    const told = json["deleveragings"] as ReadonlyArray<Json>
    for (const each of told) {
      const what = `the ranking ${String(each["sequence"])} of ${String(each["marketId"])}`
      const ordered = orderVerdict(what, placesOf(each))
      if (ordered !== holds) return ordered
      const key = keyOf(each)
      const alike = told.filter((other) => keyOf(other) === key)
      if (mayLackSome(state, told, key)) continue
      const closed = closedVerdict(what, state, alike, key, state.asked.get(`${id}/${attempt}`) ?? 0)
      if (closed !== holds) return closed
    }
    return holds
  }
}
