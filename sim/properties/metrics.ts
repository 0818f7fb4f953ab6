/**
 * Safety (contract). `/metrics` reports the truth: its counts of requests and refusals since the process started are those sent and
 * answered, its counts of markets are those of the records since then, and the venue's state in it is that of the record that it names.
 * The histories stand at the end of a durable block, and a snapshot that the process has saved has a time. As many commands wait as went
 * into the inbox and did not come out, and as many connections were opened as were let in. The venue's state may be left out only until the
 * process has said that it is ready.
 */
import { idsPerRecord } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { SetMarketStatus } from "../../src/operations/markets/SetMarketStatus.js"
import type { Command } from "../../src/operations/Operations.js"
import { isNeeded, statusOf } from "../model/NaiveFunds.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Exposition from "../reading/Exposition.js"
import { isListed } from "../reading/MarketRules.js"
import * as Refusals from "../reading/Refusals.js"
import { type Answer, type Bounds, type Call, isLimited, isOfAffiliates, type Observation, recordNamed } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Counts of a process that do not come from records. */
interface Counts {
  /** How many of its answers clients have, by route and status, and how many of those are failures, and rate-limited. */
  readonly answered: Map<string, number>
  failures: number
  limited: number
  /** How many entries of batches were refused in them, which are no failures of their requests, and how many are internal errors. */
  refusedEntries: number
  defects: number
  /** The highest record that an answer named. */
  durable: number
  /** Placements and amendments refused without a record, by market and guard. */
  readonly refused: Map<string, number>
}

/** What a process had said and done when a text was made. */
interface Made {
  readonly counts: Counts
  readonly atEpochMs: number
  /** Whether it had said that it is ready. */
  readonly isReady: boolean
  /** How often its clock had been moved ahead. */
  readonly movedAhead: number
  /** How many followers it had started, and whether the last one had not ended. */
  readonly followers: number
  readonly isFollowed: boolean
  /** How many commands waited in its inbox, and how many connections it had let in; undefined where there are none. */
  readonly waiting: number
  readonly letIn: number | undefined
}

/** A process, and its events. */
interface Process {
  readonly bounds: Bounds
  /** Whether there are affiliates' routes. */
  readonly affiliates: boolean
  /** Its first record; 0 before it is known. */
  since: number
  /** Attempts of calls begun since it started and not answered: no earlier process answers those. */
  readonly underWay: Set<string>
  /** How many requests it took up, including commands over the stream, which count as requests of the equivalent routes. */
  taken: number
  readonly counts: Counts
  /** The counts when a text was last made. */
  made: Made | undefined
  /** The counts when a text was last made before the reading of the metrics that the process took up last. */
  madeBefore: Made | undefined
  /** Whether it has said that it is ready. */
  isReady: boolean
  /** How many followers it has started, and whether the last one has not ended. */
  followers: number
  isFollowed: boolean
  /** How many commands wait in its inbox, and how many connections it has let in; undefined before the first. */
  waiting: number
  letIn: number | undefined
  /** Placements and amendments refused by records, by market and guard. */
  readonly refused: Map<string, number>
  /** How often each market was halted by the operator. */
  readonly halts: Map<number, number>
  /** When it began to serve, by the first text that tells it; undefined before that. */
  startedAtSeconds: number | undefined
}

/** The present process; undefined before the first. */
interface State {
  process: Process | undefined
  /** The last records of all durable blocks. */
  readonly blockEnds: Set<number>
  /** The records of all snapshots that were ever begun. */
  readonly snapshots: Set<number>
}

/** For how long a text is served again, ms. */
const keptMs = 200

const add = (to: Map<string, number>, name: string, by = 1): void => {
  to.set(name, (to.get(name) ?? 0) + by)
}

