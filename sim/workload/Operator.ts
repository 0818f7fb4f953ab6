/**
 * The operator: gives the markets their first prices and opens the accounts before the run (and puts the markets, where no markets file
 * does), then moves index prices, now and then beyond the band, to where an account only just keeps its margin or to where triggers fire,
 * changes markets' parameters while they trade, moves markets between statuses, halts the venue, now and then where something is about to
 * fall due, and resumes it, cancels orders (one, an account's, a market's), sets how long decisions are remembered, and rarely delists a
 * market. Now and then it repeats a command under an old key, with the same body or another.
 */
import type { ListedMarket } from "../../src/Bootstrap.js"
import { accountId, orderId } from "../../src/domain/Ids.js"
import { type Parameters, type Status, types } from "../../src/domain/Market.js"
import { type Edges, type Options, retentionsMs } from "../faults/Options.js"
import * as Moments from "../model/Moments.js"
import { marginOf } from "../model/NaiveMoney.js"
import { finalPrice } from "../model/NaiveRisk.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Requests from "../reading/Requests.js"
import type { SimRandom } from "../world/SimRandom.js"
import { aimed, narrower } from "./Aim.js"
import * as Brink from "./Brink.js"
import * as Calls from "./Calls.js"
import * as Changes from "./Changes.js"
import { decimal } from "./Calls.js"
import type { Desk, OperatorsDesk } from "./Desk.js"
import * as Firing from "./Firing.js"
import { Hunt } from "./Hunt.js"
import { simMarkets, type SimMarkets } from "./SimMarkets.js"
import * as Spelling from "./Spelling.js"
import { type Hands, Traps } from "./Traps.js"
import * as Twist from "./Twist.js"

export interface Operator {
  /** Calls that must be answered before anybody trades, in this order. */
  readonly opening: ReadonlyArray<Calls.Draft>
  readonly start: () => void
  /** Brings the venue back to ordinary trading once faults have stopped. */
  readonly restore: () => void
}

/** An index price under a key that no other command has; `sourceEpochMs` 0: observed when it is journaled. */
export const setIndexPrice = (
  token: string,
  key: string,
  { marketId, priceScale }: Parameters,
  priceAtoms: number,
  sourceEpochMs = 0
): Calls.Draft => setIndexPriceText(token, key, marketId, decimal(priceAtoms, priceScale), sourceEpochMs)

const setIndexPriceText = (token: string, key: string, marketId: string, price: string, sourceEpochMs = 0): Calls.Draft =>
  Calls.operate(token, "index price", "setIndexPrice", "SetIndexPrice", key, "PUT", `/v1/operator/markets/${marketId}/index-price`, {
    price,
    ...(sourceEpochMs === 0 ? {} : { sourceEpochMs })
  })

/** Longest time for which a market stays in another status, or the venue halted, ms. */
const maxDisturbanceMs = 1_500
/** How long a market is halted during a liquidation, ms. */
const lookedAtTwiceMs = 2_200
/** Statuses in which a market stays for a while. */
const disturbances: ReadonlyArray<Status> = ["paused", "cancel_only", "reduce_only", "reduce_only", "halted"]
/** The longest lifetime of a demo account's key, seconds. */
const longestSeconds = 31_536_000
/** How often a command is repeated. */
const againShare = 0.12
type Way = (draft: Calls.Draft, random: SimRandom) => Calls.Draft

const sameWays: ReadonlyArray<Way> = [(draft) => draft, Twist.respelled]

/**
 * Ways to repeat a command. Parameters of a market are not repeated with changes: where the original was lost, that would be a change
 * nobody meant, or an invalid market.
 */
const anyWays: ReadonlyArray<Way> = [...sameWays, Twist.twisted, Twist.twisted]

/** Share of housekeeping commands, which are repeated at once with another spelling. */
const houseworkShare = 0.03
/** Share of cancels of clients' orders, and how many of these are of one order, and of a whole market. */
const cancelShare = 0.1
const cancelOneShare = 0.5
const cancelMarketShare = 0.15
/** Share of malformed commands. */
const malformedShare = 0.06
/** How many past commands are kept to be repeated. */
const memorySize = 20

/** Share of parameter changes that are announced. */
const announcedShare = 0.5

/** How often it tries to change a market's type, which is refused once the market has left draft. */
const typeShare = 0.05
/** Share of parameter changes to a market's index, mark, funding or liquidation; half as many are announced as of others. */
const riskShare = 0.4

/** How often a market that has paid funding gets another interval: past payments stay as they were. */
const otherIntervalShare = 0.3

/** What an operator's cancel may select. */
interface Selection {
  readonly orderId?: string
  readonly accountId?: string
  readonly marketId?: string
}

/** A selection: an order of any account, open or not; a market's orders; an account's, in one market or in all. */
const selectionOf = (model: NaiveVenue, random: SimRandom): Selection => {
  const { born, placed } = random.pick(model.accounts)
  const { marketId } = random.pick(model.markets).parameters
  if (placed.length > 0 && random.chance(cancelOneShare)) return { orderId: orderId(random.pick(placed.slice(-20)).number) }
  if (random.chance(cancelMarketShare)) return { marketId }
  return random.chance(0.5) ? { accountId: accountId(born), marketId } : { accountId: accountId(born) }
}

