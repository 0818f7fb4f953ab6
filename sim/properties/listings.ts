/**
 * Safety (I19 as readers see it). A listing read page by page neither loses nor duplicates anything, whatever is added meanwhile: every
 * page continues exactly where the previous one ended, contains everything in its range, and shows each trade and fill as it was executed.
 */
import { parseOrderId } from "../../src/domain/Ids.js"
import type { NaiveFill } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import * as Queries from "../reading/Queries.js"
import { difference } from "./Difference.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The number with which the previous page ended, by listing and cursor. */
type State = Map<string, number>

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

const parseTradeId = (id: unknown): number =>
  typeof id === "string" && id.startsWith("trd_") ? Number.parseInt(id.slice(4), 36) : Number.NaN

/** One page of a listing. */
interface Page {
  readonly what: string
  readonly items: ReadonlyArray<Json>
  readonly numbers: ReadonlyArray<number>
  /** Exclusive; undefined for a first page. */
  readonly upper: number | undefined
  /** Whether its cursor came from another page. */
  readonly isLedTo: boolean
  readonly next: string | undefined
  readonly limit: number
}

/** Checks that numbers are strictly decreasing, and below the page's beginning. */
const orderVerdict = ({ numbers, upper, what }: Page): Verdict => {
  let above = upper ?? Number.POSITIVE_INFINITY
  for (const number of numbers) {
    if (!(number < above)) return broken(`${what} shows ${number} behind ${above}`)
    above = number
  }
  return holds
}

/** The expected content of the page, newest first: from its beginning to its end. */
const expected = <A>(page: Page, all: ReadonlyArray<A>, numberOf: (one: A) => number): ReadonlyArray<A> => {
  // Entries newer than the first of a page without a predecessor may have been added after it was read.
  const above = page.isLedTo ? page.upper! : Math.min(page.upper ?? Number.POSITIVE_INFINITY, (page.numbers[0] ?? -1) + 1)
  const last = page.numbers.at(-1)
  const below = page.next === undefined ? 0 : last ?? above
  return all.filter((one) => numberOf(one) < above && numberOf(one) >= below)
}

const fillsVerdict = (page: Page, made: ReadonlyArray<NaiveFill>, account: number, model: NaiveVenue): Verdict => {
  const { items, limit, next, numbers, what } = page
  if (next !== undefined && items.length !== limit) return broken(`${what} has ${items.length} of ${limit} and goes on`)
  const there = [...expected(page, made, (fill) => fill.ordinal)].reverse()
  if (there.length !== numbers.length)
    return broken(`${what} shows ${numbers.join()}, made were ${there.map((fill) => fill.ordinal).join()}`)
  for (let index = 0; index < there.length; index++) {
    const fill = there[index]!
    const item = items[index]!
    if (numbers[index] !== fill.ordinal) return broken(`${what} shows ${numbers[index]} where ${fill.ordinal} was made`)
    const shown = account < 0 ? Shown.trade(model, fill) : Shown.ownFill(model, fill, account)
    const verdict = difference(`${what}, trade ${fill.ordinal}`, item, shown)
    if (verdict !== undefined) return verdict
  }
  return holds
}

const ordersVerdict = (page: Page, call: Call, query: URLSearchParams, model: NaiveVenue): Verdict => {
  const account = model.accounts[call.account]!
  const marketId = query.get("marketId")
  const placed = account.placed.filter((order) => marketId === null || model.markets[order.market]!.parameters.marketId === marketId)
  const shown = new Set(page.numbers)
  for (const number of page.numbers) {
    if (!placed.some((order) => order.number === number))
      return broken(`${page.what} shows ${number}, which account ${account.index} never placed there`)
  }
  if (query.get("status") !== null) return holds
  for (const order of expected(page, placed, (one) => one.number)) {
    if (!shown.has(order.number)) return broken(`${page.what} leaves out order ${order.number}`)
  }
  return holds
}

const listNames: Readonly<Record<string, Queries.Kind>> = { listOrders: "orders", listFills: "fills", listTrades: "trades" }
const defaultLimit = 50

export const listings: Property<State> = {
  name: "listings-neither-lose-nor-double",
  invariant: "I19",
  kind: "safety",
  initial: () => new Map(),
  observe: (state, seen) => {
    if (seen._tag !== "Answered" || seen.answer.status !== 200) return holds
    const { answer, call, model } = seen
    const list = listNames[call.endpoint]
    if (list === undefined || !isObject(answer.json)) return holds
    const [path = "", search = ""] = call.target.split("?")
    const query = new URLSearchParams(search)
    const cursor = query.get("cursor")
    const limit = Number(query.get("limit") ?? defaultLimit)
    const walk = `${path} ${query.get("status")} ${query.get("marketId")}`
    const items = answer.json[list] as ReadonlyArray<Json>
    const next = answer.json["nextCursor"]
    const led = cursor === null ? undefined : state.get(`${walk} ${cursor}`)
    const upper = cursor === null ? undefined : led ?? Queries.numberOf(list, cursor)
    if (cursor !== null && upper === undefined) return broken(`${call.target} took a cursor that is none`)
    const page: Page = {
      what: `${call.target} for ${call.client}`,
      items,
      numbers: items.map((item) => list === "orders" ? parseOrderId(String(item["orderId"])) ?? Number.NaN : parseTradeId(item["tradeId"])),
      upper,
      isLedTo: led !== undefined,
      next: typeof next === "string" ? next : undefined,
      limit
    }
    if (items.length > limit) return broken(`${page.what} shows ${items.length}`)
    if (page.next !== undefined) {
      state.set(`${walk} ${page.next}`, page.numbers.at(-1) ?? upper ?? Number.POSITIVE_INFINITY)
    }
    const ordered = orderVerdict(page)
    if (ordered !== undefined) return ordered
    if (list === "orders") return ordersVerdict(page, call, query, model)
    if (list === "trades") {
      const market = model.markets.find((each) => path.includes(`/${each.parameters.marketId}/`))
      return market === undefined ? broken(`${call.target} lists a market that is not there`) : fillsVerdict(page, market.trades, -1, model)
    }
    const marketId = query.get("marketId")
    const own = model.fillsOf(call.account)
      .filter((fill) => marketId === null || model.markets[fill.market]!.parameters.marketId === marketId)
    return fillsVerdict(page, own, call.account, model)
  }
}