const started = (bounds: Bounds, affiliates: boolean): Process => ({
  bounds,
  affiliates,
  since: 0,
  underWay: new Set(),
  taken: 0,
  counts: { answered: new Map(), failures: 0, limited: 0, refusedEntries: 0, defects: 0, durable: 0, refused: new Map() },
  made: undefined,
  madeBefore: undefined,
  isReady: false,
  followers: 0,
  isFollowed: false,
  waiting: 0,
  letIn: undefined,
  refused: new Map(),
  halts: new Map(),
  startedAtSeconds: undefined
})

/** This route reports whether requests are accepted: its 503 is not a refusal. */
const readiness = "getReadiness"

/** Notes that the process takes a request up. */
const handling = (process: Process, seen: Observation & { readonly _tag: "Handling" }): void => {
  const { atEpochMs, call: { endpoint }, movedAhead } = seen
  const { counts, made } = process
  process.taken++
  if (endpoint !== "getMetrics") return
  process.madeBefore = made
  if (made !== undefined && atEpochMs >= made.atEpochMs && atEpochMs - made.atEpochMs < keptMs) return
  const kept = { ...counts, answered: new Map(counts.answered), refused: new Map(counts.refused) }
  const { followers, isFollowed, isReady, letIn, waiting } = process
  process.made = { counts: kept, atEpochMs, isReady, movedAhead, followers, isFollowed, letIn, waiting }
}

/** Requests whose answers have an outcome for each of several entries. */
const batches: ReadonlySet<string> = new Set(["placeOrderBatch", "cancelOrderBatch", "createOrders"])

/** How many entries of a batch an answer refuses. */
const refusedIn = ({ json, status }: Answer, { endpoint }: Call): number => {
  if (status !== 200 || !batches.has(endpoint)) return 0
  const entries = Array.isArray(json) ? json : (json as { readonly outcomes: ReadonlyArray<unknown> }).outcomes
  return (entries as ReadonlyArray<{ readonly accepted: boolean }>).filter(({ accepted }) => !accepted).length
}

/** Notes that a client has its answer. */
const answered = (process: Process, { answer, attempt, call }: Observation & { readonly _tag: "Answered" }): void => {
  const { affiliates, counts, underWay } = process
  if (!underWay.delete(`${call.id}.${attempt}`)) return
  process.isReady ||= call.endpoint === readiness && answer.status === 200
  const route = routeOf(call, answer, affiliates)
  if (route !== undefined) add(counts.answered, `${route} ${answer.status}`)
  counts.durable = Math.max(counts.durable, recordNamed(answer) ?? 0)
  if (answer.status >= 400 && call.endpoint !== readiness) counts.failures++
  if (isLimited(answer)) counts.limited++
  if (answer.status === 500) counts.defects++
  counts.refusedEntries += refusedIn(answer, call)
}

/**
 * The route in the metrics: requests without a route are counted separately. Undefined for a route that this venue, or this credential,
 * does not have: only the venue knows how far such a request got, since a rate limit may answer earlier.
 */
const routeOf = (call: Call, { text }: Answer, affiliates: boolean): string | undefined => {
  const { endpoint } = call
  if (endpoint === "" || text.includes("\"method_not_allowed\"")) return "unrouted"
  return text.includes("\"route_not_found\"") || !affiliates && isOfAffiliates(call) ? undefined : endpoint
}

/** Notes the refusal of each entry of a placement or an amendment. */
const noteRefused = (refused: Map<string, number>, command: Command, refusalAt: (index: number) => Refusal): void => {
  const markets = command.kind === "PlaceOrders"
    ? command.entries.map(({ market }) => market)
    : command.kind === "AmendOrder"
    ? [command.market]
    : []
  for (const [index, market] of markets.entries()) {
    const refusal = refusalAt(index)
    if (refusal === Refusal.none || market < 0) continue
    const { code, guard } = Refusals.of(refusal)
    add(refused, `${market} ${guard ?? code}`)
  }
}

// --- content of a text -----------------------------------------------------------------------------------

/** Reads one text, and keeps its first contradiction. */
class Told {
  verdict: Verdict = holds

