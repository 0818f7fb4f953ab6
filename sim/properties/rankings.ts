/**
 * Safety (I13 as everybody can see it). A ranking can be recomputed from its published figures alone: its places are in descending order
 * of their scores, and each has closed the sum of the steps that name its place, or more where not all of them were read.
 */
import { rankingPlacesOf, venueBounds } from "../model/NaiveLiquidation.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A step that closed a part of a place. */
interface Closing {
  readonly sequence: number
  readonly size: bigint
}

interface State {
  /** Published steps, by market, ranking and place, then by their ids. */
  readonly told: Map<string, Map<string, Closing>>
  /** The last durable record observed, and its value when a call was sent. */
  sequence: number
  readonly asked: Map<string, number>
  /** Whether rankings have too few places for all, so that more than one may be begun in a record. */
  hasLittleRoom: boolean
}

const atomsOf = (json: Json, name: string): bigint => BigInt(String(json[`${name}Atoms`]))
const atLeastOne = (atoms: bigint): bigint => (atoms < 1n ? 1n : atoms)

/** A place's score as a fraction; places without profit rank below all others. */
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
 * Checks that the closed part of a place is no less than in the steps that were durable when it was requested. Rankings begun in the same
 * record, for lack of places, cannot be told apart by the steps.
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

/** The name of a ranking in the steps. */
const keyOf = (ranking: Json): string => `${String(ranking["marketId"])} ${String(ranking["sequence"])} ${opposite(ranking["side"])}`

/** Whether an answer may contain only some of the rankings with one name: the oldest in it, where rankings have few places. */
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