/** How often it cancels an account's orders, market by market, at the moment at which their owner cancels all of them. */
const cancelBesideShare = 0.12
/** Least number of that account's open orders: one record ends a bounded number, and some are to be left over. */
const leastLeaving = 3

/** The operator's commands, each under a key of its own. */
class Commands {
  #keys = 0

  constructor(readonly token: string) {}

  put(parameters: Parameters): Calls.Draft {
    const { marketId } = parameters
    return this.#draft("put market", "putMarket", "PutMarket", "PUT", `/v1/operator/markets/${marketId}`, Calls.marketBody(parameters))
  }

  announce(parameters: Parameters, effectiveAtEpochMs: number): Calls.Draft {
    const { marketId } = parameters
    const body = { ...Calls.marketBody(parameters), effectiveAtEpochMs }
    return this.#draft("announce parameters", "putMarket", "PutMarket", "PUT", `/v1/operator/markets/${marketId}`, body)
  }

  setStatus(marketId: string, status: Status): Calls.Draft {
    return this.#draft(`status ${status}`, "setMarketStatus", "SetMarketStatus", "PUT", `/v1/operator/markets/${marketId}/status`, {
      status
    })
  }

  setIndex({ parameters }: Pick<NaiveMarket, "parameters">, priceAtoms: number, sourceEpochMs?: number): Calls.Draft {
    return setIndexPrice(this.token, this.nextKey(), parameters, priceAtoms, sourceEpochMs)
  }

  setIndexText(marketId: string, price: string): Calls.Draft {
    return setIndexPriceText(this.token, this.nextKey(), marketId, price)
  }

  delist(marketId: string, effectiveAtEpochMs: number | undefined): Calls.Draft {
    const body = effectiveAtEpochMs === undefined ? {} : { effectiveAtEpochMs }
    return this.#draft("delist", "delistMarket", "DelistMarket", "PUT", `/v1/operator/markets/${marketId}/delisting`, body)
  }

  withdrawDelisting(marketId: string): Calls.Draft {
    const target = `/v1/operator/markets/${marketId}/delisting`
    return this.#draft("withdraw delisting", "withdrawDelisting", "DelistMarket", "DELETE", target, undefined)
  }

  halt(): Calls.Draft {
    return this.#draft("halt", "haltEngine", "HaltEngine", "PUT", "/v1/operator/engine/halt", undefined)
  }

  allowWithdrawals(): Calls.Draft {
    const target = "/v1/operator/withdrawals/stop"
    return this.#draft("allow withdrawals", "allowWithdrawals", "AllowWithdrawals", "DELETE", target, undefined)
  }

  resume(): Calls.Draft {
    return this.#draft("resume", "resumeEngine", "ResumeEngine", "DELETE", "/v1/operator/engine/halt", undefined)
  }

  setLimits(idempotencyRetentionMs: number): Calls.Draft {
    return this.#draft("retention", "setLimits", "SetLimits", "PUT", "/v1/operator/limits", { idempotencyRetentionMs })
  }

  cancel(selection: Selection): Calls.Draft {
    return this.#draft("operator's cancel", "cancelByOperator", "CancelByOperator", "POST", "/v1/operator/orders/cancel", selection)
  }

  addToFund(amount: string): Calls.Draft {
    return this.#draft("add to the fund", "addToFund", "AddToFund", "POST", "/v1/operator/insurance-fund", { amount })
  }

  /** Opens accounts that trade: their keys have the longest lifetime, since a clock may jump by more than the usual thirty days. */
  openAccounts(accounts: number, collateral: number): Calls.Draft {
    return this.openAccountsOf({ accounts, collateral: String(collateral), keyLifetimeSeconds: longestSeconds })
  }

  openAccountsOf(
    body: { readonly accounts?: number; readonly collateral?: string; readonly keyLifetimeSeconds?: number }
  ): Calls.Draft {
    return this.#draft("open accounts", "openDemoAccounts", "OpenDemoAccounts", "POST", "/v1/operator/demo/accounts", body)
  }

  nextKey(): string {
    return `operator-${this.#keys++}`
  }

  #draft(intent: string, endpoint: string, kind: string, method: "PUT" | "DELETE" | "POST", target: string, body: unknown): Calls.Draft {
    return Calls.operate(this.token, intent, endpoint, kind, this.nextKey(), method, target, body)
  }
}

/** A read of the announcements of a market, or of one that does not exist. */
const readAnnounced = (token: string, { model }: Desk, random: SimRandom): Calls.Draft => {
  const marketId = random.chance(0.05) ? "NONE-USDC-PERP" : random.pick(model.markets).parameters.marketId
  return {
    ...Calls.operate(token, "read", "getAnnounced", "", "", "GET", `/v1/operator/markets/${marketId}/announced`, undefined),
    idempotencyKey: undefined,
    scope: undefined,
    persistent: false
  }
}

/** How often it reads its announcements before it does anything else. */
const lookShare = 0.15

/** Prices that cannot move a mark: with too many decimals, or outside the market's bounds. */
const isNoPrice = ({ maxPriceAtoms, minPriceAtoms, priceScale }: Parameters) => (price: string): boolean => {
  const atoms = Number(price) * 10 ** priceScale
  return !Number.isInteger(atoms) || atoms < minPriceAtoms || atoms > maxPriceAtoms
}