  constructor(readonly families: ReadonlyMap<string, Exposition.Family>) {}

  samples(name: string, part = ""): ReadonlyArray<Exposition.Sample> {
    const family = this.families.get(name)
    if (family === undefined) this.refuse(`nothing is told of ${name}`)
    return family?.samples.get(`${name}${part}`) ?? []
  }

  /** The values by their labels, in the given order of these. */
  by(name: string, labels: ReadonlyArray<string>, part = ""): ReadonlyMap<string, number> {
    return new Map(this.samples(name, part).map((sample) => [labels.map((label) => sample.labels.get(label)).join(" "), sample.value]))
  }

  /** The sum of all values. */
  sum(name: string): number {
    return this.samples(name).reduce((sum, { value }) => sum + value, 0)
  }

  /** The only value; undefined where there is none. */
  one(name: string): number | undefined {
    return this.samples(name)[0]?.value
  }

  refuse(what: string): void {
    this.verdict ??= broken(what)
  }

  is(name: string, wanted: number): void {
    this.lies(name, wanted, wanted)
  }

  lies(name: string, least: number, most: number): void {
    const value = this.one(name)
    if (value === undefined || value < least || value > most) {
      this.refuse(`${name} is told as ${value}, and is ${least === most ? least : `from ${least} to ${most}`}`)
    }
  }

  /** Checks that the values are exactly these, by their labels. */
  are(name: string, labels: ReadonlyArray<string>, wanted: ReadonlyMap<string, number>): void {
    this.same(name, this.by(name, labels), wanted)
  }

  same(name: string, told: ReadonlyMap<string, number>, wanted: ReadonlyMap<string, number>): void {
    for (const each of new Set([...told.keys(), ...wanted.keys()])) {
      if (told.get(each) !== wanted.get(each)) {
        this.refuse(`${name} of ${each} is told as ${told.get(each) ?? "nothing"}, and is ${wanted.get(each) ?? "nothing"}`)
      }
    }
  }
}

/** Checks counts of requests: at least what clients have, at most what the process took up. */
const requests = (told: Told, { answered, defects, failures, limited, refusedEntries }: Counts, taken: number): void => {
  const counted = told.by("venue_http_requests_total", ["route", "status"])
  const byRoute = new Map<string, number>()
  let failed = 0
  let all = 0
  for (const [name, value] of counted) {
    const [route = "", status] = name.split(" ")
    if (Number(status) >= 400 && route !== readiness) failed += value
    // A malformed request is answered before it is taken up.
    if (route === "unrouted") continue
    add(byRoute, route, value)
    all += value
  }
  for (const [name, count] of answered) {
    if ((counted.get(name) ?? 0) < count)
      told.refuse(`${counted.get(name) ?? 0} requests of ${name} are told of, and ${count} were answered`)
  }
  if (all > taken) told.refuse(`${all} requests are told of, and ${taken} came`)
  const refusals = told.sum("venue_refusals_total")
  const least = Math.max(failed, failures) + refusedEntries
  if (refusals < least) told.refuse(`${refusals} refusals are told of, and ${least} were answered`)
  // An alert on the first defect needs a value before it.
  const byName = told.by("venue_refusals_total", ["name"])
  const named = (name: string, least: number): void => {
    const value = byName.get(name)
    if (value === undefined || value < least)
      told.refuse(`${value ?? "nothing"} is told of refusals as ${name}, and ${least} were answered`)
  }
  named("InternalError", defects)
  if (limited > 0) named("RateLimited", limited)
  // Several refusals share a code.
  const unnamed = [...byName.keys()].find((name) => !/^[A-Z][A-Za-z]+$/.test(name))
  if (unnamed !== undefined) told.refuse(`refusals are told of as ${unnamed}, which is no name`)
  const refused = told.sum("venue_rate_limited_total")
  if (refused < limited) told.refuse(`${refused} requests are told to be limited, and ${limited} were`)
  told.same("the requests timed", told.by("venue_http_request_duration_seconds", ["route"], "_count"), byRoute)
}

