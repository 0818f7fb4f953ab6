/**
 * Safety (I12). The preview of a placement is the placement's result at the same sequence: the order, its fills and fees, and the
 * account's margin after it, as the reference model has them. Read at the moment at which the writer takes the placement, where nothing
 * else falls due with its record; where a session of its market reaches its cutoff or its close with the record, the preview has the same
 * refusal for that. And a client that places exactly the previewed order with the very next record has been told its result, member by
 * member.
 */
import type { PreviewView } from "../../src/engine/Reads.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { liquidationPrice } from "../model/NaiveMoney.js"
import { isStale } from "../model/NaiveRisk.js"
import type { NaiveOutcome } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import * as Told from "../model/Told.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { Markets } from "../reading/Markets.js"
import type { Call, Observation } from "./Observation.js"
import { difference, firstDifference, type Pair, without } from "./Difference.js"
import { holds, type Property, type Verdict } from "./Property.js"

interface Previewed {
  readonly command: PlaceOrders
  readonly preview: PreviewView
  /** Whether something falls due with its record. */
  readonly isDue: boolean
}

/** A preview in an answer. */
interface ToldPreview {
  readonly body: string
  readonly json: Json
}

interface State {
  readonly markets: Markets
  /** The last preview that each account received, and placements of exactly that order, by account and key. */
  readonly told: Map<number, ToldPreview>
  readonly placed: Map<string, ToldPreview & { readonly call: Call }>
  /** By the sequence of the record that was to follow. */
  readonly previews: Map<number, Previewed>
  /** The time of the newest record. */
  readonly newest: { atEpochMs: number }
}

/** The fees that an account pays for its own order. */
const feesOf = ({ account }: PlaceOrders, fills: Extract<Observation, { readonly _tag: "Committed" }>["decision"]["fills"]): bigint =>
  fills.filter(({ taker }) => taker.account === account).reduce((sum, { takerFee }) => sum + takerFee, 0n)

const ofOrder = ({ outcome }: PreviewView, decided: NaiveOutcome): ReadonlyArray<Pair> =>
  outcome._tag === "Refused" ? [["refusal", outcome.refusal, decided.refusal]] : [
    ["refusal", Refusal.none, decided.refusal],
    ["order", outcome.orderNumber, decided.orderNumber],
    ["status", outcome.status, decided.status],
    ["cancel reason", outcome.cancelReason, decided.cancelReason],
    ["filled", outcome.filledAtoms, decided.filled],
    ["filled notional", BigInt(outcome.filledNotionalAtoms), decided.filledNotional],
    ["canceled", outcome.canceledAtoms, decided.canceled]
  ]

const ofAccount = (
  { after, feesAtoms }: PreviewView,
  { account: index, entries }: PlaceOrders,
  fees: bigint,
  model: NaiveVenue
): ReadonlyArray<Pair> => {
  if (after === undefined) return []
  const account = model.accounts[index]!
  const margin = model.margin(account, undefined)
  const { market } = entries[0]!
  const position = account.positions.get(market)
  return [
    ["fees", BigInt(feesAtoms), fees],
    ["equity", BigInt(after.equityAtoms), margin.equity],
    ["margin equity", BigInt(after.marginEquityAtoms), margin.marginEquity],
    ["initial margin", BigInt(after.initialMarginAtoms), margin.initialMargin],
    ["maintenance margin", BigInt(after.maintenanceMarginAtoms), margin.maintenanceMargin],
    ["order loss", BigInt(after.orderLossAtoms), margin.orderLoss],
    ["position", after.quantityAtoms, position?.quantity ?? 0],
    [
      "liquidation price",
      after.liquidationPriceAtoms,
      position === undefined ? 0 : liquidationPrice(model.markets, account, model.markets[market]!)
    ]
  ]
}

/**
 * Whether a placement is refused because of the state that its market's session reaches with the record, whatever else the record has
 * done: past a cutoff it depends on the account's position, which nothing else may have changed.
 */
const isRefusedBySession = (
  { entries }: PlaceOrders,
  { decision: { fills, looked, outcomes }, model, record }: Extract<Observation, { readonly _tag: "Committed" }>
): boolean => {
  if (model.markets[entries[0]!.market]?.session?.asOf !== record.atEpochMs) return false
  const { refusal } = outcomes[0]!
  return refusal === Refusal.sessionClosed || refusal === Refusal.sessionCutoff && fills.length === 0 && looked.length === 0
}

const verdictOf = ({ command, isDue, preview }: Previewed, seen: Extract<Observation, { readonly _tag: "Committed" }>): Verdict => {
  const { decision: { fills, outcomes }, model, record } = seen
  const what = `the preview of record ${record.sequence}`
  if (isDue) {
    if (!isRefusedBySession(command, seen)) return holds
    const said = preview.outcome._tag === "Refused" ? preview.outcome.refusal : Refusal.none
    return firstDifference(what, [["refusal", said, outcomes[0]!.refusal]], ["preview", "model"])
  }
  const fees = feesOf(command, fills)
  return firstDifference(what, [...ofOrder(preview, outcomes[0]!), ...ofAccount(preview, command, fees, model)], ["preview", "model"])
}