/** A market with one decimal that is finer than its scale. */
const finer = (draft: Calls.Draft, random: SimRandom): Calls.Draft => {
  const body = JSON.parse(draft.body) as { [name: string]: unknown }
  const name = random.pick(["minPrice", "maxPrice", "minQuantity", "maxQuantity", "maxPositionQuantity"])
  const text = String(body[name])
  body[name] = text.includes(".") ? `${text}0` : `${text}.00`
  return { ...draft, body: JSON.stringify(body) }
}

/** A malformed command: broken somewhere, or a market with a value that its scales cannot express. */
const malformed = (commands: Commands, market: NaiveMarket, past: ReadonlyArray<Calls.Draft>, random: SimRandom): Calls.Draft => {
  const fresh = commands.put(market.parameters)
  const drawn = past.length === 0 || random.chance(0.5)
    ? random.pick([finer, Twist.broken])(fresh, random)
    : Twist.broken({ ...random.pick(past), idempotencyKey: fresh.idempotencyKey }, random)
  const draft = drawn ?? finer(fresh, random)
  return Requests.read(draft)._tag === "asked" ? draft : { ...draft, intent: "malformed", scope: undefined, persistent: false }
}

/** Calls that must be answered before anybody trades: prices and accounts, and the markets where no markets file lists them. */
const openingOf = (
  commands: Commands,
  options: Options["workload"],
  markets: SimMarkets | undefined,
  retentionMs: number
): ReadonlyArray<Calls.Draft> => {
  const put = (market: ListedMarket): ReadonlyArray<Calls.Draft> => [
    commands.put(market.parameters),
    commands.setStatus(market.parameters.marketId, "backfilling"),
    commands.setStatus(market.parameters.marketId, "open")
  ]
  return [
    ...(retentionMs === 0 ? [] : [commands.setLimits(retentionMs)]),
    ...(markets?.first ?? simMarkets).flatMap((market) => [
      ...(markets === undefined ? put(market) : []),
      commands.setIndex(market, market.developmentIndexPriceAtoms)
    ]),
    commands.openAccounts(options.traders, options.collateral)
  ]
}

/** A market put unchanged, accounts that nobody trades with, or a price that cannot move a mark. */
const housework = (commands: Commands, market: NaiveMarket, random: SimRandom): Calls.Draft => {
  const { marketId, priceScale } = market.parameters
  const ways: ReadonlyArray<() => Calls.Draft> = [
    () => commands.put(market.parameters),
    () =>
      commands.openAccountsOf(random.pick([{ accounts: 1 }, { accounts: 1, collateral: "0.000001" }, { accounts: 1, collateral: "12.5" }])),
    () => commands.openAccountsOf({ collateral: random.pick(["0.0000001", "5.0000000", "9007199254740993"]) }),
    () =>
      commands.openAccountsOf({
        accounts: random.pick([0, 1, 2, 33]),
        collateral: random.pick(["0", "4503599627.370496", "4503599627.370497"])
      }),
    () => commands.openAccountsOf({ accounts: 1, keyLifetimeSeconds: random.pick([299, 300, 2_592_000, 31_536_000, 31_536_001]) }),
    () => commands.setIndexText(marketId, random.pick(Spelling.edgesOf(priceScale).filter(isNoPrice(market.parameters)))),
    () => commands.setIndexText("NONE-USDC-PERP", "1.5")
  ]
  return random.pick(ways)()
}

/** The direction of each market's trend, once it has one. */
type Directions = Map<number, 1 | -1>

/** How often a trend turns with a move. */
const turnShare = 0.3

/** The next price of an index with a trend; undefined where it is not to follow one. */
const trendingPrice = (
  { index, mark, parameters }: NaiveMarket,
  { ruin }: Options["workload"],
  directions: Directions,
  random: SimRandom
): number | undefined => {
  if (ruin === undefined || !random.chance(ruin.trendShare)) return undefined
  const before = directions.get(index)
  const direction = before === undefined || random.chance(turnShare) ? random.pick([1, -1] as const) : before
  directions.set(index, direction)
  const step = Math.max(1, Math.round((mark * ruin.trendBps * random.next()) / 10_000))
  return Math.min(parameters.maxPriceAtoms, Math.max(parameters.minPriceAtoms, mark + direction * step))
}

/** An index price near the mark, or now and then about as far away as the band. */
const movedPrice = ({ mark, parameters }: NaiveMarket, options: Options["workload"], random: SimRandom): number => {
  const wayUp = random.chance(0.5) ? 1 : -1
  const bps = random.chance(options.indexJumpShare)
    ? parameters.priceBandBps * (0.8 + random.next())
    : options.indexMoveBps * random.next()
  const step = Math.max(1, Math.round((mark * bps) / 10_000))
  return Math.min(parameters.maxPriceAtoms, Math.max(parameters.minPriceAtoms, mark + wayUp * step))
}

/**
 * A time near the earliest that may be announced, by the venue's clock: that may have been ahead of the operator's when it wrote its last
 * record.
 */