/** Checks that buckets are cumulative, and that the last has everything. */
const histograms = (told: Told): void => {
  for (const [name, { type }] of told.families) {
    if (type !== "histogram") continue
    const counts = new Map(told.samples(name, "_count").map(({ labels, value }) => [[...labels.values()].join(" "), value]))
    const last = new Map<string, number>()
    for (const { labels, value } of told.samples(name, "_bucket")) {
      const of = [...labels].filter(([label]) => label !== "le").map(([, value]) => value).join(" ")
      if (value < (last.get(of) ?? 0)) told.refuse(`a bucket of ${name} of ${of} holds less than the one before`)
      last.set(of, value)
    }
    told.same(`the last bucket of ${name}`, last, counts)
  }
}

/** Base units that rest at the best ten prices. */
const depthOf = (model: NaiveVenue, { index, parameters: { quantityScale } }: NaiveMarket, side: Order.Side): number =>
  model.levels(index, side).slice(0, 10).reduce((sum, [, size]) => sum + size, 0) / 10 ** quantityScale

const spreadOf = (model: NaiveVenue, { index }: NaiveMarket): number | undefined => {
  const [bid, ask] = [model.levels(index, Order.buy)[0]?.[0], model.levels(index, Order.sell)[0]?.[0]]
  return bid === undefined || ask === undefined ? undefined : (2 * (ask - bid)) / (ask + bid)
}

/**
 * From how often to how often a market may be told to have been halted for want of anybody to close a position against: as often as there
 * are steps that say so. The settlement of a delisted market tells such steps, too, and waits instead; and a halt of the operator's, or the
 * one by which a delisting takes effect, is counted where it lies in one block behind a record that left a deleveraging unfinished.
 */
export const exhaustedWithin = (isGone: boolean, times: number, halts: number): readonly [least: number, most: number] =>
  isGone ? [0, times + halts + 1] : [times, times + halts]

/** Whether a record halts a market by the operator's will. */
export const isHalt = (command: Command, outcomes: ReadonlyArray<{ readonly refusal: Refusal }>): command is SetMarketStatus =>
  command.kind === "SetMarketStatus" && command.status === "halted" && outcomes[0]?.refusal === Refusal.none

/** Checks how often each market was halted for want of anybody to close a position against. */
const ofExhausted = (
  told: Told,
  listed: ReadonlyArray<NaiveMarket>,
  steps: ReadonlyMap<string, number>,
  halts: ReadonlyMap<number, number>
): void => {
  const name = "venue_liquidation_exhausted_total"
  const counted = told.by(name, ["market"])
  for (const market of listed) {
    const { index, parameters: { marketId } } = market
    const times = steps.get(marketId) ?? 0
    const [least, most] = exhaustedWithin(isDelisted(market), times, halts.get(index) ?? 0)
    const value = counted.get(marketId) ?? -1
    if (value < least || value > most) told.refuse(`${name} of ${marketId} is told as ${value}, and is from ${least} to ${most}`)
  }
}