/** Refusals that may come from the time between a preview and its placement alone. */
const byTime: ReadonlySet<Refusal> = new Set([Refusal.expiryPassed, Refusal.sessionClosed, Refusal.sessionCutoff])

/**
 * Whether the index of the order's market became stale after the record before this one, and so perhaps after the client was told the
 * preview: from then on orders only reduce.
 */
const becameStale = (
  { newest }: State,
  { entries }: PlaceOrders,
  { model, record }: Extract<Observation, { readonly _tag: "Committed" }>
): boolean => {
  const market = model.markets[entries[0]!.market]
  return market !== undefined && isStale(market, record.atEpochMs) && !isStale(market, newest.atEpochMs)
}

/** Compares an account's preview with its order in the very next record. */
const toldOtherwise = (
  state: State,
  { command, isDue }: Previewed,
  seen: Extract<Observation, { readonly _tag: "Committed" }>
): Verdict => {
  const { markets, placed } = state
  const { decision: { fills, outcomes }, model, record: { sequence } } = seen
  const told = placed.get(`${command.account}/${command.idempotencyKey}`)
  const { call, json } = told ?? {}
  if (call?.reading._tag !== "asked" || json?.["journalSequence"] !== sequence - 1 || isDue || byTime.has(outcomes[0]!.refusal))
    return holds
  if (becameStale(state, command, seen)) return holds
  const { asked } = call.reading
  const memory = call.scope === undefined ? undefined : model.memory.get(call.scope)
  if (asked.wanted.kind !== "PlaceOrders" || memory?.sequence !== sequence) return holds
  const decision = Told.decisionOf(call, { asked, memory, model, find: (name) => markets.find(name, "native") })
  const isAccepted = outcomes[0]!.refusal === Refusal.none
  const expected = Told.previewed(decision, asked.wanted, feesOf(command, fills))
  const { accepted, after, order, refusal } = json
  return difference(
    `the preview that ${call.client} was told before record ${sequence}`,
    { accepted, after, order, refusal: without(refusal, ["safeMessage"]) },
    {
      ...expected,
      refusal: without(expected["refusal"], ["safeMessage"]),
      after: isAccepted ? Shown.accountMargin(model, command.account, call.body) : null
    }
  )
}

/** A clientOrderId that is forgotten with the record itself is still taken at the preview. */
const mayBeForgotten = ({ outcome }: PreviewView): boolean =>
  outcome._tag === "Refused" && (outcome.refusal === Refusal.clientOrderIdInUse || outcome.refusal === Refusal.fenceStands)

export const previewsEqualDecisions: Property<State> = {
  name: "previews-equal-decisions",
  invariant: "I12",
  kind: "safety",
  initial: () => ({ markets: new Markets(), told: new Map(), placed: new Map(), previews: new Map(), newest: { atEpochMs: 0 } }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.previews.clear()
        return holds
      case "Taken":
        if (seen.command.kind === "PlaceOrders" && seen.preview !== undefined && !mayBeForgotten(seen.preview.view)) {
          state.previews.set(seen.sequence + 1, { command: seen.command, preview: seen.preview.view, isDue: seen.preview.isDue })
        }
        return holds
      case "Committed": {
        const { command, sequence } = seen.record
        const previewed = state.previews.get(sequence)
        state.previews.delete(sequence)
        const isSame = previewed !== undefined && command.kind === "PlaceOrders" && command.account === previewed.command.account
          && command.idempotencyKey === previewed.command.idempotencyKey
        const verdict = isSame ? verdictOf(previewed, seen) ?? toldOtherwise(state, previewed, seen) : holds
        state.newest.atEpochMs = seen.record.atEpochMs
        state.placed.delete(`${command.account}/${command.idempotencyKey}`)
        if (seen.decision.outcomes[0]?.refusal === Refusal.none) state.markets.done(command)
        return verdict
      }
      case "Answered": {
        const { answer: { json, status }, call: { account, body, endpoint } } = seen
        if (endpoint === "previewMargin" && status === 200 && isObject(json)) state.told.set(account, { body, json })
        return holds
      }
      case "Asked": {
        const { account, body, endpoint, idempotencyKey } = seen.call
        const told = state.told.get(account)
        if (endpoint === "placeOrder" && told !== undefined && told.body === body) {
          state.placed.set(`${account}/${idempotencyKey}`, { ...told, call: seen.call })
          state.told.delete(account)
        }
        return holds
      }
      default:
        return holds
    }
  }
}