const aroundNotice = ({ model, time }: Desk, besideMs: ReadonlyArray<number>, random: SimRandom): number => {
  const nowEpochMs = Math.max(Math.floor(time.nowEpochMs()), model.atEpochMs)
  return Math.max(1, nowEpochMs + model.noticeMs + random.pick(besideMs) + random.below(100))
}

/** How often an announcement takes effect at the end of a funding interval, and the longest such interval, ms. */
const atEndShare = 0.4
const longestIntervalMs = 20_000

/** A time near the earliest that may be announced for a market, or the first end of a funding interval after it. */
const announcedTime = (
  desk: Desk,
  { parameters: { fundingIntervalMs } }: Pick<NaiveMarket, "parameters">,
  besideMs: ReadonlyArray<number>,
  random: SimRandom,
  ends: SimRandom
): number => {
  const atEpochMs = aroundNotice(desk, besideMs, random)
  return fundingIntervalMs <= longestIntervalMs && ends.chance(atEndShare)
    ? Math.ceil(atEpochMs / fundingIntervalMs) * fundingIntervalMs
    : atEpochMs
}

/**
 * Separate generators for announcements, for the accounts that these aim at, for bands, for withdrawn announcements and how, for types,
 * for risk parameters, for funding intervals, for effects at their ends, and for limits of rules.
 */
interface Drawn {
  readonly notices: SimRandom
  readonly losing: SimRandom
  readonly narrowing: SimRandom
  readonly announcing: SimRandom
  readonly kinds: SimRandom
  readonly risks: SimRandom
  readonly regrets: SimRandom
  readonly intervals: SimRandom
  readonly ends: SimRandom
  readonly rules: SimRandom
}

/** Share of announcements of a band beyond which some resting orders would lie. */
const narrowingShare = 0.4

/** Share of parameter changes to the limit of a rule between parameters. */
const atRulesShare = 0.08

/** An announcement of parameters for a time near the earliest allowed; now and then the market's present ones. */
const announcement = (
  commands: Commands,
  parameters: Parameters,
  desk: Desk,
  { ends, losing, narrowing, notices: random }: Drawn
): Calls.Draft => {
  const effectiveAtEpochMs = announcedTime(desk, { parameters }, [-1_000, 0, 100, 100, 1_000], random, ends)
  const market = desk.model.markets.find((each) => each.parameters === parameters)
  const band = market !== undefined && narrowing.chance(narrowingShare) ? narrower(market, narrowing) : undefined
  const next = random.chance(0.1)
    ? parameters
    : band ?? aimed(parameters, desk.model, random, losing) ?? Changes.tighter(parameters, random)
  return commands.announce(next, effectiveAtEpochMs)
}

/**
 * A market's changed parameters, put or announced. Nothing is announced where amounts are near the exact limit: tighter margins of several
 * markets would exceed it together.
 */
const otherParameters = (commands: Commands, desk: Desk, random: SimRandom, draws: Drawn, edges: Edges): Calls.Draft => {
  const { ends, intervals, kinds, notices, risks, rules } = draws
  const market = random.pick(desk.model.markets)
  const { parameters } = market
  if (kinds.chance(typeShare)) return commands.put({ ...parameters, marketType: kinds.pick(types) })
  if (rules.chance(atRulesShare)) return commands.put(Changes.atRules(parameters, rules))
  const { rate8h = 0n } = market.risk.fundings.at(-1) ?? {}
  if (rate8h !== 0n && intervals.chance(otherIntervalShare)) {
    const fundingIntervalMs = intervals.pick(Changes.fundingIntervalsMs.filter((each) => each !== parameters.fundingIntervalMs))
    return commands.put({ ...parameters, fundingIntervalMs })
  }
  if (risks.chance(edges.money === "large" ? 0 : riskShare)) {
    const next = Changes.ofRisk(parameters, risks)
    return risks.chance(announcedShare / 2)
      ? commands.announce(next, announcedTime(desk, market, [-1_000, 0, 100, 1_000], risks, ends))
      : commands.put(next)
  }
  return notices.chance(edges.money === "large" ? 0 : announcedShare)
    ? announcement(commands, parameters, desk, draws)
    : commands.put(Changes.changed(parameters, random))
}

/** How often something takes effect between two payments of a market or right after one, where positions pay. */
const endingShare = 0.2

/**
 * For a market that has just paid funding: another interval, longer or shorter, at once or from the end of the running one on; or another
 * cap or a delisting from then on.
 */
const atEndOfInterval = (commands: Commands, desk: Desk, ends: SimRandom, { delistingShare = 0 }: Edges): Calls.Draft | undefined => {
  const { accounts, markets } = desk.model
  const paying = markets.filter((market) =>
    isLeft(market) && (market.risk.fundings.at(-1)?.rate8h ?? 0n) !== 0n && accounts.some(({ positions }) => positions.has(market.index))
  )
  if (paying.length === 0 || !ends.chance(endingShare)) return undefined
  const market = ends.pick(paying)
  const { parameters } = market
  const fundingIntervalMs = ends.pick([10_000, 20_000, 30_000].filter((each) => each !== parameters.fundingIntervalMs))
  if (ends.chance(0.4)) return commands.put({ ...parameters, fundingIntervalMs })
  const atEpochMs = announcedTime(desk, market, [0, 100], ends, ends)
  if (ends.chance(delistingShare > 0 ? 0.4 : 0)) return commands.delist(parameters.marketId, atEpochMs)
  const next = ends.chance(0.3) ? { fundingCapE9: ends.pick([1_000, 40_000_000]) } : { fundingIntervalMs }
  return commands.announce({ ...parameters, ...next }, atEpochMs)
}