/** Checks the metrics of each public market. */
const ofMarkets = (told: Told, model: NaiveVenue, { halts, since }: Process, refused: ReadonlyMap<string, number>): void => {
  const listed = model.markets.filter(({ status }) => isListed(status))
  const values = (read: (market: NaiveMarket) => number | undefined): ReadonlyMap<string, number> =>
    new Map(listed.flatMap((market) => {
      const value = read(market)
      return value === undefined ? [] : [[market.parameters.marketId, value] as const]
    }))
  const count = <A>(of: Iterable<A>, matters: (each: A) => boolean): number => Array.from(of).filter(matters).length
  told.are("venue_market_trades_total", ["market"], values(({ trades }) => count(trades, ({ sequence }) => sequence >= since)))
  const ownSince = count(model.ownOrders.keys(), (number) => number >= since * idsPerRecord)
  const accepted = told.by("venue_market_orders_total", ["market"])
  for (const { index, parameters: { marketId } } of listed) {
    const least = count(model.orders.values(), ({ market, number }) => market === index && number >= since * idsPerRecord)
    const value = accepted.get(marketId) ?? -1
    if (value < least || value > least + ownSince) told.refuse(`${value} orders are told to be accepted in ${marketId}, and ${least} were`)
  }
  const steps = (wanted: string): ReadonlyMap<string, number> =>
    values(({ index }) =>
      count(model.published.steps, ({ market, sequence, step }) => market === index && sequence >= since && step === wanted)
    )
  told.are("venue_deleveragings_total", ["market"], steps("deleveraging"))
  ofExhausted(told, listed, steps("exhausted"), halts)
  const settling = model.markets.filter(({ delisting }) => delisting?.state === "settling")
  told.are("venue_settlement_waiting", ["market"],
    new Map(settling.map(({ delisting, parameters: { marketId } }) => [marketId, delisting!.againAtEpochMs === 0 ? 0 : 1])))
  told.are("venue_market_spread_ratio", ["market"], values((market) => spreadOf(model, market)))
  told.are("venue_market_status", ["market", "status"],
    new Map(listed.filter((market) => !isDelisted(market)).map(({ parameters: { marketId }, status }) => [`${marketId} ${status}`, 1])))
  told.are("venue_market_book_depth", ["market", "side"], new Map(listed.flatMap((market) => [
    [`${market.parameters.marketId} buy`, depthOf(model, market, Order.buy)] as const,
    [`${market.parameters.marketId} sell`, depthOf(model, market, Order.sell)] as const
  ])))
  const names = new Map(listed.map(({ index, parameters: { marketId } }) => [String(index), marketId]))
  told.are("venue_market_refusals_total", ["market", "guard"], new Map([...refused].flatMap(([of, value]) => {
    const [market = "", guard] = of.split(" ")
    return names.has(market) ? [[`${names.get(market)} ${guard}`, value] as const] : []
  })))
}

/** Transfers that a venue lets be open. */
const mostTransfers = 65_536

/** Checks the metrics of deposits, withdrawals and changes of party. */
const ofMoney = (told: Told, { funds }: NaiveVenue): void => {
  const open = new Map<string, number>()
  let unknown = 0
  for (const transfer of funds.transfers) {
    if (!isNeeded(transfer)) continue
    const status = statusOf(transfer)
    add(open, `${transfer.kind} ${status}`)
    if (status === "submitted_unknown") unknown++
  }
  told.are("venue_open_transfers", ["kind", "status"], open)
  told.is("venue_withdrawals_stopped", funds.isStopped ? 1 : 0)
  told.is("venue_withdrawals_contradicted", funds.stop?.reason === "contradiction" ? 1 : 0)
  told.is("venue_ledger_offset", funds.offset)
  told.is("venue_reconciliation_accepted_atoms", funds.accepted)
  told.is("venue_unknown_submissions", unknown)
  told.is("venue_open_transfers_capacity", mostTransfers)
  // None that is over waits for anybody.
  told.lies("venue_stopped_transfers", 0, [...open.values()].reduce((sum, count) => sum + count, 0))
  if (told.sum("venue_ledger_alarms_total") !== funds.contradictions)
    told.refuse(`${told.sum("venue_ledger_alarms_total")} alarms of the ledger are told of, and there were ${funds.contradictions}`)
}

/**
 * Checks that the histories stand at the end of a block that the process knows to be durable. How long they lag at most is judged where
 * their answers are.
 */
const ofHistories = (told: Told, blockEnds: ReadonlySet<number>): void => {
  const at = told.one("venue_histories_sequence")
  const durable = told.one("venue_durable_sequence")
  if (at === undefined || durable === undefined) return
  if (at !== 0 && !blockEnds.has(at)) told.refuse(`the histories are told to stand at record ${at}, at which no block ends`)
  if (at > durable) told.refuse(`the histories are told to stand at record ${at}, which is not durable`)
}

/**
 * Checks, where there is a follower, how often one was started and whether one runs, that there is such a snapshot as is told to be the newest, and when it is
 * said to have been saved: one of a record of this process was saved by it, so that an alert on its age has something to go by.
 */
const ofFollower = (told: Told, since: number, { followers, isFollowed }: Made, snapshots: ReadonlySet<number>): void => {
  if (!told.families.has("venue_snapshot_sequence")) return
  const newest = told.one("venue_snapshot_sequence") ?? 0
  if (newest !== 0 && !snapshots.has(newest)) told.refuse(`the newest snapshot is told to be of record ${newest}, and there never was one`)
  told.is("venue_follower_starts_total", followers)
  told.is("venue_follower_running", isFollowed ? 1 : 0)
  if (newest >= since) told.lies("venue_snapshot_saved_at_seconds", 1, Number.MAX_SAFE_INTEGER)
  // What was compared lies behind the follower, and the follower not before the newest snapshot.
  const [agreed, durable] = [told.one("venue_follower_agreed_sequence") ?? 0, told.one("venue_durable_sequence") ?? 0]
  told.lies("venue_follower_agreed_sequence", 0, durable)
  told.lies("venue_follower_behind_records", 0, durable - Math.min(durable, Math.max(newest, isFollowed ? agreed : 0)))
}

/** Checks the connections that were opened, where requests travel on any: those without room are counted with them, and by themselves. */
const ofConnections = (told: Told, { letIn }: Made): void => {
  if (letIn === undefined) return
  const [accepted, turnedAway] = [told.one("venue_connections_accepted_total"), told.one("venue_connections_turned_away_total")]
  if (accepted === undefined || turnedAway === undefined) return told.refuse("nothing is told of the connections that were opened")
  if (accepted - turnedAway !== letIn)
    told.refuse(`${accepted} connections are told to have been opened, ${turnedAway} of them without room, and ${letIn} were let in`)
}

/** Checks the metrics of the whole venue. */
const ofVenue = (told: Told, model: NaiveVenue, bounds: Bounds, { counts: { durable }, movedAhead }: Made): void => {
  const { accounts, atEpochMs, fund, identity, orders, sequence } = model
  const clients = accounts.filter((account) => account !== fund)
  told.lies("venue_durable_sequence", durable, sequence)
  told.is("venue_halted", model.halted ? 1 : 0)
  told.is("venue_open_orders", clients.reduce((sum, { open }) => sum + open.length, 0))
  told.lies("venue_orders", model.keptOrders(atEpochMs), orders.size)
  told.is("venue_orders_capacity", bounds.orders)
  told.lies("venue_idempotency_entries", model.keptKeys(atEpochMs).keys, model.mostKeys)
  told.is("venue_idempotency_capacity", bounds.idempotencyKeys)
  told.is("venue_accounts", accounts.length)
  told.is("venue_api_keys", identity.keys.filter(({ isForgotten }) => !isForgotten).length)
  told.is("venue_insurance_fund_equity_atoms", fund === undefined ? 0 : Number(model.margin(fund, undefined).equity))
  told.is("venue_accounts_under_liquidation", clients.filter(({ liquidation }) => liquidation !== undefined).length)
  told.is("venue_inbox_capacity", bounds.inbox.capacity)
  // Setting a clock back and right again is none, and neither is a small correction.
  told.lies("venue_clock_steps_ahead_total", 0, movedAhead)
}

/** Refusals in each market, with and without a record. */
const allRefused = (process: Process, { refused }: Counts): ReadonlyMap<string, number> => {
  const all = new Map(process.refused)
  for (const [name, count] of refused) add(all, name, count)
  return all
}