/** How often collected fees are moved to the insurance fund. */
const fundShare = 0.1

/** Moves half or all of the collected fees, or one atom more than all; or a single atom. */
const addition = (commands: Commands, { feesCollected }: NaiveVenue, random: SimRandom): Calls.Draft => {
  const atoms = random.pick([feesCollected / 2n, feesCollected, feesCollected + 1n, 1n])
  return commands.addToFund(Calls.decimal(Math.max(1, Number(atoms)), 6))
}

/** Whether a market may trade again. */
const isLeft = (market: NaiveMarket): boolean => !isDelisted(market)

/** Delists a market, at once or at a time near the earliest that may be announced; or withdraws its delisting. */
const delisting = (commands: Commands, desk: Desk, random: SimRandom, ends: SimRandom): Calls.Draft => {
  const { markets } = desk.model
  const listed = markets.filter(isLeft)
  const market = random.pick(listed.length === 0 || random.chance(0.2) ? markets : listed)
  const { marketId } = market.parameters
  if (random.chance(market.delisting === undefined ? 0.1 : 0.4)) return commands.withdrawDelisting(marketId)
  if (random.chance(0.7)) return commands.delist(marketId, undefined)
  return delistingLater(commands, market, desk, random, ends)
}

/** Announces a delisting for a time near the earliest allowed. */
const delistingLater = (commands: Commands, market: NaiveMarket, desk: Desk, random: SimRandom, ends: SimRandom): Calls.Draft =>
  commands.delist(market.parameters.marketId, announcedTime(desk, market, [-1_000, 0, 100, 500, 2_000], random, ends))

/** Share of announcements that are delistings, and how often an announcement is taken back. */
const leavingShare = 0.3
const regretShare = 0.5
/** The longest time until then: slightly more than the notice, and at most so long that the run's end can settle it, ms. */
const regretMs = 200
const longestRegretMs = 2_000
/** How often announced parameters are taken back by putting the market's present ones, which changes nothing else. */
const sameShare = 0.4

/**
 * Announces parameters of a market, or its delisting, and now and then takes that back, before it takes effect or just after: parameters
 * by putting others at once or the present ones, a delisting by its withdrawal.
 */
const announces = (commands: Commands, desk: Desk, draws: Drawn, edges: Edges, next: () => void): void => {
  const { issue, model, time } = desk
  const { announcing, ends, regrets } = draws
  const listed = model.markets.filter(isLeft)
  const market = announcing.pick(listed.length === 0 ? model.markets : listed)
  const { marketId } = market.parameters
  const isLeaving = announcing.chance(edges.money === "large" ? 1 : leavingShare)
  issue(isLeaving ? delistingLater(commands, market, desk, announcing, ends) : announcement(commands, market.parameters, desk, draws), next)
  if (!announcing.chance(regretShare)) return
  time.after(announcing.next() * Math.min(longestRegretMs, model.noticeMs + regretMs), () => {
    if (isLeaving) return void issue(commands.withdrawDelisting(marketId), () => {})
    const others = Changes.changed(market.parameters, announcing)
    issue(commands.put(regrets.chance(sameShare) ? market.parameters : others), () => {})
  })
}

/** How often an operator who delists and ruins traders chooses a delisting with losses, and how many markets at most. */
const ruinousShare = 0.5
const mostRuinous = 2

/** A market whose delisting now would leave some account with negative equity. */
const ruinousToDelist = ({ model }: Desk): NaiveMarket | undefined =>
  model.markets.find((market) => {
    if (isDelisted(market) || market.mark === 0 || model.markets.filter(isDelisted).length >= mostRuinous) return false
    const delisted = { ...market, mark: finalPrice(market, model) }
    const markets = model.markets.map((each) => each === market ? delisted : each)
    return model.accounts.some((account) => account.positions.has(market.index) && marginOf(markets, account, undefined).equity < 0n)
  })

/** A delisting command, if any: of a market that ruins an account, or of any market. */
const delistingNow = (
  commands: Commands,
  desk: Desk,
  random: SimRandom,
  ends: SimRandom,
  { ruin }: Options["workload"],
  { delistingShare = 0 }: Partial<Edges> = {}
): Calls.Draft | undefined => {
  if (delistingShare === 0) return undefined
  const ruinous = ruin !== undefined && random.chance(ruinousShare) ? ruinousToDelist(desk) : undefined
  if (ruinous !== undefined) return commands.delist(ruinous.parameters.marketId, undefined)
  return random.chance(delistingShare) ? delisting(commands, desk, random, ends) : undefined
}

/**
 * Halts the venue, and resumes it after a while. Either command may take long: where the halt is decided after the resume, the venue is
 * resumed again, since no client's command completes under a halt.
 */