const judge = (
  process: Process,
  { blockEnds, snapshots }: Pick<State, "blockEnds" | "snapshots">,
  seen: Observation & { readonly _tag: "Answered" }
): Verdict => {
  const { answer: { status, text }, leftBehind, model } = seen
  const { bounds, made, since, taken } = process
  if (status !== 200 || made === undefined || since === 0) return holds
  const families = Exposition.read(text)
  if (typeof families === "string") return broken(`the metrics are no such text: ${families}`)
  const told = new Told(families)
  requests(told, made.counts, taken)
  histograms(told)
  ofHistories(told, blockEnds)
  ofFollower(told, since, made, snapshots)
  ofConnections(told, made)
  if (told.families.has("venue_inbox_depth")) told.is("venue_inbox_depth", made.waiting)
  // Whatever becomes of its clock, a process has begun once.
  told.is("venue_started_at_seconds", process.startedAtSeconds ??= told.one("venue_started_at_seconds") ?? 0)
  const sequence = told.one("venue_engine_sequence") ?? -1
  if (made.isReady && sequence < 0) told.refuse("a venue that has started does not tell its records")
  if (sequence > leftBehind) told.refuse(`metrics of record ${sequence} left behind record ${leftBehind}`)
  // The text is of an earlier record where the venue has gone on meanwhile.
  if (sequence === model.sequence) {
    ofVenue(told, model, bounds, made)
    ofMarkets(told, model, process, allRefused(process, made.counts))
    ofMoney(told, model)
  }
  return told.verdict
}

/** Applies an event to a process. */
const come = (process: Process, all: State, seen: Observation): Verdict => {
  switch (seen._tag) {
    case "Asked":
      process.underWay.add(`${seen.call.id}.${seen.attempt}`)
      return holds
    case "Handling":
      handling(process, seen)
      return holds
    case "Handled":
      // A reading beyond its limit makes no text.
      if (seen.call.endpoint === "getMetrics" && seen.answer !== undefined && isLimited(seen.answer)) process.made = process.madeBefore
      return holds
    case "FrameTaken":
      process.taken++
      return holds
    case "Answered": {
      const verdict = seen.call.endpoint === "getMetrics" && !isLimited(seen.answer) ? judge(process, all, seen) : holds
      answered(process, seen)
      return verdict
    }
    case "Committed": {
      const { block: { count, firstSequence }, decision: { outcomes }, record: { command, sequence } } = seen
      all.blockEnds.add(firstSequence + count - 1)
      if (command.kind === "StartVenue" || command.kind === "OpenVenue") {
        process.since = sequence
        // Those before it belong to the previous process.
        process.refused.clear()
        process.halts.clear()
      }
      if (isHalt(command, outcomes)) process.halts.set(command.market, (process.halts.get(command.market) ?? 0) + 1)
      noteRefused(process.refused, command, (index) => outcomes[index]?.refusal ?? Refusal.none)
      return holds
    }
    case "Taken": {
      const { answered: outcome, command, waited } = seen
      if (waited) process.waiting--
      if (outcome !== undefined && !outcome.replayed) noteRefused(process.counts.refused, command, () => outcome.refusal)
      return holds
    }
    case "FollowerStarted":
      process.followers++
      process.isFollowed = true
      return holds
    case "FollowerEnded":
      process.isFollowed = false
      return holds
    case "Offered":
      if (seen.taken) process.waiting++
      else noteRefused(process.counts.refused, seen.command, () => Refusal.inboxFull)
      return holds
    case "OnConnection":
      if (seen.event.is === "let in") process.letIn = (process.letIn ?? 0) + 1
      return holds
    default:
      return holds
  }
}

export const metrics: Property<State> = {
  name: "metrics-tell-what-is",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ process: undefined, blockEnds: new Set(), snapshots: new Set() }),
  observe: (state, seen) => {
    if (seen._tag === "SnapshotBegun") state.snapshots.add(seen.sequence)
    if (seen._tag === "Started") state.process = started(seen.bounds, seen.set.affiliates)
    return state.process === undefined ? holds : come(state.process, state, seen)
  }
}