const haltsFor = (commands: Commands, { issue, model, time }: Desk, whileMs: number, next: () => void): void => {
  let isOneAnswered = false
  const answered = (): void => {
    if (isOneAnswered && model.halted) issue(commands.resume(), () => {})
    isOneAnswered = true
  }
  issue(commands.halt(), () => {
    answered()
    next()
  })
  time.after(whileMs, () => issue(commands.resume(), answered))
}

/** How often an operator who halts the venue does so just before something falls due, and how soon that has to be, ms. */
const haltBeforeDueShare = 0.3
const soonMs = 1_000

/** Halts the venue over the moment at which something falls due, if something does soon; mostly not. Returns whether it does. */
const haltsBeforeDue = (commands: Commands, desk: Desk, random: SimRandom, haltShare: number, next: () => void): boolean => {
  const { model, time } = desk
  if (haltShare === 0 || model.halted || !random.chance(haltBeforeDueShare)) return false
  const ahead = Moments.dues(model).map((due) => due - time.nowEpochMs()).filter((ms) => ms > 0 && ms < soonMs)
  if (ahead.length === 0) return false
  haltsFor(commands, desk, Math.min(...ahead) + random.next() * maxDisturbanceMs, next)
  return true
}

/** How often the venue is halted during a delisting's settlement, which is over within moments. */
const haltOverDelistingShare = 0.3

/** Whether a command delists a market at once. */
const isAtOnce = ({ body, intent }: Calls.Draft): boolean => intent === "delist" && body === "{}"

/** Halts the venue right after the command that delists a market, where operators halt it at all; mostly not. */
const haltsOver = (commands: Commands, desk: Desk, random: SimRandom, haltShare: number): void => {
  if (haltShare === 0 || !random.chance(haltOverDelistingShare)) return
  haltsFor(commands, desk, random.next() * maxDisturbanceMs, () => {})
}

/** The operator's generators: one for each concern, so that none shifts another. */
interface Draws extends Drawn {
  readonly random: SimRandom
  readonly funds: SimRandom
  readonly retentions: SimRandom
  readonly overs: SimRandom
  readonly agreeing: SimRandom
  readonly firing: SimRandom
  readonly beside: SimRandom
  readonly moves: SimRandom
}

const drawsOf = (random: SimRandom): Draws => ({
  random,
  notices: random.split("notices"),
  losing: random.split("losing"),
  narrowing: random.split("narrowing"),
  announcing: random.split("announcing"),
  kinds: random.split("types"),
  risks: random.split("risks"),
  funds: random.split("funds"),
  retentions: random.split("retentions"),
  overs: random.split("halts over delistings"),
  agreeing: random.split("agreeing samples"),
  regrets: random.split("regrets"),
  intervals: random.split("intervals"),
  ends: random.split("ends of intervals"),
  rules: random.split("rules"),
  moves: random.split("moves"),
  firing: random.split("firing"),
  beside: random.split("beside")
})

/** A setting to change now, if any: the fund's money, the retention, a market's parameters. */
const setting = (commands: Commands, desk: Desk, draws: Draws, edges: Edges | undefined): Calls.Draft | undefined => {
  const { funds, random, retentions } = draws
  if (funds.chance(fundShare)) return addition(commands, desk.model, funds)
  if (edges === undefined) return undefined
  const ending = atEndOfInterval(commands, desk, draws.ends, edges)
  if (ending !== undefined) return ending
  if (edges.retention !== undefined && retentions.chance(edges.retention.share)) return commands.setLimits(retentions.pick(retentionsMs))
  return random.chance(edges.parametersShare) ? otherParameters(commands, desk, random, draws, edges) : undefined
}

/** How often a sample is sent for a held step of an index. */
const agreeShare = 0.4

/** A sample near a held one, or near one that has confirmed it: as old, too early to confirm, or just late enough; close enough or not. */
const agreement = (commands: Commands, { model }: Desk, random: SimRandom): Calls.Draft | undefined => {
  const market = random.chance(agreeShare) ? model.markets.find(({ risk }) => risk.held !== undefined) : undefined
  if (market?.risk.held === undefined) return undefined
  const { agreed, price, source } = market.risk.held
  const aside = Math.floor(price / 100)
  const priceAtoms = price + random.pick([0, 0, 0, aside, -aside, aside + 1])
  return commands.setIndex(market, Math.max(1, priceAtoms), (agreed ?? source) + random.pick([0, 0, 1, 999, 1_000, 1_500]))
}

/** How often a move of an index is chosen to fire triggers, where any are waiting. */
const firesShare = 0.3
/** How often the market is reduce-only meanwhile, where operators set statuses, and how long before the price, ms. */
const reducingShare = 0.4
const reducingMs = 60
/** How often the price goes back at once, while the fired triggers are being processed. */
const backShare = 0.5

/** Cancels a trader's orders while all of them leave by the trader's own command: each ends with the reason for which it left first. */
const cancelsBeside = (commands: Commands, { issue, model, traders }: OperatorsDesk, random: SimRandom, next: () => void): boolean => {
  if (!random.chance(cancelBesideShare)) return false
  const leaving = traders().filter(({ account }) => model.accounts[account]!.open.length >= leastLeaving)
  if (leaving.length === 0) return false
  const who = random.pick(leaving)
  const { accountId } = who
  const markets = new Set(model.accounts[who.account]!.open.map(({ market }) => model.markets[market]!.parameters.marketId))
  issue(Calls.cancelAll(who, "cancel beside the operator", commands.nextKey(), undefined), next)
  for (const marketId of markets) issue(commands.cancel({ accountId, marketId }), () => {})
  return true
}

/** Fires triggers in a market that is open or reduce-only; mostly not. Returns whether it does. */
const fires = (commands: Commands, { issue, model, time }: Desk, random: SimRandom, statusShare: number): boolean => {
  const found = random.chance(firesShare) ? Firing.find(model, random) : undefined
  if (found === undefined) return false
  const { backAtoms, market, priceAtoms } = found
  const { marketId } = market.parameters
  const price = (): void => {
    issue(commands.setIndex(market, priceAtoms), () => {})
    if (backAtoms !== undefined && random.chance(backShare)) issue(commands.setIndex(market, backAtoms), () => {})
  }
  if (statusShare > 0 && market.status === "open" && random.chance(reducingShare)) {
    issue(commands.setStatus(marketId, "reduce_only"), () => {})
    time.after(reducingMs, price)
    time.after(reducingMs + random.next() * maxDisturbanceMs, () => issue(commands.setStatus(marketId, "open"), () => {}))
  } else price()
  return true
}

/** A move of a market's index: along its trend, to the brink of a liquidation, or anywhere. */
const movedIndex = (
  commands: Commands,
  desk: Desk,
  random: SimRandom,
  options: Options["workload"],
  directions: Directions,
  trend: SimRandom,
  edges: Edges | undefined
): Calls.Draft => {
  const brink = random.chance(edges?.brinkShare ?? 0) ? Brink.find(desk.model, random) : undefined
  if (brink !== undefined) return commands.setIndex(brink.market, brink.priceAtoms)
  const market = random.pick(desk.model.markets)
  const price = trendingPrice(market, options, directions, trend) ?? movedPrice(market, options, random)
  const sourceEpochMs = random.chance(0.8) ? 0 : Math.floor(desk.time.nowEpochMs()) - random.below(2_000)
  return commands.setIndex(market, price, sourceEpochMs)
}

/**
 * Takes the next act of a hunt, if there is one: a price, or a halt long enough for two examinations of a liquidation. Returns whether it
 * does.
 */
const hunts = (hunt: Hunt | undefined, commands: Commands, desk: Desk, next: () => void): boolean => {
  const found = hunt?.next()
  if (found === undefined) return false
  const { market } = found
  if (found._tag === "price") desk.issue(commands.setIndex(market, found.priceAtoms), next)
  else {
    desk.issue(commands.setStatus(market.parameters.marketId, "halted"), next)
    desk.time.after(lookedAtTwiceMs, () => desk.issue(commands.setStatus(market.parameters.marketId, "open"), () => {}))
  }
  return true
}

/** The operator's traps, where there are any. */
const trapsOf = (commands: Commands, desk: OperatorsDesk, random: SimRandom, { ruin }: Options["workload"]): Traps | undefined => {
  if (ruin?.traps === undefined) return undefined
  const send = (draft: Calls.Draft): void => void desk.issue(draft, () => {})
  const hands: Hands = {
    price: (market, priceAtoms) => send(commands.setIndex(market, priceAtoms)),
    halt: ({ parameters }) => send(commands.setStatus(parameters.marketId, "halted")),
    open: ({ parameters }) => send(commands.setStatus(parameters.marketId, "open")),
    fund: () => {
      const { feesCollected } = desk.model
      if (feesCollected > 0n) send(commands.addToFund(Calls.decimal(Number(feesCollected), 6)))
    }
  }
  return new Traps(desk, hands, random, ruin.traps)
}

/** How often somebody reads a market that has just been changed. */
const changedLookShare = 0.6

/** Continues after an answer; now and then a client reads the public data of the market that was put. */
const lookingAt = ({ endpoint, target }: Calls.Draft, desk: Desk, random: SimRandom, next: () => void) => (): void => {
  const marketId = target.split("/")[4]
  if (endpoint === "putMarket" && marketId !== undefined && desk.isOpen() && random.chance(changedLookShare)) {
    const [of, path] = random.pick([["getStats", "/stats"], ["getMarket", ""], ["getBook", "/book"], ["getStats", "/stats"]] as const)
    desk.issue(Calls.read(Calls.passerBy, of, `/v1/markets/${marketId}${path}`, "none"), () => {})
  }
  next()
}

/** Brings the venue back to ordinary trading. Withdrawals that a difference to the ledger has stopped stay stopped. */
const restores = (commands: Commands, { issue, model }: Desk): void => {
  issue(commands.resume(), () => {})
  if (model.funds.stop?.reason === "operator") issue(commands.allowWithdrawals(), () => {})
  for (const { parameters } of model.markets.filter(isLeft)) issue(commands.setStatus(parameters.marketId, "open"), () => {})
}

/** When the operator puts a further market for which there is no room, ms. */
const roomlessAtMs = [400, 2_000]

/**
 * Puts a draft of the market that the file gets later, with a different fee; nobody opens it. Where there is room for no more markets than
 * the file has, it puts that market twice in vain.
 */
const putsFurther = (
  commands: Commands,
  { issue, time }: Desk,
  markets: SimMarkets | undefined,
  { bounds, listing }: Pick<Options, "bounds" | "listing">
): void => {
  if (markets === undefined) return
  const { parameters } = markets.later
  const { growsAtMs, putsAtMs = 0 } = listing ?? { growsAtMs: 0 }
  const atMs = bounds?.markets !== undefined ? roomlessAtMs : growsAtMs === 0 || putsAtMs === 0 ? [] : [putsAtMs]
  for (const each of atMs) time.after(each, () => issue(commands.put({ ...parameters, takerFeeBps: parameters.takerFeeBps + 1 }), () => {}))
}

/** How often an invalid change of a market's status is tried. */
const wrongMoveShare = 0.25

/** Tries to make a listed market a draft again, or to open a draft that was not prepared: both are refused. */
const movesBack = (commands: Commands, { issue, model }: Desk, random: SimRandom): void => {
  if (!random.chance(wrongMoveShare)) return
  const { parameters: { marketId }, status } = random.pick(model.markets)
  if (status === "backfilling") return
  issue(commands.setStatus(marketId, random.pick(status === "draft" ? ["open", "halted"] : ["draft", "backfilling"])), () => {})
}

export const make = (
  desk: OperatorsDesk,
  token: string,
  random: SimRandom,
  options: Options["workload"],
  markets: SimMarkets | undefined,
  edges: Edges | undefined,
  set: Pick<Options, "bounds" | "listing">
): Operator => {
  const commands = new Commands(token)
  const opening = openingOf(commands, options, markets, edges?.retention?.openingMs ?? 0)
  const past: Array<Calls.Draft> = []
  const trend = random.split("trend")
  const directions: Directions = new Map()
  const draws = drawsOf(random)
  const delistings = random.split("delistings")
  const [halts, looks] = [random.split("halts"), random.split("looks")]
  const hunt = options.ruin === undefined ? undefined : new Hunt(desk.model, random.split("hunt"))
  const traps = trapsOf(commands, desk, random.split("traps"), options)
  const remembered = (draft: Calls.Draft): Calls.Draft => {
    past.push(draft)
    if (past.length > memorySize) past.shift()
    return draft
  }

  const later = (draft: Calls.Draft): void => {
    desk.time.after(random.next() * maxDisturbanceMs, () => desk.issue(draft, () => {}))
  }

  const act = (): void => {
    if (!desk.isOpen()) return
    const next = (): void => {
      desk.time.after(random.until(options.meanOperatorMs), act)
    }
    if (draws.notices.chance(lookShare)) desk.issue(readAnnounced(token, desk, draws.notices), () => {})
    const delists = delistingNow(commands, desk, delistings, draws.ends, options, edges)
    if (haltsBeforeDue(commands, desk, halts, options.haltShare, next)) return
    if (hunts(hunt, commands, desk, next)) return
    if (cancelsBeside(commands, desk, draws.beside, next)) return
    if (edges !== undefined && draws.announcing.chance(edges.announcingShare ?? 0)) return announces(commands, desk, draws, edges, next)
    if (delists !== undefined) {
      desk.issue(remembered(delists), next)
      if (isAtOnce(delists)) haltsOver(commands, desk, draws.overs, options.haltShare)
    } else if (past.length > 0 && random.chance(againShare)) {
      const draft = random.pick(past)
      desk.issue(random.pick(draft.endpoint === "putMarket" ? sameWays : anyWays)(draft, random), next)
    } else if (random.chance(houseworkShare)) {
      const draft = Twist.respelled(housework(commands, random.pick(desk.model.markets), random), random)
      desk.issue(draft, () => desk.issue(Twist.respelled(draft, random), next))
    } else if (random.chance(malformedShare)) {
      desk.issue(malformed(commands, random.pick(desk.model.markets), past, random), next)
    } else if (random.chance(cancelShare)) {
      desk.issue(remembered(commands.cancel(selectionOf(desk.model, random))), next)
    } else if (random.chance(options.haltShare)) {
      haltsFor(commands, desk, random.next() * maxDisturbanceMs, next)
    } else if (random.chance(options.statusShare)) {
      movesBack(commands, desk, draws.moves)
      const { marketId } = random.pick(desk.model.markets).parameters
      desk.issue(remembered(commands.setStatus(marketId, random.pick(disturbances))), next)
      later(commands.setStatus(marketId, "open"))
    } else {
      const set = setting(commands, desk, draws, edges)
      if (set !== undefined) return void desk.issue(remembered(set), lookingAt(set, desk, looks, next))
      if (fires(commands, desk, draws.firing, options.statusShare)) return next()
      const agreeing = agreement(commands, desk, draws.agreeing)
      desk.issue(remembered(agreeing ?? movedIndex(commands, desk, random, options, directions, trend, edges)), () => {})
      next()
    }
  }

  return {
    opening,
    start: () => {
      if (options.meanOperatorMs > 0) desk.time.after(options.meanOperatorMs, act)
      traps?.start()
      putsFurther(commands, desk, markets, set)
    },
    restore: () => restores(commands, desk)
  }
}
