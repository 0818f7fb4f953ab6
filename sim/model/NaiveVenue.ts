/**
 * A naive reference model of the venue, written from the specification alone and sharing no code with the engine but the vocabulary. It is
 * fed the committed records in order and gives the expected result of each.
 *
 * Slow and obvious on purpose: orders in plain arrays, the best order found by visiting every one, margins summed anew each time, money in
 * BigInt. Where the specification leaves something open, the comment at that place says what was chosen.
 */
import { type Command, type CommandOfKind, isClient } from "../../src/operations/Operations.js"
import type { CreditAccount } from "../../src/operations/accounts/CreditAccount.js"
import type { OpenDemoAccounts } from "../../src/operations/accounts/OpenDemoAccounts.js"
import type { AutoClose } from "../../src/operations/accounts/AutoClose.js"
import type { DelistMarket } from "../../src/operations/markets/DelistMarket.js"
import type { SetAccountFlags } from "../../src/operations/accounts/SetAccountFlags.js"
import type { SetFavorite } from "../../src/operations/accounts/SetFavorite.js"
import type { SetAutoClose } from "../../src/operations/accounts/SetAutoClose.js"
import type { SetMarketSession } from "../../src/operations/markets/SetMarketSession.js"
import type { AmendOrder } from "../../src/operations/orders/AmendOrder.js"
import type { CancelByOperator } from "../../src/operations/orders/CancelByOperator.js"
import type { CancelEntry } from "../../src/operations/orders/CancelOrders.js"
import type { FenceOutcome } from "../../src/operations/orders/FenceOutcome.js"
import type { PlaceEntry, PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import { insuranceFundBorn, ordinal } from "../../src/domain/Ids.js"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { CancelReason } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import { isStopped } from "../reading/Halts.js"
import * as MarketRules from "../reading/MarketRules.js"
import { atomsOf } from "../reading/Numbers.js"
import { decimalOf, moneyScale } from "./Decimals.js"
import { ceilDiv, grows, maintenance, marginOf, type NaiveExtra, type NaiveMargin, trade } from "./NaiveMoney.js"
import * as AutoCloses from "./NaiveAutoClose.js"
import { type Bounds, NaiveLiquidations, type NaiveSent, venueBounds } from "./NaiveLiquidation.js"
import { type Kept, NaivePublished, venueKept } from "./NaivePublished.js"
import * as Risk from "./NaiveRisk.js"
import * as Funds from "./NaiveFunds.js"
import * as Identities from "./NaiveIdentity.js"
import { type NaiveHeldChange, NaiveHistory, type NaiveReason } from "./NaiveHistory.js"
import { NaiveStandings } from "./NaiveStandings.js"
import { NaiveSettlements } from "./NaiveSettlement.js"
import {
  isDelisted,
  isKept,
  keptUntilEpochMs,
  type NaiveAccount,
  type NaiveAnnounced,
  type NaiveSession,
  type NaiveCompared,
  type NaiveDay,
  type NaiveDecision,
  type NaiveEnded,
  type NaiveExamined,
  type NaiveFence,
  type NaiveFill,
  type NaiveFound,
  type NaiveChange,
  type NaiveFunding,
  type NaiveRemembered,
  type NaiveMarket,
  type NaiveMemory,
  type NaiveOrder,
  type NaiveOutcome,
  type NaiveOwed,
  type NaivePaymentInLine,
  type NaivePosition,
  orderExtraMs,
  remaining,
  retentionMs
} from "./NaiveState.js"

/** Markets for which one tick makes marks. */
const tickedAtOnce = 16

/** Most orders that an operator's command cancels. */
const canceledByOperatorAtOnce = 64

/** Most open orders of one account in one market. */
const openOrderLimit = 200

/** The first of a record's order numbers for the venue's own orders; clients' orders have the numbers before it. */
const firstOwnOrder = 32

/** A command that names no market at all. */
const anyMarket = -2

const minuteMs = 60_000
const minutesOfDay = 1440

const abs = (value: bigint): bigint => (value < 0n ? -value : value)
const largestTotal = BigInt(Number.MAX_SAFE_INTEGER)

/** The largest opening credit, money atoms: half of the exact range, so that profits have room. */
const largestCredit = 2 ** 52

const signed = (side: Order.Side, size: number): number => (side === Order.buy ? size : -size)
const opposite = (side: Order.Side): Order.Side => (side === Order.buy ? Order.sell : Order.buy)
const sum = (sizes: ReadonlyArray<number>): number => sizes.reduce((total, size) => total + size, 0)

/** What a record leaves of a queue after visiting its first entries, and how many of those it forgets. */
const lookedThrough = <Waiting>(
  line: ReadonlyArray<Waiting>,
  atOnce: number,
  isDue: (one: Waiting) => boolean,
  isOver: (one: Waiting) => boolean
): { readonly forgotten: number; readonly left: ReadonlyArray<Waiting> } => {
  const notDue = line.slice(0, atOnce).findIndex((one) => !isDue(one))
  const looked = line.slice(0, notDue < 0 ? atOnce : notDue)
  const stay = looked.filter((one) => !isOver(one))
  return { forgotten: looked.length - stay.length, left: [...stay, ...line.slice(looked.length)] }
}

/** Whether a taker of `side` with this limit would trade at `price`. */
const crosses = (side: Order.Side, limit: number, price: number): boolean => side === Order.buy ? price <= limit : price >= limit

/** The taker fee of an incoming order: none for the venue's own. */
const takerFeeBps = (
  { parameters }: NaiveMarket,
  { by }: NaiveOrder
): number => (by === "client" || by === "closing" ? parameters.takerFeeBps : 0)

/** Account, operation and key: the scope of an Idempotency-Key. */
export const scopeOf = (account: number, operation: number, key: string): string => `${account}/${operation}/${key}`

/** The scope that a command is remembered under, or undefined where it carries no key. */
export const scopeOfCommand = (command: Command): string | undefined => {
  if (command.idempotencyKey === "") return undefined
  return isClient(command)
    ? scopeOf(command.account, command.operation, command.idempotencyKey)
    : `operator/${command.kind}/${command.idempotencyKey}`
}

const nothingCompared: NaiveCompared = {}

/** Why other parameters are those of another kind of market: it keeps its type and its grid for good. */
const otherKind = (now: Market.Parameters, next: Market.Parameters): NaiveOutcome | undefined => {
  if (next.marketType !== now.marketType) return refused(Refusal.marketInvalid, -1)
  const isOfGrid = next.priceScale === now.priceScale && next.quantityScale === now.quantityScale
  return isOfGrid ? undefined : refused(Refusal.marketScalesFixed, -1)
}

/** Why an order is refused, and the values compared. */
interface Refused {
  readonly refusal: Refusal
  readonly compared: NaiveCompared
}

const because = (refusal: Refusal, compared: NaiveCompared = nothingCompared): Refused => ({ refusal, compared })

/** Those of a refusal's compared values that exist, as decimals at a scale. A total that is not exact is left out. */
const told = (
  scale: number,
  limit: number | bigint | undefined,
  actual: number | bigint | undefined,
  nearest?: number | bigint
): NaiveCompared => {
  const texts = Object.entries({ limit, actual, nearest }).flatMap(([name, atoms]) =>
    atoms === undefined || abs(BigInt(atoms)) > largestTotal ? [] : [[name, decimalOf(atoms, scale)]]
  )
  return Object.fromEntries(texts) as NaiveCompared
}

/** The order at the nearest price or total that its refusal reported; undefined where it reported neither. */
const nearerOf = ({ parameters }: NaiveMarket, order: Checked, { compared: { nearest }, refusal }: Refused): Checked | undefined => {
  const scale = pricesTold.has(refusal) ? parameters.priceScale : sizesTold.has(refusal) ? parameters.quantityScale : undefined
  const atoms = nearest === undefined || scale === undefined ? undefined : atomsOf(nearest, scale)
  if (typeof atoms !== "number") return undefined
  return pricesTold.has(refusal) ? { ...order, price: atoms } : { ...order, total: atoms, quantity: atoms - order.filled }
}

/** Refusals that report a nearest price, and those that report a nearest total. */
const pricesTold: ReadonlySet<Refusal> = new Set([Refusal.priceOutOfBounds, Refusal.priceBandExceeded, Refusal.postOnlyWouldCross])
const sizesTold: ReadonlySet<Refusal> = new Set([Refusal.quantityOutOfBounds, Refusal.positionLimit, Refusal.reduceOnlyWouldIncrease,
  Refusal.marginInsufficient])

/** The values compared, without a nearest one where a smaller order would be refused as well. */
const lessWouldNotDo = ({ compared: { nearest: _nearest, ...compared } }: Refused): NaiveCompared => compared

/** Whole numbers that were compared. */
const counted = (limit: number, actual: number): NaiveCompared => ({ limit: String(limit), actual: String(actual) })

/** The values compared by a refusal of triggers. */
const faultTold = ({ parameters: { priceScale } }: NaiveMarket, { actual, limit, nearest }: AutoCloses.Fault): NaiveCompared =>
  told(priceScale, limit, actual, nearest)

/** Whether a cancel found nothing to cancel: such a decision is not remembered. */
const foundNothing = (command: Command, outcomes: ReadonlyArray<NaiveOutcome>): boolean =>
  command.kind === "CancelOrders" && outcomes.every(({ refusal }) => refusal !== Refusal.none)

const refused = (refusal: Refusal, orderNumber: number, compared: NaiveCompared = nothingCompared): NaiveOutcome => ({
  refusal,
  compared,
  orderNumber,
  status: Order.canceled,
  cancelReason: CancelReason.none,
  filled: 0,
  filledNotional: 0n,
  canceled: 0,
  left: 0,
  price: 0,
  quantity: 0
})

const done = (subject: number): NaiveOutcome => ({ ...refused(Refusal.none, subject), status: Order.open })

const stateOf = (order: NaiveOrder): NaiveOutcome => ({
  refusal: Refusal.none,
  compared: nothingCompared,
  orderNumber: order.number,
  status: order.status,
  cancelReason: order.cancelReason,
  filled: order.filled,
  filledNotional: order.filledNotional,
  canceled: order.canceled,
  left: 0,
  price: order.price,
  quantity: order.quantity
})

/** A change of a position, as its episode sees it. */
type Lived = Pick<NaiveHeldChange, "change" | "notional" | "realizedPnl" | "fee" | "reason" | "isFill">

export class NaiveVenue {
  sequence = 0
  atEpochMs = 0
  halted = false
  /** An order whose reported nearest value would be refused as well, in words. */
  misled: string | undefined
  /** How long decisions are remembered, and the time at which that was set: 0 for the initial value. */
  retentionMs = retentionMs
  retentionSinceEpochMs = 0
  /** The longest retention that was ever in force. */
  mostRetentionMs = retentionMs
  readonly accounts: Array<NaiveAccount> = []
  readonly markets: Array<NaiveMarket> = []
  readonly orders = new Map<number, NaiveOrder>()
  /** Accounts of the venue's own orders, by order number: parts of liquidations, and unwinding of the insurance fund. */
  readonly ownOrders = new Map<number, number>()
  /** The last decision of each scope. */
  readonly memory = new Map<string, NaiveMemory>()
  /** Earlier decisions of scopes that were decided anew after they had been forgotten. */
  readonly forgotten = new Map<string, Array<NaiveMemory>>()
  /** Every trade of the venue, oldest first. */
  readonly trades: Array<NaiveFill> = []
  /** Every price and every change of a position. */
  readonly history = new NaiveHistory()
  /** The last fence of each key and clientOrderId, by account and kind. */
  readonly #fences = new Map<string, NaiveFence>()
  /** The scopes in which each account used each key, fences excepted. */
  readonly #scopesOfKey = new Map<string, Set<string>>()
  /** The remembered result of each order's last amendment. */
  readonly #amendments = new Map<NaiveOrder, { readonly orders: Array<NaiveOrder> }>()
  /** When an amendment of an open order was followed by another of the same order, which replaces its memory. */
  readonly #superseded: Array<number> = []
  #fired: Array<number> = []
  #looked: Array<number> = []
  /** Whether the last record could examine anybody. */
  couldLook = false
  /** The venue's own orders sent by the current record. */
  #sent = 0
  readonly #liquidations: NaiveLiquidations
  /** Published steps of liquidations and of the insurance fund, and funding. */
  readonly published: NaivePublished
  readonly #settlements: NaiveSettlements
  /** Passkeys, sessions, grants and keys. */
  readonly identity: Identities.NaiveIdentity
  /** Money on the ledger. */
  readonly funds: Funds.NaiveFunds
  /** Take-profits and stop-losses. */
  readonly brackets: AutoCloses.NaiveBrackets
  /** Accounts with more to cancel than one record does: their orders below a number are as good as gone. */
  readonly #leaving = new Map<number, { readonly reason: Order.CancelReason; readonly before: number }>()
  /** Connections that cancel their orders when they end, with the account and the record that armed each. */
  readonly connections = new Map<number, number>()
  /** Those that have ended, in order. */
  readonly #over = new Set<number>()
  /** Flags of accounts, and affiliates. */
  readonly standings = new NaiveStandings()
  readonly #favorites = new Map<number, ReadonlyArray<number>>()
  /** Whether the current record left something that was due. */
  #isLate = false
  /** Resting orders met by the current record. */
  #met = 0
  /** Accounts that the record has already counted with the weight of their markets. */
  readonly #weighed = new Set<NaiveAccount>()
  /** Unsettled funding payments, oldest first, and how many positions the record may still visit for them. */
  readonly #line: Array<NaivePaymentInLine> = []
  #settlesLeft = 0
  #ticked = 0
  /** Money atoms of fees collected so far, by the venue's rules. */
  feesCollected = 0n
  deposited = 0n
  /** The number of episodes opened so far. */
  episodes = 0
  /** The last record that changed the public information on any market. */
  registrySequence = 0
  /** The last order of each account and clientOrderId: by then any earlier one had been forgotten. */
  readonly #clientOrderIds = new Map<string, NaiveOrder>()
  /** Ended orders that are not forgotten, in the order of their queue. */
  #ended: Array<NaiveEnded> = []
  /** Whether several of them were queued at one time since there was none. */
  #isQueuedAtOnce = false
  /** Keys and fences that are not forgotten, in the order of their queue. */
  readonly #keys = new Map<string, NaiveRemembered>()
  #touchedOrders = new Set<NaiveOrder>()
  #touchedAccounts = new Set<number>()
  #metEnough = new Set<number>()
  #fills: Array<NaiveFill> = []
  /** The number of changes of positions so far. */
  #changes = 0

  /**
   * Where a venue's records may leave margin checks to the next one: called with each record in turn, it returns which checks the record
   * did.
   */
  examine: ((record: Record) => Omit<NaiveExamined, "left">) | undefined
  /** Its result for the last record. */
  examined: NaiveExamined | undefined

  /**
   * `fillsKept`: how many of the venue's latest fills can be read. `endedAtOnce`: most orders that one record ends because they are due or
   * leave; an expired one counts twice. `metAtOnce`: most resting orders that the incoming orders of one record meet. `bounds`: one
   * record's work for accounts under liquidation; `triggerBounds`: its work for triggers. `identityBounds`: most passkeys, sessions and
   * keys of an account. `noticeMs`: least notice for tighter margins. `kept`: how much of the published lists is kept. `forgottenAtOnce`:
   * most ended orders that one record visits to forget them. `countedAtOnce`: most accounts of a market among which one record counts
   * those that an announcement would affect. `marketsInOne`: an account counts once for every so many markets that it has entered.
   * `settledAtOnce`: positions whose funding one record settles beside its own purpose. `fundsBounds`: how many transfers are kept.
   * `finalMinutes`: whole minutes before the running one that a final price averages. `clearedAtOnce`: most orders beyond the price band
   * that one record cancels. `mostInLine`: payments of a market that wait to be settled.
   */
  constructor(
    readonly fillsKept = 131_072,
    readonly endedAtOnce = 128,
    readonly metAtOnce = 384,
    bounds: Bounds = venueBounds,
    triggerBounds: AutoCloses.Bounds = AutoCloses.venueBounds,
    readonly noticeMs = 86_400_000,
    kept: Kept = venueKept,
    readonly forgottenAtOnce = 64,
    readonly countedAtOnce = 256,
    identityBounds: Partial<Identities.Bounds> = Identities.venueBounds,
    readonly marketsInOne = 8,
    readonly settledAtOnce = 256,
    fundsBounds: Partial<Funds.Bounds> = {},
    readonly finalMinutes = 30,
    readonly clearedAtOnce = 64,
    readonly mostInLine = 8
  ) {
    this.published = new NaivePublished(kept)
    this.identity = new Identities.NaiveIdentity(this.#aroundIdentity(), identityBounds, this.history)
    this.funds = new Funds.NaiveFunds(this.#aroundFunds(), { ...Funds.venueBounds, ...fundsBounds }, this.history)
    this.#liquidations = new NaiveLiquidations({
      accounts: this.accounts,
      markets: this.markets,
      now: () => this.atEpochMs,
      sequence: () => this.sequence,
      changes: () => this.#changes,
      met: () => this.#met,
      mostMet: this.metAtOnce,
      beyondOne: (account) => this.#beyondOne(account),
      weight: (account) => this.#weight(account),
      published: this.published,
      entered: this.#entered,
      cancelAll: (account) => void this.#cancelAll(account, anyMarket, CancelReason.liquidation, this.endedAtOnce),
      send: (account, market, change, limit) =>
        this.#sendOwn(account, market, change, limit, account.born === insuranceFundBorn ? "unwinding" : "liquidation"),
      change: (account, market, change, price) => this.#exchange(account, market, change, price),
      pay: (from, to, amount, market, cause) => {
        this.#credit(from, -amount, cause, market.index)
        this.#credit(to, amount, cause, market.index)
      },
      openFund: () => this.#fund(),
      halt: (market) => {
        this.#moveTo(market, "halted")
        this.#show(market)
      },
      touch: ({ index }) => void this.#touchedAccounts.add(index)
    }, bounds)
    this.#settlements = new NaiveSettlements(
      {
        accounts: this.accounts,
        markets: this.markets,
        now: () => this.atEpochMs,
        cancelNext: (market) => this.#cancelDelisted(market),
        change: (account, market, change, price) => this.#exchange(account, market, change, price),
        beyondOne: (account) => this.#beyondOne(account),
        show: (market) => this.#show(market)
      },
      this.#liquidations,
      bounds,
      endedAtOnce
    )
    this.brackets = new AutoCloses.NaiveBrackets({
      accounts: this.accounts,
      markets: this.markets,
      now: () => this.atEpochMs,
      sequence: () => this.sequence,
      isHalted: () => this.halted,
      sent: () => this.#sent,
      met: () => this.#met,
      meets: (market, change, limit) => {
        const side = change > 0 ? Order.buy : Order.sell
        const best = this.#best(market, opposite(side))
        return best !== undefined && (limit === 0 || crosses(side, limit, best.price)) && this.#withinBand(market, best.price)
      },
      send: (account, market, change, limit) => void this.#sendOwn(account, market, change, limit === 0 ? undefined : limit, "closing")
    }, triggerBounds)
  }

  #aroundIdentity(): Identities.Surroundings {
    return {
      now: () => this.atEpochMs,
      sequence: () => this.sequence,
      openAccount: () => {
        const account = this.#openAccount(ordinal(this.sequence, 0), 0n)
        account.waitsForCredit = true
        return account.index
      }
    }
  }

  #aroundFunds(): Funds.Surroundings {
    return {
      now: () => this.atEpochMs,
      sequence: () => this.sequence,
      isDisabled: (account) => this.standings.isDisabled(account),
      collateral: (account) => this.#settled(account).collateral,
      withdrawable: (account) => this.#withdrawable(this.#settled(account)),
      pay: (account, amount, cause) => this.#credit(this.accounts[account]!, amount, cause, -1),
      enable: (account) => {
        this.accounts[account]!.waitsForCredit = false
      },
      passkey: (credentialId) => this.identity.passkeys.find((passkey) => passkey.credentialId === credentialId),
      usePasskey: (credentialId, signCount) => this.identity.use(credentialId, signCount),
      note: (account, kind, credentialId, remoteAddress, detail) => this.identity.note(account, kind, credentialId, remoteAddress, detail)
    }
  }

  /** The expected result of a record. Records come in order, each once. */
  apply(record: Record): NaiveDecision {
    const { command } = record
    this.#touchedOrders = new Set()
    this.#touchedAccounts = new Set()
    this.#metEnough = new Set()
    this.#fills = []
    const illegal = this.#illegal(record)
    this.#fired = []
    this.#looked = []
    this.couldLook = false
    this.#sent = 0
    this.#ticked = 0
    this.sequence = record.sequence
    this.atEpochMs = record.atEpochMs
    this.#forget()
    this.#forgetKeys()
    this.identity.forgetKeys()
    this.#met = 0
    this.#weighed.clear()
    this.#isLate = false
    this.#liquidations.beginRecord()
    this.#settlements.beginRecord()
    // A process that has just started has no connections.
    if (command.kind === "StartVenue") { for (const connection of this.connections.keys()) this.#over.add(connection) }
    this.#doWhatIsDue(command.account)
    // Resting orders met by the venue's own orders do not count for the command's.
    this.#met = 0
    this.#weighed.clear()
    const outcomes = this.#decide(command)
    const examined = this.examine?.(record)
    const left = this.#liquidations.begin(examined?.under)
    this.examined = examined === undefined ? undefined : { ...examined, left }
    for (const market of new Set(this.#fills.map(({ market }) => market))) this.brackets.look(this.markets[market]!, 1)
    const scope = scopeOfCommand(command)
    if (scope !== undefined) {
      const resulted = command.kind === "PlaceOrders" || command.kind === "AmendOrder"
      const orders = outcomes.flatMap((outcome) => {
        const order = resulted && outcome.refusal === Refusal.none ? this.orders.get(outcome.orderNumber) : undefined
        return order === undefined ? [] : [order]
      })
      const before = this.memory.get(scope)
      if (before !== undefined) this.forgotten.set(scope, [...this.forgotten.get(scope) ?? [], before])
      if (isClient(command) && command.kind !== "FenceOutcome") {
        const name = `${command.account}/${command.idempotencyKey}`
        this.#scopesOfKey.set(name, (this.#scopesOfKey.get(name) ?? new Set()).add(scope))
      }
      // Only the last amendment of an order is kept as long as the order is open.
      const amended = command.kind === "AmendOrder" ? orders.find(({ status }) => status === Order.open) : undefined
      const kept = !foundNothing(command, outcomes)
      const memory = { kept, sequence: record.sequence, atEpochMs: record.atEpochMs, retentionMs: this.retentionMs, outcomes, orders }
      if (amended !== undefined) {
        const before = this.#amendments.get(amended)
        if (before !== undefined && before.orders.splice(0).length > 0) this.#superseded.push(record.atEpochMs)
        this.#amendments.set(amended, memory)
      }
      this.mostFurther += outcomes.length - 1
      this.memory.set(scope, memory)
      if (kept) {
        this.#keep(scope, {
          account: command.account,
          outcomes: outcomes.length,
          retentionMs: this.retentionMs,
          isOver: (atEpochMs) => !this.isRemembered(memory, atEpochMs)
        })
      }
    }
    return {
      outcomes,
      fills: this.#fills,
      touchedOrders: this.#touchedOrders,
      touchedAccounts: this.#touchedAccounts,
      metEnough: this.#metEnough,
      illegal,
      ticked: this.#ticked,
      fired: this.#fired,
      looked: this.#looked,
      examined: this.examined
    }
  }

  /** When accounts under liquidation and the insurance fund are due to be examined, in the order of examination. */
  get looks(): ReadonlyArray<{ readonly account: NaiveAccount; readonly atEpochMs: number }> {
    return this.#liquidations.moments
  }

  /** When an account is examined next; 0 where it is neither under liquidation nor an insurance fund with a position. */
  nextLookEpochMs(account: NaiveAccount): number {
    return this.looks.find((look) => look.account === account)?.atEpochMs ?? 0
  }

  /** When the settlement of a delisted market continues; `Infinity` where there is none. */
  get nextSettlementEpochMs(): number {
    return this.#settlements.nextEpochMs
  }

  /** Whether funding payments are unsettled. */
  get isSettling(): boolean {
    return this.#line.length > 0
  }

  /** Money that belongs to no account yet: rounding remainders of unsettled payments. */
  get fundingRest(): bigint {
    return this.#line.reduce((all, { rest }) => all + rest, 0n)
  }

  /** Accounts with a funding payment that is still to be entered. */
  get owing(): ReadonlySet<NaiveAccount> {
    return new Set(this.#line.flatMap(({ owed }) => [...owed.keys()]))
  }

  /** Payments that took effect with the last record and are still to be entered: markets with their accounts. */
  get newlyOwed(): ReadonlyArray<readonly [market: NaiveMarket, accounts: ReadonlyArray<NaiveAccount>]> {
    return this.#line.filter(({ funding }) => funding.sequence === this.sequence).map(({ market, owed }) => [market, [...owed.keys()]])
  }

  /** Whether examinations are suspended: under a halt, while funding is settled, and while orders beyond a band are left. */
  get areLooksPut(): boolean {
    return this.halted || this.isSettling || this.isClearing
  }

  /** Whether the decision of a scope must still be remembered at a time. */
  isRemembered(memory: NaiveMemory, atEpochMs: number): boolean {
    if (!memory.kept) return false
    let ended = memory.atEpochMs
    for (const order of memory.orders) {
      if (order.status === Order.open) return true
      if (order.endedAtEpochMs > ended) ended = order.endedAtEpochMs
    }
    return atEpochMs < ended + memory.retentionMs
  }

  /**
   * The decision of a scope that an answer refers to. That is the last one, unless the scope was decided anew, because the first decision
   * had been forgotten or was a cancel that found nothing: then it is the one whose record or time the answer names. Records with equal
   * times are told apart by the record in the answer's own id, where it has one.
   */
  recall(scope: string, answer: string, named: number | undefined): NaiveMemory | undefined {
    const last = this.memory.get(scope)
    const before = this.forgotten.get(scope)
    if (last === undefined || before === undefined) return last
    const exact = [last, ...before].find(({ sequence }) => sequence === named)
    if (exact !== undefined) return exact
    const told = new Set(
      [...answer.matchAll(/"(?:lastSequence|occurredAtEpochMs|decidedAtEpochMs|timestamp)":([0-9]+)/g)].map((match) => Number(match[1]))
    )
    return [last, ...[...before].reverse()].find((memory) => told.has(memory.sequence) || told.has(memory.atEpochMs)) ?? last
  }

  /** Every decision under a key of an account, remembered or not; fences excepted. */
  everDecided(account: number, key: string): ReadonlyArray<NaiveMemory> {
    return [...this.#scopesOfKey.get(`${account}/${key}`) ?? []].flatMap((scope) => [
      ...this.forgotten.get(scope) ?? [],
      this.memory.get(scope)!
    ])
  }

  /** How many amendments were replaced by another of the same order since a time; until then they were kept. */
  supersededSince(atEpochMs: number): number {
    return this.#superseded.filter((each) => each >= atEpochMs).length
  }

  /** The number of orders that must be remembered at a time. */
  keptOrders(atEpochMs: number): number {
    return [...this.orders.values()].filter((order) => isKept(order, atEpochMs)).length
  }

  /** The number of keys and fences there may be at most. */
  get mostKeys(): number {
    return this.memory.size + this.#fences.size
  }

  /** The number of outcomes beyond the first of each key there may be at most. */
  mostFurther = 0

  /**
   * The number of keys and fences that must be remembered at a time, and of outcomes beyond the first of each. For a past time this
   * includes decisions of keys that have been decided anew since.
   */
  keptKeys(atEpochMs: number): { readonly keys: number; readonly further: number } {
    const all = [...this.memory.values(), ...[...this.forgotten.values()].flat()]
    const kept = all.filter((memory) => this.isRemembered(memory, atEpochMs))
    const fences = [...this.#fences.values()].filter((fence) => atEpochMs < fence.holdsUntilEpochMs)
    return { keys: kept.length + fences.length, further: sum(kept.map(({ outcomes }) => outcomes.length - 1)) }
  }

  /**
   * The keys and fences, and the orders, that are held behind the last record, whether or not their retention is over. Orders: undefined
   * from when several are queued at one time, since nothing says in which order and one that is looked at later holds up those behind it,
   * until none is queued.
   */
  get held(): { readonly keys: number; readonly orders: number | undefined } {
    const orders = this.#ended.length + sum(this.accounts.map(({ open }) => open.length))
    return { keys: this.#keys.size, orders: this.#isQueuedAtOnce ? undefined : orders }
  }

  /** The orders that a record of a time finds after it has forgotten: in all, and of an account. */
  ordersFound(account: number, atEpochMs: number): NaiveFound {
    const isOver = ({ order }: NaiveEnded): boolean => !isKept(order, atEpochMs)
    const isDue = (ended: NaiveEnded): boolean => this.#orderLookEpochMs(ended) <= atEpochMs || isOver(ended)
    const { forgotten, left } = lookedThrough(this.#ended, this.forgottenAtOnce, isDue, isOver)
    const open = this.accounts.map(({ open }) => open.length)
    return {
      all: left.length + sum(open),
      own: left.filter(({ order }) => order.account === account).length + open[account]!,
      mayBeLess: forgotten === this.forgottenAtOnce
    }
  }

  /**
   * The keys that a record of a time finds after it has forgotten: in all, or their outcomes beyond the first of each where these are
   * more; and outcomes of an account.
   */
  keysFound(account: number, atEpochMs: number): NaiveFound {
    const isDue = (key: NaiveRemembered): boolean => this.#keyLookEpochMs(key) <= atEpochMs
    const { forgotten, left } = lookedThrough([...this.#keys.values()], this.forgottenAtOnce, isDue, (key) => key.isOver(atEpochMs))
    return {
      all: Math.max(left.length, sum(left.map(({ outcomes }) => outcomes - 1))),
      own: sum(left.map((key) => key.account === account ? key.outcomes : 0)),
      mayBeLess: forgotten === this.forgottenAtOnce
    }
  }

  /** When a record visits an ended order, unless its retention is over earlier. */
  #orderLookEpochMs({ order, queuedAtEpochMs }: NaiveEnded): number {
    return queuedAtEpochMs + Math.min(order.retentionMs, this.retentionMs) + orderExtraMs
  }

  /** When a record visits a key. */
  #keyLookEpochMs({ queuedAtEpochMs, retentionMs }: NaiveRemembered): number {
    return queuedAtEpochMs + Math.min(retentionMs, this.retentionMs)
  }

  /** Adds a key at the end of the queue; one whose retention is over and which is not forgotten yet keeps its place. */
  #keep(scope: string, key: Omit<NaiveRemembered, "queuedAtEpochMs">): void {
    this.#keys.set(scope, { ...key, queuedAtEpochMs: this.#keys.get(scope)?.queuedAtEpochMs ?? this.atEpochMs })
  }

  /** Visits the first keys in their queue, as it does ended orders. */
  #forgetKeys(): void {
    let looks = 0
    // A key that goes to the end of the queue is not due again, so the walk ends before it comes to it.
    for (const [scope, key] of this.#keys) {
      if (looks++ === this.forgottenAtOnce || this.#keyLookEpochMs(key) > this.atEpochMs) return
      this.#keys.delete(scope)
      if (!key.isOver(this.atEpochMs)) this.#keys.set(scope, { ...key, queuedAtEpochMs: this.atEpochMs })
    }
  }

  /**
   * When a record next visits the first of the queue of keys or of ended orders, whether or not its retention is over; `Infinity` where
   * both are empty.
   */
  get nextForgettingEpochMs(): number {
    const [key] = this.#keys.values()
    const [ended] = this.#ended
    return Math.min(
      key === undefined ? Number.POSITIVE_INFINITY : this.#keyLookEpochMs(key),
      ended === undefined ? Number.POSITIVE_INFINITY : Math.min(this.#orderLookEpochMs(ended), keptUntilEpochMs(ended.order))
    )
  }

  /** Whether the retention of anything remembered is over at a time. */
  hasForgettable(atEpochMs: number): boolean {
    const everKept = [...this.memory.values()].filter(({ kept }) => kept).length + this.#fences.size
    return this.keptKeys(atEpochMs).keys < everKept || this.keptOrders(atEpochMs) < this.orders.size
  }

  /** Whether the retention of a key, a fence or an order of the account is over at a time, so that it may have been forgotten. */
  mayHaveForgotten(account: number, atEpochMs: number): boolean {
    const mine = `${account}/`
    for (const [scope, memory] of this.memory) {
      if (scope.startsWith(mine) && memory.kept && !this.isRemembered(memory, atEpochMs)) return true
    }
    for (const [name, fence] of this.#fences) {
      if (name.startsWith(mine) && atEpochMs >= fence.holdsUntilEpochMs) return true
    }
    for (const [scope, memories] of this.forgotten) if (scope.startsWith(mine) && memories.some(({ kept }) => kept)) return true
    // An order may be forgotten while its key is kept by a sibling that is still open.
    for (const order of this.orders.values()) if (order.account === account && !isKept(order, atEpochMs)) return true
    return false
  }

  /** Whether a key or a clientOrderId of an account is fenced at a time. */
  isFenced(account: number, what: "key" | "clientOrderId", name: string, atEpochMs: number): boolean {
    const fence = this.fence(account, what, name)
    return fence !== undefined && atEpochMs < fence.holdsUntilEpochMs
  }

  /** The last fence of a key or a clientOrderId, in force or not. */
  fence(account: number, what: "key" | "clientOrderId", name: string): NaiveFence | undefined {
    return this.#fences.get(`${account}/${what}/${name}`)
  }

  /** Whether a key or a clientOrderId was ever fenced. */
  wasFenced(account: number, what: "key" | "clientOrderId", name: string): boolean {
    return this.fence(account, what, name) !== undefined
  }

  /**
   * Visits the first ended orders in their queue, up to a bound and up to the first that is not due. Those whose retention is over are
   * forgotten, the others go to the end of the queue.
   */
  #forget(): void {
    for (let looks = 0; looks < this.forgottenAtOnce; looks++) {
      const first = this.#ended[0]
      if (first === undefined) return
      const { order } = first
      const isOver = !isKept(order, this.atEpochMs)
      if (this.#orderLookEpochMs(first) > this.atEpochMs && !isOver) return
      this.#ended.shift()
      if (!isOver) this.#queue(order)
    }
  }

  /** Has an order that has ended wait for being forgotten. */
  #queue(order: NaiveOrder): void {
    const last = this.#ended.at(-1)
    this.#isQueuedAtOnce = last !== undefined && (this.#isQueuedAtOnce || last.queuedAtEpochMs === this.atEpochMs)
    this.#ended.push({ order, queuedAtEpochMs: this.atEpochMs })
  }

  /** Extends an order's retention to the one in force, when it is placed or amended or ends. */
  #promise(order: NaiveOrder): void {
    order.retentionMs = Math.max(order.retentionMs, this.retentionMs)
  }

  /** Whether the account has an order with a clientOrderId that is not forgotten. */
  #isNamed(account: number, clientOrderId: string): boolean {
    const order = this.#clientOrderIds.get(`${account}/${clientOrderId}`)
    return order !== undefined && (isKept(order, this.atEpochMs) || this.#ended.some((ended) => ended.order === order))
  }

  /** The account's last order with a clientOrderId, if it is still kept at a time. */
  keptOrder(account: number, clientOrderId: string, atEpochMs: number): NaiveOrder | undefined {
    const order = this.#clientOrderIds.get(`${account}/${clientOrderId}`)
    return order !== undefined && isKept(order, atEpochMs) ? order : undefined
  }

  /** Those of some fills that the venue still keeps: the latest of the venue. */
  retained(fills: ReadonlyArray<NaiveFill>): ReadonlyArray<NaiveFill> {
    const oldest = this.trades.length - this.fillsKept
    return oldest <= 0 ? fills : fills.filter((fill) => fill.ordinal >= oldest)
  }

  /** Every fill of an account, oldest first. */
  fillsOf(account: number): ReadonlyArray<NaiveFill> {
    return this.trades.filter((fill) => fill.maker.account === account || fill.taker.account === account)
  }

  /** A market's trading in the 24 h up to a time. */
  day(market: Pick<NaiveMarket, "factor" | "lastPrice" | "trades">, atEpochMs: number): NaiveDay {
    const minuteOf = (time: number): number => Math.floor(time / minuteMs)
    const now = minuteOf(atEpochMs)
    const recent = market.trades.filter((fill) => minuteOf(fill.atEpochMs) > now - minutesOfDay)
    const older = market.trades.filter((fill) => minuteOf(fill.atEpochMs) <= now - minutesOfDay)
    const open = (older.at(-1) ?? market.trades[0])?.price ?? 0
    return {
      volumeQuote: recent.reduce((total, fill) => total + BigInt(fill.size) * BigInt(fill.price) * market.factor, 0n),
      volumeBase: recent.reduce((total, fill) => total + BigInt(fill.size), 0n),
      high: recent.reduce((most, fill) => Math.max(most, fill.price), 0),
      low: recent.reduce((least, fill) => (least === 0 ? fill.price : Math.min(least, fill.price)), 0),
      open,
      changeBps: open === 0 ? 0 : Math.trunc(((market.lastPrice - open) * 10_000) / open)
    }
  }

  /** Whether an order rests beyond its edge of a band, by default the market's: a bid above the top, or an offer below the bottom. */
  isBeyondEdge(order: NaiveOrder, bandBps: number = this.markets[order.market]!.parameters.priceBandBps): boolean {
    const market = this.markets[order.market]!
    // Nothing trades in a delisted market: its orders are cancelled for that reason.
    if (market.mark === 0 || isDelisted(market)) return false
    const { lower, upper } = this.band(market, bandBps)
    return order.side === Order.buy ? BigInt(order.price) > upper : BigInt(order.price) < lower
  }

  /** Whether orders beyond the band are left in a market, so that nothing may be placed there. */
  isBeingCleared(market: number): boolean {
    return this.markets[market]?.resting.some((order) => this.isBeyondEdge(order)) === true
  }

  /** Whether orders beyond the band are left in any market. */
  get isClearing(): boolean {
    return this.markets.some(({ index }) => this.isBeingCleared(index))
  }

  /** Whether a record of a time puts announced parameters into effect with whose band some orders lie beyond an edge. */
  comesToBeCleared(market: number, atEpochMs: number): boolean {
    const { announced, resting = [] } = this.markets[market] ?? {}
    if (announced === undefined || announced.effectiveAtEpochMs > atEpochMs) return false
    return resting.some((order) => this.isBeyondEdge(order, announced.parameters.priceBandBps))
  }

  /** Cancels orders beyond the band, market by market, the furthest out first, at a price the oldest first. */
  #clear(): void {
    let left = this.clearedAtOnce
    for (const market of this.markets) {
      for (;;) {
        const next = [this.#best(market, Order.buy), this.#best(market, Order.sell)]
          .find((order) => order !== undefined && this.isBeyondEdge(order))
        if (next === undefined) break
        if (left-- === 0) return
        this.#cancel(next, this.#endsFor(next, CancelReason.priceBandExceeded))
      }
    }
  }

  /** Sets a market's session, advanced to the present; does nothing where that changes nothing. */
  #setSession(market: NaiveMarket, said: NaiveSession): void {
    const by = Risk.sessionBy(said, this.atEpochMs)
    const { session } = market
    const isSame = session !== undefined && session.state === by.state && session.opens === by.opens && session.closes === by.closes
      && session.cutoff === by.cutoff
    if (isSame) return
    if (Risk.sessionOf(market) === "closed" && by.state !== "closed") Risk.comesBack(market, this.atEpochMs)
    market.session = { ...by, asOf: this.atEpochMs }
    this.#show(market)
  }

  /** Does what is due: sessions; dead-man switches by moment, then account; expiries by moment, then order; then orders beyond a band. */
  #doWhatIsDue(account = -1): void {
    for (const market of this.markets) if (market.session !== undefined) this.#setSession(market, market.session)
    this.#settlesLeft = this.settledAtOnce
    let left = this.endedAtOnce
    for (const [index, { before, reason }] of this.#leaving) {
      left -= this.#cancelOldest(this.accounts[index]!, before, reason, left)
      if (left === 0) break
      this.#leaving.delete(index)
    }
    left -= this.#cancelLost(left)
    if (!this.halted) {
      this.#doWhatIsTimed(left, this.accounts[account])
      this.#takeAnnounced()
      for (const market of this.markets) {
        const { delisting } = market
        if (delisting?.state !== "announced" || delisting.effectiveAtEpochMs > this.atEpochMs) continue
        // A minute too late there are no marks, or too few, of which its final price could be made: they are awaited from now on.
        if (this.atEpochMs < delisting.effectiveAtEpochMs + minuteMs) this.#beginDelisting(market)
        else {
          delisting.effectiveAtEpochMs = this.atEpochMs + Math.max(this.finalMinutes, 1) * minuteMs
          this.#show(market)
        }
      }
    }
    this.#clear()
    this.#settleSome()
    for (const touched of this.funds.doWhatIsDue()) this.#touchedAccounts.add(touched)
    if (!this.halted && !this.isSettling) this.#settlements.run()
    if (this.areLooksPut) return
    this.couldLook = true
    this.#looked.push(...this.#liquidations.look())
    this.brackets.run()
  }

  /** How many armed connections have not ended. */
  get armed(): number {
    return [...this.connections.keys()].filter((connection) => this.#armedFor(connection) !== undefined).length
  }

  /** The account of an armed connection that has not ended; undefined for any other. */
  #armedFor(connection: number): number | undefined {
    return this.#over.has(connection) ? undefined : this.connections.get(connection)
  }

  /** Open orders of ended connections, by when the connection ended, then by placement. */
  #lost(): ReadonlyArray<NaiveOrder> {
    if (this.#over.size === 0) return []
    const ended = [...this.#over]
    const turn = ({ connection }: NaiveOrder): number => ended.indexOf(connection!)
    return this.accounts
      .flatMap(({ open }) => open.filter(({ connection }) => connection !== undefined && this.#over.has(connection)))
      .sort((one, other) => turn(one) - turn(other) || one.number - other.number)
  }

  /** Cancels up to `atMost` of them. Returns how many. */
  #cancelLost(atMost: number): number {
    const lost = this.#lost().slice(0, Math.max(0, atMost))
    for (const order of lost) this.#cancel(order, CancelReason.disconnected)
    return lost.length
  }

  #setRetention(millis: number): NaiveOutcome {
    this.retentionMs = millis
    this.retentionSinceEpochMs = this.atEpochMs
    this.mostRetentionMs = Math.max(this.mostRetentionMs, millis)
    return done(-1)
  }

  #endConnection(connection: number): NaiveOutcome {
    if (this.connections.has(connection)) this.#over.add(connection)
    this.#cancelLost(this.endedAtOnce)
    return done(-1)
  }

  #isDue(atEpochMs: number): boolean {
    return atEpochMs !== 0 && atEpochMs <= this.atEpochMs
  }

  /** Does the timed work of one record, up to `atMost` orders; then fires the sender's own switch if it is still due. */
  #doWhatIsTimed(atMost: number, sender: NaiveAccount | undefined): void {
    let left = atMost
    const switches = this.accounts
      .filter((account) => this.#isDue(account.cancelAllAtEpochMs))
      .sort((a, b) => a.cancelAllAtEpochMs - b.cancelAllAtEpochMs || a.index - b.index)
    for (const account of switches) {
      this.#isLate ||= left <= 0
      if (left <= 0) break
      left -= Math.max(1, this.#fire(account, left))
    }
    const expired = this.accounts
      .flatMap((account) => account.open.filter((order) => this.#isDue(order.expiresAtEpochMs)))
      .sort((a, b) => a.expiresAtEpochMs - b.expiresAtEpochMs || a.number - b.number)
    for (const order of expired) {
      this.#isLate ||= left <= 0
      if (left <= 0) break
      this.#cancel(order, CancelReason.expired)
      left -= 2
    }
    if (sender !== undefined && this.#isDue(sender.cancelAllAtEpochMs)) this.#fire(sender, this.endedAtOnce)
  }

  /** Fires an account's switch. Returns how many orders it cancelled at once. */
  #fire(account: NaiveAccount, atMost: number): number {
    account.cancelAllAtEpochMs = 0
    this.#fired.push(account.index)
    return this.#cancelAll(account, anyMarket, CancelReason.cancelAllAfter, atMost).now
  }

  /** Whether the last record left due work to the next one. */
  get isBehind(): boolean {
    return this.#isLate || this.#leaving.size > 0 || this.#lost().length > 0 || this.isSettling
  }

  /** Why a resting order is as good as gone; `none` where it is not. */
  leavesFor(order: NaiveOrder): Order.CancelReason {
    if (this.#isLost(order)) return CancelReason.disconnected
    const leaver = this.#leaving.get(order.account)
    if (leaver !== undefined && order.number < leaver.before) return leaver.reason
    if (this.halted) return CancelReason.none
    if (this.#isDue(this.accounts[order.account]!.cancelAllAtEpochMs)) return CancelReason.cancelAllAfter
    return this.#isDue(order.expiresAtEpochMs) ? CancelReason.expired : CancelReason.none
  }

  /** Why an order ends: the given reason, unless it is as good as gone for another. */
  #endsFor(order: NaiveOrder, reason: Order.CancelReason): Order.CancelReason {
    const leaves = this.leavesFor(order)
    return leaves === CancelReason.none ? reason : leaves
  }

  #illegal(record: Record): string | undefined {
    const { command } = record
    if (this.halted && isStopped(command)) return "a trading command was journaled under a global halt"
    if (isClient(command) && command.kind !== "FenceOutcome" && command.idempotencyKey !== "") {
      const { account, idempotencyKey } = command
      if (this.isFenced(account, "key", idempotencyKey, record.atEpochMs)) return `key ${idempotencyKey} was fenced and journaled`
    }
    if (command.kind === "PlaceOrders" && command.connection !== -1 && this.#armedFor(command.connection) !== command.account) {
      return `an order was taken over connection ${command.connection}, which was not armed for its account`
    }
    const amended = command.kind === "AmendOrder" ? this.orders.get(command.orderNumber) : undefined
    const places = command.kind === "PlaceOrders"
      ? command.entries.map(({ market }) => market)
      : amended?.status === Order.open && amended.account === record.command.account
      ? [amended.market]
      : []
    const clearing = places.find((market) => this.isBeingCleared(market))
    if (clearing !== undefined) return `an order was taken in market ${clearing}, which was being cleared`
    const cleared = places.find((market) => this.comesToBeCleared(market, record.atEpochMs))
    if (cleared !== undefined) return `an order was taken in market ${cleared} by a record that takes a band which leaves orders behind`
    const scope = scopeOfCommand(command)
    const known = scope === undefined ? undefined : this.memory.get(scope)
    if (known !== undefined && this.isRemembered(known, record.atEpochMs)) {
      return `the key of record ${known.sequence} was journaled again`
    }
    return undefined
  }

  #resume(): ReadonlyArray<NaiveOutcome> {
    if (!this.halted) return [done(-1)]
    for (const market of this.markets) Risk.comesBack(market, this.atEpochMs)
    this.halted = false
    // Everything that fell due under the halt is done before anything can match again.
    this.#doWhatIsDue()
    return [done(-1)]
  }

  #decide(command: Command): ReadonlyArray<NaiveOutcome> {
    if (Identities.isOfIdentity(command)) return [this.#identify(command)]
    if (Funds.isOfFunds(command)) return [this.#moveFunds(command)]
    switch (command.kind) {
      case "PlaceOrders":
        return command.entries.map((entry, index) => this.#place(command, entry, ordinal(this.sequence, index)))
      case "CancelOrders":
        return command.entries.map((entry) => this.#cancelByUser(command.account, entry))
      case "AmendOrder":
        return [this.#amend(command)]
      case "CancelAllOrders": {
        if (command.market !== anyMarket && this.#listed(command.market) === undefined) return [refused(Refusal.marketNotFound, -1)]
        const canceled = this.#cancelAll(this.accounts[command.account]!, command.market, CancelReason.user, this.endedAtOnce).all
        return [{ ...done(-1), canceled }]
      }
      case "SetCancelAllAfter":
        this.accounts[command.account]!.cancelAllAtEpochMs = command.timeoutMs === 0 ? 0 : this.atEpochMs + command.timeoutMs
        this.#touchedAccounts.add(command.account)
        return [done(-1)]
      case "FenceOutcome":
        return [this.#fence(command)]
      case "CancelByOperator":
        return [this.#cancelByOperator(command)]
      case "NoteKeyUses":
      case "PassTime":
      case "OpenVenue":
      case "StartVenue":
        return [done(-1)]
      case "ArmConnection":
        this.connections.set(this.sequence, command.account)
        return [done(-1)]
      case "EndConnection":
        return [this.#endConnection(command.connection)]
      case "SetDisplayHandle":
        return [this.#name(this.accounts[command.account]!, command.chosen)]
      case "SetAutoClose":
        return [this.#setAutoClose(this.accounts[command.account]!, command)]
      case "SetFavorite":
        return [this.#setFavorite(command)]
      case "SetLeverage":
        return [this.#setLeverage(this.accounts[command.account]!, command.market, command.leverageX)]
      case "PutMarket":
        return [this.#putMarket(command.parameters, command.effectiveAtEpochMs)]
      case "SetMarketStatus":
        return [this.#setStatus(this.markets[command.market], command.status)]
      case "SetIndexPrice":
        return [this.#takeIndexPrice(command)]
      case "DelistMarket":
        return [this.#delist(command)]
      case "SetMarketSession":
        return [this.#journalSession(command)]
      case "MarkTick":
        this.#tick()
        return [done(-1)]
      case "HaltEngine":
        this.halted = true
        return [done(-1)]
      case "ResumeEngine":
        return this.#resume()
      case "SetLimits":
        return [this.#setRetention(command.retentionMs)]
      case "OpenDemoAccounts":
        return this.#openAccounts(command)
      case "AddToFund":
        return [this.#addToFund(BigInt(command.amountAtoms))]
      case "CreditAccount":
        return [this.#creditAccount(command)]
      case "SetAccountFlags":
        return [this.#setFlags(command)]
      case "RegisterAffiliate":
        this.standings.register(command.account, this.atEpochMs)
        return [done(-1)]
    }
  }

  #takeIndexPrice({ market: index, priceAtoms, sourceEpochMs }: CommandOfKind<"SetIndexPrice">): NaiveOutcome {
    const market = this.markets[index]
    if (market === undefined) return refused(Refusal.marketUnknown, -1)
    if (isDelisted(market)) return refused(Refusal.marketDelisted, -1)
    const sampled = Risk.takeSample(market, priceAtoms, sourceEpochMs, this.atEpochMs)
    if (sampled === undefined) {
      const { atEpochMs, sequence } = this
      this.history.prices.push({ series: "index", market: index, sequence, atEpochMs, price: priceAtoms, size: 0 })
    }
    // Until the first tick, the first index price is the mark.
    if (sampled === undefined && market.mark === 0) market.mark = priceAtoms
    this.#clear()
    if (sampled === undefined) this.brackets.look(market, 2)
    return sampled === undefined ? done(-1) : this.#refusedSample(market, sampled)
  }

  #identify(command: Identities.IdentityCommand): NaiveOutcome {
    const came = this.identity.decide(command)
    if ("account" in came) {
      this.#touchedAccounts.add(came.account)
      if (command.kind === "IssueBotKey") this.history.bots.push({ account: came.account, sequence: this.sequence })
      return done(came.account)
    }
    const { actual, limit, noted, refusal } = came
    if (noted !== undefined) this.#touchedAccounts.add(noted)
    if (command.account >= 0) this.#touchedAccounts.add(command.account)
    return refused(refusal, -1, actual === undefined || limit === undefined ? nothingCompared : counted(limit, actual))
  }

  #moveFunds(command: Funds.FundsCommand): NaiveOutcome {
    const came = this.funds.decide(command)
    if (command.account >= 0) this.#touchedAccounts.add(command.account)
    if ("refusal" in came) {
      const { actual, limit, nearest, refusal } = came
      const isOfMoney = refusal !== Refusal.withdrawalLimit
      if (actual === undefined || limit === undefined) return refused(refusal, -1)
      return refused(refusal, -1, isOfMoney ? told(moneyScale, limit, actual, nearest) : counted(Number(limit), Number(actual)))
    }
    if (came.transfer !== undefined) this.#touchedAccounts.add(came.transfer.account)
    return done(-1)
  }

  /** The amount that may leave an account. */
  #withdrawable(account: NaiveAccount): bigint {
    const { initialMargin, marginEquity, orderLoss } = this.margin(account, undefined)
    const free = marginEquity - orderLoss - initialMargin
    return free > 0n && !this.isStuck(account) ? free : 0n
  }

  #setStatus(market: NaiveMarket | undefined, status: Market.Status): NaiveOutcome {
    if (market === undefined) return refused(Refusal.marketUnknown, -1)
    if (isDelisted(market)) return refused(Refusal.marketDelisted, -1)
    if (!MarketRules.mayMove(market.status, status)) return refused(Refusal.statusMoveRefused, -1)
    if (market.status === "halted" && status !== "halted") Risk.comesBack(market, this.atEpochMs)
    if (market.status === "backfilling" && status === "open") Risk.waitForMark(market, this.atEpochMs)
    this.#moveTo(market, status)
    this.#show(market)
    return done(-1)
  }

  /** Moves a market to a status, and notes the time of a halt. */
  #moveTo(market: NaiveMarket, status: Market.Status): void {
    if (status === "halted" && market.status !== "halted") market.haltedAt = this.atEpochMs
    market.status = status
  }

  #journalSession(command: SetMarketSession): NaiveOutcome {
    const market = this.markets[command.market]
    if (market === undefined) return refused(Refusal.marketUnknown, -1)
    if (isDelisted(market)) return refused(Refusal.marketDelisted, -1)
    if (market.parameters.marketType === "crypto") return refused(Refusal.marketInvalid, -1)
    this.#setSession(market, {
      state: command.state,
      asOf: this.atEpochMs,
      opens: command.nextOpenEpochMs,
      closes: command.nextCloseEpochMs,
      cutoff: command.riskIncreasingOrderCutoffEpochMs
    })
    return done(-1)
  }

  #refusedSample({ parameters: { priceScale } }: NaiveMarket, { actual, limit, nearest, refusal }: Risk.RefusedSample): NaiveOutcome {
    if (refusal === Refusal.indexPriceOutOfOrder) return refused(refusal, -1, { limit: String(limit), actual: String(actual) })
    return refused(refusal, -1, told(priceScale, limit, actual, nearest))
  }

  /** Makes due marks for a bounded number of markets, lowest index first. */
  #tick(): void {
    this.#ticked = this.markets.filter((market) => Risk.wasDue(market, this.atEpochMs)).length
    this.#settlesLeft = this.settledAtOnce
    for (const market of this.markets.filter((each) => Risk.isDue(each, this.atEpochMs)).slice(0, tickedAtOnce)) {
      const { ended, mark } = Risk.tick(market, this.sequence, this.atEpochMs)
      market.mark = mark
      this.brackets.lookAtAll(market)
      this.#payFunding(market, ended)
    }
    this.#clear()
    this.#settleSome()
  }

  // --- funding -------------------------------------------------------------------------------------------

  /**
   * Each position pays or receives, effective from this record for every question about an account. It is entered when the account next
   * acts, or when settlement reaches it. Nobody pays for an interval that finds as many payments of its market waiting as there may be.
   */
  #payFunding(market: NaiveMarket, funding: NaiveFunding | undefined): void {
    if (funding === undefined || funding.rate8h === 0n) return
    this.#settleSome()
    if (this.#line.filter((payment) => payment.market === market).length >= this.mostInLine) {
      funding.rate8h = 0n
      return
    }
    const owed = new Map<NaiveAccount, NaiveOwed>()
    for (const account of this.accounts) {
      const quantity = this.#quantity(account, market)
      if (quantity === 0) continue
      const paid = Risk.payment(market, quantity, funding)
      account.collateral -= paid
      account.episodes.get(market.index)!.fundingPaid += paid
      owed.set(account, { quantity, paid })
    }
    if (owed.size === 0) return
    const rest = [...owed.values()].reduce((all, { paid }) => all + paid, 0n)
    this.#line.push({ market, funding, owed, rest, left: [...market.came] })
  }

  /** Ends an interval that is over before something takes effect that its tick would otherwise see. */
  #endFunding(market: NaiveMarket): void {
    this.#payFunding(market, Risk.endInterval(market, this))
  }

  /** Settles the first payments in the queue, most recent entrants of the market first, up to the record's bound. */
  #settleSome(): void {
    for (let [first] = this.#line; first !== undefined; [first] = this.#line) {
      while (first.left.length > 0) {
        if (this.#settlesLeft <= 0) return
        const account = this.accounts[first.left.pop()!]!
        this.#settlesLeft -= 1 + this.#beyondOne(account)
        this.#settleIn(account, first.market)
      }
      this.#line.shift()
      const { rest } = first
      if (rest !== 0n) this.#liquidations.moved("funding_rest", undefined, () => this.#credit(this.#fund(), rest, "funding_rest", -1))
    }
  }

  /** Enters an account's unsettled payments before anything else is decided about it: most recently entered market first. */
  #settleAccount(account: NaiveAccount): void {
    for (const index of [...account.cameTo].reverse()) this.#settleIn(account, this.markets[index]!)
  }

  /** An account whose payments are all entered. */
  #settled(index: number): NaiveAccount {
    const account = this.accounts[index]!
    this.#settleAccount(account)
    return account
  }

  /** Enters an account's unsettled payments in a market, the oldest first. */
  #settleIn(account: NaiveAccount, market: NaiveMarket): void {
    const { atEpochMs, sequence } = this
    for (const { funding, market: of, owed } of this.#line) {
      const own = of === market ? owed.get(account) : undefined
      if (own === undefined) continue
      const { paid, quantity } = own
      const enter = (): void => {
        owed.delete(account)
        this.#enter(account, -paid, "funding", market.index)
      }
      if (account === this.fund) this.#liquidations.moved("funding", market, enter)
      else enter()
      const place = { account: account.index, market: market.index, sequence, atEpochMs }
      const { atEpochMs: endedAtEpochMs, index, intervalMs, rate8h } = funding
      this.published.payments.push({ ...place, endedAtEpochMs, quantity, index, rate8h, intervalMs, paid })
      this.history.changes.push({ _tag: "Paid", ...place, paid })
      account.episodes.get(market.index)!.lastSequence = sequence
      account.lastSequence = sequence
      this.#touchedAccounts.add(account.index)
    }
  }

  /** An account's balance by its ledger: without payments that are not entered yet. */
  readonly #entered = (account: NaiveAccount): bigint =>
    this.#line.reduce((money, { owed }) => money + (owed.get(account)?.paid ?? 0n), account.collateral)

  /** The insurance fund's account, if there is one. */
  get fund(): NaiveAccount | undefined {
    return this.#liquidations.fund
  }

  /** The insurance fund's account, opened when it first receives anything. */
  #fund(): NaiveAccount {
    return this.#liquidations.fund ?? this.#openAccount(insuranceFundBorn, 0n)
  }

  #credit(account: NaiveAccount, amount: bigint, cause: NaiveChange["cause"], market: number): void {
    account.collateral += amount
    this.#enter(account, amount, cause, market)
    account.lastSequence = this.sequence
    this.#touchedAccounts.add(account.index)
  }

  /** Records a change of an account's collateral, already made, in its ledger. */
  #enter(account: NaiveAccount, amount: bigint, cause: NaiveChange["cause"], market: number): void {
    const { atEpochMs, sequence } = this
    const balance = this.#entered(account)
    if (amount !== 0n) account.ledger.push({ sequence, atEpochMs, cause, market, amount, balance })
  }

  /** Credits money that stands for a deposit, which lets an account that was opened empty trade. */
  #creditAccount({ amountAtoms, ofAccount, tellsOwner }: CreditAccount): NaiveOutcome {
    const account = this.#settled(ofAccount)
    const balance = account.collateral + BigInt(amountAtoms)
    if (balance > largestCredit) return refused(Refusal.accountTotalLimit, -1, told(moneyScale, largestCredit, balance))
    this.deposited += BigInt(amountAtoms)
    this.#credit(account, BigInt(amountAtoms), "credit", -1)
    account.waitsForCredit = false
    if (tellsOwner) this.identity.note(ofAccount, "operator_credited", "", "", `${decimalOf(BigInt(amountAtoms), moneyScale)} USDC`)
    return { ...done(ofAccount), balance }
  }

  #setFlags({ clear, ofAccount, set, tellsOwner }: SetAccountFlags): NaiveOutcome {
    const before = this.standings.flagsOf(ofAccount)
    this.standings.set(ofAccount, set, clear)
    this.history.flags.push({ account: ofAccount, sequence: this.sequence, flags: this.standings.flagsOf(ofAccount) })
    const flags = this.standings.flagsOf(ofAccount)
    const others = ["bot", "load_harness", "disabled"].flatMap((name, bit) =>
      (before >> bit & 1) === (flags >> bit & 1) ? [] : [`${name}: ${(flags >> bit & 1) === 1 ? "yes" : "no"}`]
    )
    if (tellsOwner && others.length > 0) this.identity.note(ofAccount, "operator_set_flags", "", "", others.join(", "))
    return { ...done(ofAccount), standing: { flags: this.standings.flagsOf(ofAccount), mayTrade: this.mayTrade(ofAccount) } }
  }

  /** Whether an account may place orders that are not reduce-only. */
  mayTrade(account: number): boolean {
    return this.accounts[account]?.waitsForCredit === false && !this.standings.isDisabled(account)
  }

  /** Moves collected fees into the insurance fund. */
  #addToFund(amount: bigint): NaiveOutcome {
    if (amount < 1n || amount > this.feesCollected) {
      return refused(Refusal.feesInsufficient, -1, told(moneyScale, this.feesCollected, amount, this.feesCollected))
    }
    const after = (this.#liquidations.fund?.collateral ?? 0n) + amount
    if (after > largestCredit) return refused(Refusal.accountTotalLimit, -1, told(moneyScale, largestCredit, after, largestCredit))
    this.feesCollected -= amount
    this.#liquidations.moved("collected_fees", undefined, () => this.#credit(this.#fund(), amount, "collected_fees", -1))
    return done(-1)
  }

  /** A market that is no longer listed may still be removed from the favorites. */
  #setFavorite({ account, isFavorite, market }: SetFavorite): NaiveOutcome {
    if (this.markets[market] === undefined || (isFavorite && this.#listed(market) === undefined)) return refused(Refusal.marketNotFound, -1)
    const others = this.favoritesOf(account).filter((each) => each !== market)
    this.#favorites.set(account, isFavorite ? [...others, market] : others)
    return done(-1)
  }

  /** Favorite markets of an account. */
  favoritesOf(account: number): ReadonlyArray<number> {
    return this.#favorites.get(account) ?? []
  }

  #name(account: NaiveAccount, chosen: string): NaiveOutcome {
    account.displayHandle = `${chosen}.${this.sequence.toString(36)}`
    account.lastSequence = this.sequence
    this.#touchedAccounts.add(account.index)
    return done(-1)
  }

  /** Replaces the triggers of a whole position; without triggers all are cancelled. */
  #setAutoClose(account: NaiveAccount, { fault, market: index, stopLoss, takeProfit }: SetAutoClose): NaiveOutcome {
    const market = this.#listed(index)
    if (index !== anyMarket && market === undefined) return refused(Refusal.marketNotFound, -1)
    if (fault !== Refusal.none) return refused(fault, -1)
    if (market === undefined || (takeProfit.priceAtoms === 0 && stopLoss.priceAtoms === 0)) {
      const canceled = this.brackets.cancel(account.index, market?.index)
      if (canceled > 0) this.#changed(account)
      return { ...done(-1), canceled }
    }
    const held = this.#quantity(account, market)
    if (held === 0) return refused(Refusal.reduceOnlyWouldIncrease, -1, told(market.parameters.quantityScale, 0, undefined))
    const autoClose = { takeProfit, stopLoss }
    const found = this.brackets.fault(market, held > 0, autoClose, ({ by }) => AutoCloses.priceOf(market, by))
    if (found !== undefined) return refused(found.refusal, -1, faultTold(market, found))
    const kept = this.brackets.of(account.index, market.index).filter(({ isOrderOpen }) => isOrderOpen).length
    if (kept >= this.brackets.most) return refused(Refusal.openOrderLimit, -1, counted(this.brackets.most, kept + 1))
    const canceled = this.brackets.replace(account.index, market.index)
    const number = ordinal(this.sequence, 0)
    this.brackets.add(number, account.index, market.index, held > 0, autoClose, Math.abs(held), false)
    this.#changed(account)
    return { ...done(number), canceled, quantity: held }
  }

  #changed(account: NaiveAccount): void {
    account.lastSequence = this.sequence
    this.#touchedAccounts.add(account.index)
  }

  #setLeverage(account: NaiveAccount, index: number, leverageX: number): NaiveOutcome {
    const market = this.#listed(index)
    if (market === undefined) return refused(Refusal.marketNotFound, -1)
    if (isDelisted(market)) return refused(Refusal.marketNotAccepting, -1, { actual: market.status })
    const { maxLeverageX } = market.parameters
    if (leverageX < 1 || leverageX > maxLeverageX) {
      const bound = String(leverageX < 1 ? 1 : maxLeverageX)
      return refused(Refusal.leverageOutOfBounds, -1, { limit: bound, actual: String(leverageX), nearest: bound })
    }
    this.#settleAccount(account)
    const margin = this.margin({ ...account, leverage: new Map(account.leverage).set(index, leverageX) }, undefined)
    const backing = margin.marginEquity - margin.orderLoss
    const isExact = [margin.equity, backing, margin.initialMargin].every((atoms) => abs(atoms) <= largestTotal)
    if (!isExact || backing < margin.initialMargin) {
      return refused(Refusal.marginInsufficient, -1, isExact ? told(moneyScale, backing, margin.initialMargin) : nothingCompared)
    }
    account.leverage.set(index, leverageX)
    account.cameTo.add(index)
    market.came.add(account.index)
    account.lastSequence = this.sequence
    this.#touchedAccounts.add(account.index)
    return done(-1)
  }

  #openAccounts({ collateralAtoms, lifetimeSeconds, keys }: OpenDemoAccounts): ReadonlyArray<NaiveOutcome> {
    if (collateralAtoms > largestCredit) {
      return keys.map(() => refused(Refusal.accountTotalLimit, -1, told(moneyScale, largestCredit, collateralAtoms, largestCredit)))
    }
    return keys.map((key, index) => {
      const account = this.#openAccount(ordinal(this.sequence, index), BigInt(collateralAtoms))
      this.identity.issueOfDemo(key, account.index, lifetimeSeconds)
      this.deposited += account.deposited
      this.#touchedAccounts.add(account.index)
      return done(account.index)
    })
  }

  #openAccount(born: number, deposited: bigint): NaiveAccount {
    const account: NaiveAccount = {
      index: this.accounts.length,
      born,
      deposited,
      collateral: deposited,
      waitsForCredit: false,
      lastSequence: this.sequence,
      openedAtEpochMs: this.atEpochMs,
      positions: new Map(),
      episodes: new Map(),
      leverage: new Map(),
      open: [],
      placed: [],
      cameTo: new Set(),
      cancelAllAtEpochMs: 0,
      displayHandle: "",
      liquidation: undefined,
      ledger: []
    }
    this.#enter(account, deposited, "credit", -1)
    this.accounts.push(account)
    return account
  }

  /** What putting parameters now would do: how they would be accepted, or what refuses them. It changes nothing. */
  putComesTo(parameters: Market.Parameters, effectiveAtEpochMs: number): "created" | "at_once" | "announced" | NaiveOutcome {
    if (!MarketRules.isSound(parameters)) return refused(Refusal.marketInvalid, -1)
    const known = this.markets.find((market) => market.parameters.marketId === parameters.marketId)
    if (known === undefined) return effectiveAtEpochMs === 0 ? "created" : refused(Refusal.marketUnknown, -1)
    if (isDelisted(known)) return refused(Refusal.marketDelisted, -1)
    const isPresent = Object.entries(known.parameters).every(([name, value]) =>
      JSON.stringify(value) === JSON.stringify(parameters[name as keyof Market.Parameters])
    )
    if (effectiveAtEpochMs !== 0 && !isPresent) return this.#refusesNotice(known, parameters, effectiveAtEpochMs) ?? "announced"
    const fixed = this.#fixed(known, parameters)
    if (fixed !== undefined) return fixed
    if (this.#asksMore(known, parameters)) return this.#tooEarly(undefined)
    const stranded = this.#stranded(known, parameters)
    return stranded === undefined ? "at_once" : refused(Refusal.positionStranded, -1, stranded)
  }

  #putMarket(parameters: Market.Parameters, effectiveAtEpochMs: number): NaiveOutcome {
    const comesTo = this.putComesTo(parameters, effectiveAtEpochMs)
    if (typeof comesTo !== "string") return comesTo
    if (comesTo === "created") return this.#newMarket(parameters)
    const known = this.markets.find((market) => market.parameters.marketId === parameters.marketId)!
    if (comesTo === "announced") return this.#announce(known, parameters, effectiveAtEpochMs)
    known.announced = undefined
    this.#takeParameters(known, parameters)
    this.#clear()
    return done(-1)
  }

  #newMarket(parameters: Market.Parameters): NaiveOutcome {
    const market: NaiveMarket = {
      index: this.markets.length,
      session: undefined,
      parameters: Market.inOrder(parameters),
      factor: BigInt(Market.notionalFactor(parameters)),
      status: "draft",
      haltedAt: 0,
      mark: 0,
      risk: Risk.noRisk(),
      announced: undefined,
      delisting: undefined,
      came: new Set(),
      widest: 0,
      lastPrice: 0,
      bookSequence: 0,
      sequence: 0,
      resting: [],
      trades: []
    }
    this.markets.push(market)
    this.#show(market)
    return done(-1)
  }

  #takeParameters(known: NaiveMarket, parameters: Market.Parameters): void {
    this.#endFunding(known)
    const { maxPriceAtoms, minPriceAtoms } = parameters
    const { priceScale } = known.parameters
    // What is known of one underlying says nothing of another: the index is old from then on, and gone where nobody holds anything.
    const isOther = known.parameters.underlyingSymbol !== parameters.underlyingSymbol
    // An index outside the new scale or bounds is dropped: there is no mark until the index is set again.
    const isOutside = priceScale !== parameters.priceScale || known.risk.index < minPriceAtoms || known.risk.index > maxPriceAtoms
    const forgets = isOutside || isOther && this.#isEmpty(known)
    if (forgets || isOther || known.parameters.fundingIntervalMs !== parameters.fundingIntervalMs) Risk.cutInterval(known, this)
    known.widest = this.#isEmpty(known) ? 0 : Math.max(known.widest, known.parameters.maxPositionQuantityAtoms)
    const { risk } = known
    const wasStale = Risk.isStale(known, this.atEpochMs)
    if (priceScale !== parameters.priceScale || known.parameters.quantityScale !== parameters.quantityScale) {
      this.history.rescaled.push({ market: known.index, sequence: this.sequence })
    }
    if (forgets) {
      known.mark = 0
      known.risk = { ...risk, index: 0, source: 0, held: undefined, basis: [], ticks: [], backSince: 0 }
    } else {
      known.mark = Math.min(maxPriceAtoms, Math.max(minPriceAtoms, known.mark))
      if (isOther) known.risk = { ...risk, source: 0, held: undefined, basis: [], ticks: [] }
    }
    if (isOther) known.risk.underlyingSince = this.atEpochMs
    if (known.parameters.marketType !== parameters.marketType) known.session = undefined
    known.factor = BigInt(Market.notionalFactor(parameters))
    known.parameters = Market.inOrder(parameters)
    // With a longer stale limit, an index may be fresh again.
    if (wasStale && !Risk.isStale(known, this.atEpochMs)) Risk.comesBack(known, this.atEpochMs)
    this.#show(known)
  }

  /** The refusal of a change at once that needs notice, now. */
  needsNotice(): NaiveOutcome {
    return this.#tooEarly(undefined)
  }

  /** A change has to be announced a notice ahead: refuses with the earliest time that would pass. */
  #tooEarly(effectiveAtEpochMs: number | undefined): NaiveOutcome {
    const earliest = String(this.atEpochMs + this.noticeMs)
    const actual = effectiveAtEpochMs === undefined ? {} : { actual: String(effectiveAtEpochMs) }
    return refused(Refusal.noticeRequired, -1, { limit: earliest, nearest: earliest, ...actual })
  }

  /** Why parameters that are to take effect later are refused; undefined where they are not. */
  #refusesNotice(market: NaiveMarket, next: Market.Parameters, effectiveAtEpochMs: number): NaiveOutcome | undefined {
    const now = market.parameters
    const other = otherKind(now, next)
    if (other !== undefined) return other
    const price = (["minPriceAtoms", "maxPriceAtoms"] as const).find((name) => next[name] !== now[name])
    if (price !== undefined) return refused(Refusal.priceBoundsFixed, -1, told(now.priceScale, now[price], next[price], now[price]))
    const size = next.minQuantityAtoms > now.minQuantityAtoms
      ? "minQuantityAtoms"
      : next.maxQuantityAtoms < now.maxQuantityAtoms
      ? "maxQuantityAtoms"
      : undefined
    if (size !== undefined) return refused(Refusal.quantityBoundsFixed, -1, told(now.quantityScale, now[size], next[size], now[size]))
    return effectiveAtEpochMs < this.atEpochMs + this.noticeMs ? this.#tooEarly(effectiveAtEpochMs) : undefined
  }

  #announce(market: NaiveMarket, next: Market.Parameters, effectiveAtEpochMs: number): NaiveOutcome {
    market.announced = { effectiveAtEpochMs, parameters: Market.inOrder(next) }
    this.#show(market)
    const came = [...market.came].filter((index) => index !== this.#liquidations.fund?.index)
    const weight = sum(came.map((index) => this.#weight(this.accounts[index]!)))
    const touched = weight > this.countedAtOnce ? {} : this.touched(market, next)
    return { ...done(-1), announced: { effectiveAtEpochMs, ...touched } }
  }

  /** How many accounts with a position in a market would be under their margins if it had other parameters now. */
  touched(market: NaiveMarket, parameters: Market.Parameters): Omit<NaiveAnnounced, "effectiveAtEpochMs"> {
    const markets = this.markets.map((each) => each === market ? { ...market, parameters } : each)
    const margins = this.accounts
      .filter((account) => this.#quantity(account, market) !== 0 && account !== this.#liquidations.fund)
      .map((account) => marginOf(markets, account, undefined))
    return {
      underInitialMargin: margins.filter(({ initialMargin, marginEquity, orderLoss }) => marginEquity - orderLoss < initialMargin).length,
      underMaintenanceMargin: margins.filter(({ equity, maintenanceMargin }) => equity < maintenanceMargin).length
    }
  }

  #delist({ action, effectiveAtEpochMs, market: index }: DelistMarket): NaiveOutcome {
    const market = this.markets[index]
    if (market === undefined) return refused(Refusal.marketUnknown, -1)
    if (isDelisted(market)) return refused(Refusal.marketDelisted, -1)
    if (action === "withdraw") {
      if (market.delisting !== undefined) this.#show(market)
      market.delisting = undefined
      return done(-1)
    }
    if (!MarketRules.isListed(market.status)) return refused(Refusal.statusMoveRefused, -1)
    if (effectiveAtEpochMs === 0) {
      this.#beginDelisting(market)
      return done(-1)
    }
    const earliest = this.atEpochMs + this.noticeMs
    if (effectiveAtEpochMs < earliest) {
      const limit = String(earliest)
      return refused(Refusal.delistingTooEarly, -1, { limit, actual: String(effectiveAtEpochMs), nearest: limit })
    }
    market.delisting = {
      state: "announced",
      effectiveAtEpochMs,
      finalPrice: 0,
      settledAtEpochMs: 0,
      phase: "orders",
      done: new Set(),
      againAtEpochMs: 0
    }
    this.#show(market)
    return { ...done(-1), delistedAtEpochMs: effectiveAtEpochMs }
  }

  /** Puts a delisting into effect: the market is halted for good, at its final price. */
  #beginDelisting(market: NaiveMarket): void {
    this.#endFunding(market)
    const finalPrice = Risk.finalPrice(market, this)
    market.announced = undefined
    this.#moveTo(market, "halted")
    market.risk.held = undefined
    market.mark = finalPrice
    market.session = undefined
    market.delisting = {
      state: "settling",
      effectiveAtEpochMs: this.atEpochMs,
      finalPrice,
      settledAtEpochMs: 0,
      phase: "orders",
      done: new Set(),
      againAtEpochMs: 0
    }
    this.#show(market)
  }

  /** Cancels the next order of a delisted market. Returns whether there was one. An order that leaves ends with its own reason. */
  #cancelDelisted(market: NaiveMarket): boolean {
    const [next] = this.#byTurn(market)
    if (next === undefined) return false
    this.#cancel(next, this.#endsFor(next, CancelReason.marketDelisted))
    return true
  }

  /** Puts announced parameters into effect whose time has come. */
  #takeAnnounced(): void {
    for (const market of this.markets) {
      if (market.announced === undefined || market.announced.effectiveAtEpochMs > this.atEpochMs) continue
      const { parameters } = market.announced
      market.announced = undefined
      this.#takeParameters(market, parameters)
    }
  }

  /**
   * The values compared where a quantity bound gets tighter and some position would lie outside it: the furthest position, the bound that
   * was sent, and the nearest bound that would pass.
   */
  #stranded(market: NaiveMarket, next: Market.Parameters): NaiveCompared | undefined {
    const now = market.parameters
    const held = this.accounts.map((account) => Math.abs(this.#quantity(account, market))).filter((size) => size > 0)
    const [least, most] = [Math.min(...held), Math.max(...held)]
    if (next.minQuantityAtoms > now.minQuantityAtoms && held.some((size) => size < next.minQuantityAtoms)) {
      return told(now.quantityScale, least, next.minQuantityAtoms, Math.max(least, now.minQuantityAtoms))
    }
    return next.maxQuantityAtoms < now.maxQuantityAtoms && held.some((size) => size > next.maxQuantityAtoms)
      ? told(now.quantityScale, most, next.maxQuantityAtoms, Math.min(most, now.maxQuantityAtoms))
      : undefined
  }

  #isEmpty(market: NaiveMarket): boolean {
    return market.resting.length === 0 && this.accounts.every((account) => !account.positions.has(market.index))
  }

  /**
   * Why parameters may not change at once. Scales and type are fixed once the market has left draft; while any account has anything in it,
   * its price bounds get no tighter.
   */
  #fixed(market: NaiveMarket, next: Market.Parameters): NaiveOutcome | undefined {
    const now = market.parameters
    if (market.status === "draft") return undefined
    const other = otherKind(now, next)
    if (other !== undefined) return other
    if (this.#isEmpty(market)) return undefined
    const bound = (limit: number, actual: number) => refused(Refusal.priceBoundsFixed, -1, told(now.priceScale, limit, actual, limit))
    if (next.minPriceAtoms > now.minPriceAtoms) return bound(now.minPriceAtoms, next.minPriceAtoms)
    if (next.maxPriceAtoms < now.maxPriceAtoms) return bound(now.maxPriceAtoms, next.maxPriceAtoms)
    // The notional of every size that may be held has to be countable.
    const widest = BigInt(Math.max(market.widest, next.maxPositionQuantityAtoms)) * market.factor
    return BigInt(next.maxPriceAtoms) * widest > largestTotal ? bound(Number(largestTotal / widest), next.maxPriceAtoms) : undefined
  }

  /** Whether parameters require more of any account in a market. */
  #asksMore(market: NaiveMarket, next: Market.Parameters): boolean {
    const now = market.parameters
    if (market.status === "draft" || this.#isEmpty(market)) return false
    const needsMore = (notional: bigint): boolean => maintenance(next, notional) > maintenance(now, notional)
    const thresholds = [...now.maintenanceMarginTiers, ...next.maintenanceMarginTiers].map((tier) => BigInt(tier.notionalThresholdAtoms))
    const lastBps = ({ maintenanceMarginTiers }: Market.Parameters): number => maintenanceMarginTiers.at(-1)!.maintenanceMarginBps
    return next.maxPositionQuantityAtoms < now.maxPositionQuantityAtoms
      || next.markBandBps > now.markBandBps
      || next.impactNotionalAtoms < now.impactNotionalAtoms
      || next.fundingCapE9 > now.fundingCapE9
      || next.liquidationFeeBps > now.liquidationFeeBps
      || next.initialMarginBps > now.initialMarginBps
      || next.maxLeverageX < now.maxLeverageX
      || thresholds.some(needsMore)
      || lastBps(next) > lastBps(now)
  }

  /** Notes that this record changes the public information on a market. */
  #show(market: NaiveMarket): void {
    market.sequence = this.sequence
    this.registrySequence = this.sequence
  }

  // --- placing -------------------------------------------------------------------------------------------

  #place(command: PlaceOrders, entry: PlaceEntry, number: number): NaiveOutcome {
    const before = this.#refusal(command.account, entry)
    const unclosable = before === undefined || before.refusal === Refusal.marginInsufficient
      ? this.#refusalOfTriggers(command.account, entry)
      : undefined
    if (before !== undefined) return refused(before.refusal, number, unclosable === undefined ? before.compared : lessWouldNotDo(before))
    if (unclosable !== undefined) return refused(unclosable.refusal, number, unclosable.compared)
    const order: NaiveOrder = {
      by: "client",
      number,
      account: command.account,
      market: entry.market,
      side: entry.side,
      type: entry.type,
      timeInForce: entry.timeInForce,
      price: entry.priceAtoms,
      quantity: entry.quantityAtoms,
      postOnly: entry.postOnly,
      reduceOnly: entry.reduceOnly,
      selfTradePrevention: entry.selfTradePrevention,
      clientOrderId: entry.clientOrderId,
      idempotencyKey: command.idempotencyKey,
      connection: command.connection === -1 ? undefined : command.connection,
      expiresAtEpochMs: entry.expiresAtEpochMs,
      createdAtEpochMs: this.atEpochMs,
      status: Order.open,
      cancelReason: CancelReason.none,
      filled: 0,
      filledNotional: 0n,
      canceled: 0,
      trimmed: 0,
      updatedAtEpochMs: this.atEpochMs,
      lastSequence: this.sequence,
      endedAtEpochMs: 0,
      retentionMs: this.retentionMs
    }
    this.orders.set(number, order)
    this.accounts[order.account]!.placed.push(order)
    this.accounts[order.account]!.cameTo.add(order.market)
    this.markets[order.market]!.came.add(order.account)
    this.#touch(order)
    if (order.clientOrderId !== "") this.#clientOrderIds.set(`${order.account}/${order.clientOrderId}`, order)
    const { stopLoss, takeProfit } = entry.autoClose
    if (takeProfit.priceAtoms !== 0 || stopLoss.priceAtoms !== 0) {
      this.brackets.add(number, order.account, order.market, order.side === Order.buy, entry.autoClose, 0, true)
    }
    this.#match(order)
    return stateOf(order)
  }

  /** The last check of an entry: its triggers. */
  #refusalOfTriggers(account: number, { autoClose, market: index, priceAtoms, side, type }: PlaceEntry): Refused | undefined {
    if (autoClose.takeProfit.priceAtoms === 0 && autoClose.stopLoss.priceAtoms === 0) return undefined
    const market = this.markets[index]!
    const count = this.brackets.of(account, index).length
    if (count >= this.brackets.most) return because(Refusal.openOrderLimit, counted(this.brackets.most, count + 1))
    const found = this.#triggerFault(market, side, type, priceAtoms, autoClose)
    return found === undefined ? undefined : because(found.refusal, faultTold(market, found))
  }

  /** Why an order's triggers are refused: they are compared with its limit, or with the price that each names. */
  #triggerFault(
    market: NaiveMarket,
    side: Order.Side,
    type: Order.Type,
    price: number,
    autoClose: AutoClose
  ): AutoCloses.Fault | undefined {
    return this.brackets.fault(market, side === Order.buy, autoClose,
      ({ by }) => type === Order.limit ? price : AutoCloses.priceOf(market, by))
  }

  /** The first check that the entry fails, in the published order. */
  #refusal(accountIndex: number, entry: PlaceEntry): Refused | undefined {
    if (entry.fault !== Refusal.none) return because(entry.fault)
    const account = this.accounts[accountIndex]
    if (account === undefined) return because(Refusal.accountNotEnabled)
    if (entry.clientOrderId !== "") {
      if (this.#isNamed(accountIndex, entry.clientOrderId)) return because(Refusal.clientOrderIdInUse)
      if (this.isFenced(accountIndex, "clientOrderId", entry.clientOrderId, this.atEpochMs)) return because(Refusal.fenceStands)
    }
    const market = this.#listed(entry.market)
    if (market === undefined) return because(Refusal.marketNotFound)
    if (entry.expiresAtEpochMs !== 0 && entry.expiresAtEpochMs <= this.atEpochMs) {
      return because(Refusal.expiryPassed, counted(this.atEpochMs, entry.expiresAtEpochMs))
    }
    if (!entry.reduceOnly && !this.mayTrade(accountIndex)) return because(Refusal.accountNotEnabled)
    this.#settleAccount(account)
    return this.#refusalInMarket(account, market, {
      side: entry.side,
      type: entry.type,
      timeInForce: entry.timeInForce,
      price: entry.priceAtoms,
      quantity: entry.quantityAtoms,
      total: entry.quantityAtoms,
      filled: 0,
      postOnly: entry.postOnly,
      reduceOnly: entry.reduceOnly
    })
  }

  /** The market if the public may see it. */
  #listed(index: number): NaiveMarket | undefined {
    const market = this.markets[index]
    return market === undefined || !MarketRules.isListed(market.status) ? undefined : market
  }

  /**
   * The first of a market's checks that an order fails. An order at the reported nearest value must not be refused by the same check
   * again.
   */
  #refusalInMarket(account: NaiveAccount, market: NaiveMarket, order: Checked): Refused | undefined {
    const found = this.#firstRefusal(account, market, order)
    const nearer = found === undefined ? undefined : nearerOf(market, order, found)
    const isMisled = nearer !== undefined
      && ((sizesTold.has(found!.refusal) && nearer.quantity <= 0)
        || this.#firstRefusal(account, market, nearer)?.refusal === found!.refusal)
    if (isMisled) this.misled = `${JSON.stringify(order)} is refused, and so is what it is told to be nearest: ${JSON.stringify(found)}`
    return found
  }

  /** The first of a market's checks that an order fails. An order being amended is not among the account's open ones. */
  #firstRefusal(account: NaiveAccount, market: NaiveMarket, order: Checked): Refused | undefined {
    const { quantity, side } = order
    const held = this.#quantity(account, market)
    const sameSide = account.open.filter((order) => order.market === market.index && order.side === side)
    const opposes = held !== 0 && held > 0 === (side === Order.sell)
    // An order that can never rest is judged alone; others together with all resting orders that could grow the position.
    const beside = order.reduceOnly || order.timeInForce === Order.ioc ? [] : sameSide.filter((order) => !order.reduceOnly)
    const onlyReduces = opposes && quantity + sum(beside.map(remaining)) <= Math.abs(held)

    const takes = Risk.takes(market, this.atEpochMs)
    if (takes === "closed") {
      const opens = market.session?.opens ?? 0
      return because(Refusal.sessionClosed, { ...(opens === 0 ? {} : { limit: String(opens) }), actual: String(this.atEpochMs) })
    }
    if (market.mark === 0 && market.status === "open") return because(Refusal.marketNotAccepting)
    const isReducing = order.reduceOnly || onlyReduces
    if (takes === "cutoff" && !isReducing) return because(Refusal.sessionCutoff, counted(market.session!.cutoff, this.atEpochMs))
    const isTaken = takes === "open" || takes === "cutoff" || (takes === "reduce_only" && isReducing)
    if (!isTaken) return because(Refusal.marketNotAccepting, { actual: takes })
    if (market.mark === 0) return because(Refusal.marketNotAccepting)
    return this.#refusalOfPrice(market, order)
      ?? this.#refusalOfQuantity(market, order, opposes ? Math.abs(held) : 0)
      ?? this.#refusalOfBand(market, order)
      ?? this.#refusalOfSize(account, market, order, sameSide, held)
      ?? this.#refusalOfMargin(account, market, order, (size) => opposes && size + sum(beside.map(remaining)) <= Math.abs(held))
      ?? this.#refusalOfBook(market, order)
  }

  #refusalOfPrice(market: NaiveMarket, { price, side, type }: Checked): Refused | undefined {
    const { maxPriceAtoms, minPriceAtoms, priceScale } = market.parameters
    if (type !== Order.limit && price === 0) return undefined
    const bound = price < minPriceAtoms ? minPriceAtoms : price > maxPriceAtoms ? maxPriceAtoms : undefined
    if (bound === undefined) return undefined
    // The nearest price has to lie within the band, too.
    const { lower, upper } = this.band(market)
    const least = side === Order.sell && type === Order.limit && lower > BigInt(minPriceAtoms) ? lower : BigInt(minPriceAtoms)
    const most = side === Order.buy && type === Order.limit && upper < BigInt(maxPriceAtoms) ? upper : BigInt(maxPriceAtoms)
    return because(Refusal.priceOutOfBounds, told(priceScale, bound, price, price < minPriceAtoms ? least : most))
  }

  /** Checks of an order's quantity. `closable`: the position on the other side of the order. */
  #refusalOfQuantity({ parameters }: NaiveMarket, { filled, quantity, reduceOnly, total }: Checked, closable: number): Refused | undefined {
    const { maxQuantityAtoms, minQuantityAtoms, quantityScale } = parameters
    const closesAll = reduceOnly && closable > 0 && quantity === closable
    if (total < minQuantityAtoms && !closesAll) {
      // A position smaller than the least order may be closed in full.
      const closing = reduceOnly && closable > 0 ? filled + closable : Infinity
      const nearest = closing < minQuantityAtoms ? closing : minQuantityAtoms
      return because(Refusal.quantityOutOfBounds, told(quantityScale, minQuantityAtoms, total, nearest))
    }
    const most = filled < maxQuantityAtoms ? maxQuantityAtoms : undefined
    return total > maxQuantityAtoms ? because(Refusal.quantityOutOfBounds, told(quantityScale, maxQuantityAtoms, total, most)) : undefined
  }

  #refusalOfBand(market: NaiveMarket, { price, side, type }: Checked): Refused | undefined {
    if (type !== Order.limit) return undefined
    const { lower, upper } = this.band(market)
    const edge = side === Order.buy ? upper : lower
    const isBeyond = side === Order.buy ? BigInt(price) > edge : BigInt(price) < edge
    return isBeyond ? because(Refusal.priceBandExceeded, told(market.parameters.priceScale, edge, price, edge)) : undefined
  }

  /** Checks of open orders, position limit, and the size of a reduce-only order. */
  #refusalOfSize(
    account: NaiveAccount,
    market: NaiveMarket,
    { filled, quantity, reduceOnly, side, timeInForce, type }: Checked,
    sameSide: ReadonlyArray<NaiveOrder>,
    held: number
  ): Refused | undefined {
    const { maxPositionQuantityAtoms, minQuantityAtoms, quantityScale } = market.parameters
    const rests = type === Order.limit && timeInForce === Order.gtc
    const open = account.open.filter((order) => order.market === market.index).length
    if (rests && open >= openOrderLimit) return because(Refusal.openOrderLimit, counted(openOrderLimit, open + 1))
    if (!reduceOnly) {
      const committed = sum(sameSide.filter((order) => !order.reduceOnly).map(remaining))
      // A position on the other side counts as flat: a reduce-only order may close it before the others fill.
      const towards = Math.max(0, side === Order.buy ? held : -held)
      const reached = towards + committed + quantity
      if (reached <= maxPositionQuantityAtoms) return undefined
      const left = quantity - (reached - maxPositionQuantityAtoms)
      // A client names a total, part of which may already be filled.
      const nearest = left > 0 && filled + left >= minQuantityAtoms ? filled + left : undefined
      return because(Refusal.positionLimit, told(quantityScale, maxPositionQuantityAtoms, reached, nearest))
    }
    const resting = rests ? sum(sameSide.filter((order) => order.reduceOnly).map(remaining)) : 0
    const opposes = held !== 0 && held > 0 === (side === Order.sell)
    const allowed = opposes ? Math.abs(held) : 0
    if (quantity + resting <= allowed) return undefined
    const left = allowed - resting
    // Less than the market's minimum is allowed only where it closes all that is held.
    const nearest = left > 0 && (filled + left >= minQuantityAtoms || left === allowed) ? filled + left : undefined
    return because(Refusal.reduceOnlyWouldIncrease, told(quantityScale, allowed, quantity + resting, nearest))
  }

  #refusalOfMargin(
    account: NaiveAccount,
    market: NaiveMarket,
    order: Checked,
    onlyReduces: (size: number) => boolean
  ): Refused | undefined {
    const { filled, price, quantity, reduceOnly, side } = order
    const at = (size: number) => {
      const margin = this.margin(account, reduceOnly ? undefined : { market: market.index, side, price, size })
      const backing = margin.marginEquity - margin.orderLoss
      const isExact = [account.collateral, margin.equity, backing, margin.initialMargin].every((atoms) => abs(atoms) <= largestTotal)
      // Nothing has traded yet: of the reducing branch only "equity is not below zero" remains.
      const passes = backing >= margin.initialMargin
        || (onlyReduces(size) && (margin.equity >= margin.maintenanceMargin || margin.equity >= 0n))
      return { backing, margin, isExact, isBacked: isExact && passes }
    }
    const whole = at(quantity)
    if (whole.isBacked) return undefined
    const compared = whole.isExact ? told(moneyScale, whole.backing, whole.margin.initialMargin) : nothingCompared
    // Where the book takes none of it, or a smaller order needs no less, there is no nearest value.
    if (reduceOnly || this.#refusalOfBook(market, order) !== undefined) return because(Refusal.marginInsufficient, compared)
    let most = 0
    for (let step = 2 ** 52; step >= 1; step /= 2) if (most + step < quantity && at(most + step).isBacked) most += step
    const total = filled + most
    return because(
      Refusal.marginInsufficient,
      most > 0 && total >= market.parameters.minQuantityAtoms
        ? { ...compared, ...told(market.parameters.quantityScale, undefined, undefined, total) }
        : compared
    )
  }

  /** Checks of an order against the other side of the book. */
  #refusalOfBook(market: NaiveMarket, { postOnly, price, side, type }: Checked): Refused | undefined {
    const { maxPriceAtoms, minPriceAtoms, priceScale } = market.parameters
    const best = this.#bestStanding(market, opposite(side))
    if (postOnly && best !== undefined && crosses(side, price, best.price)) {
      const beside = side === Order.buy ? best.price - 1 : best.price + 1
      const nearest = beside >= minPriceAtoms && beside <= maxPriceAtoms ? beside : undefined
      return because(Refusal.postOnlyWouldCross, told(priceScale, best.price, price, nearest))
    }
    if (type !== Order.market) return undefined
    // Matching goes best price first and stops where it may not trade, so deeper orders are out of reach.
    if (best === undefined) return because(Refusal.noLiquidity)
    if (!this.#withinBand(market, best.price)) {
      const { lower, upper } = this.band(market)
      return because(Refusal.noLiquidity, told(priceScale, side === Order.buy ? upper : lower, best.price))
    }
    return price === 0 || crosses(side, price, best.price)
      ? undefined
      : because(Refusal.noLiquidity, told(priceScale, price, best.price, best.price))
  }

  // --- amending ------------------------------------------------------------------------------------------

  #amend(command: AmendOrder): NaiveOutcome {
    const { orderNumber } = command
    const order = this.orders.get(orderNumber)
    const known = order !== undefined && order.account === command.account && order.status === Order.open
      && (command.market === anyMarket || command.market === order.market) && this.leavesFor(order) === CancelReason.none
    if (!known) return refused(Refusal.orderNotFound, orderNumber)
    if (command.fault !== Refusal.none) return refused(command.fault, orderNumber)
    const total = command.quantityAtoms < 0 ? order.quantity : command.quantityAtoms
    const price = command.priceAtoms === 0 ? order.price : command.priceAtoms
    // A named total starts anew: size trimmed off the old one is not part of it.
    const canceled = command.quantityAtoms < 0 ? order.canceled : 0
    const quantity = total - order.filled - canceled
    if (quantity <= 0) {
      this.#cancel(order, CancelReason.user)
      return stateOf(order)
    }
    if (!order.reduceOnly && !this.mayTrade(order.account)) return refused(Refusal.accountNotEnabled, orderNumber)
    const market = this.markets[order.market]!
    const account = this.#settled(order.account)
    // Checked as if the order were not there: its own size and its place among the open orders do not count against it.
    const without = { ...account, open: account.open.filter((other) => other !== order) }
    const { postOnly, reduceOnly, side, timeInForce, type } = order
    const { filled } = order
    const found = this.#refusalInMarket(without, market, { side, type, timeInForce, price, quantity, total, filled, postOnly, reduceOnly })
    const bracket = this.brackets.all.find(({ number }) => number === orderNumber)
    const invalid = bracket === undefined ? undefined : this.#triggerFault(market, side, type, price, bracket.autoClose)
    if (found !== undefined) {
      const isFar = found.refusal === Refusal.marginInsufficient && invalid !== undefined
      return refused(found.refusal, orderNumber, isFar ? lessWouldNotDo(found) : found.compared)
    }
    if (invalid !== undefined) return refused(invalid.refusal, orderNumber, faultTold(market, invalid))
    const keepsPlace = price === order.price && quantity <= remaining(order)
    if (!keepsPlace || quantity < remaining(order)) market.bookSequence = this.sequence
    order.price = price
    order.quantity = total
    order.canceled = canceled
    if (canceled === 0) order.trimmed = 0
    this.#promise(order)
    this.#touch(order)
    if (!keepsPlace) {
      market.resting = market.resting.filter((other) => other !== order)
      account.open = without.open
      this.#match(order)
    }
    return stateOf(order)
  }

  /** The prices at which trades may print: mark * (1 -+ band), rounded towards the mark. */
  band(market: NaiveMarket, bandBps: number = market.parameters.priceBandBps): { readonly lower: bigint; readonly upper: bigint } {
    const mark = BigInt(market.mark)
    const band = BigInt(bandBps)
    return { lower: ceilDiv(mark * (10_000n - band), 10_000n), upper: (mark * (10_000n + band)) / 10_000n }
  }

  #withinBand(market: NaiveMarket, price: number): boolean {
    const { lower, upper } = this.band(market)
    return BigInt(price) >= lower && BigInt(price) <= upper
  }

  /** The resting order of a side that is next to trade: best price, then oldest. */
  #best(market: NaiveMarket, side: Order.Side): NaiveOrder | undefined {
    let best: NaiveOrder | undefined
    for (const order of market.resting) {
      if (order.side !== side) continue
      if (best === undefined || (side === Order.buy ? order.price > best.price : order.price < best.price)) best = order
    }
    return best
  }

  /** The first standing order of a side; once the record may meet only orders that leave, the next of all. */
  #bestStanding(market: NaiveMarket, side: Order.Side): NaiveOrder | undefined {
    const inTurn = this.#byTurn(market).filter((order) => order.side === side)
    const most = Math.max(0, this.metAtOnce - this.#met)
    return inTurn.find((order, place) => place >= most || this.leavesFor(order) === CancelReason.none)
  }

  // --- matching ------------------------------------------------------------------------------------------

  #match(taker: NaiveOrder): void {
    const market = this.markets[taker.market]!
    const account = this.accounts[taker.account]!
    while (remaining(taker) > 0) {
      const maker = this.#best(market, opposite(taker.side))
      if (maker === undefined) break
      if ((taker.type === Order.limit || taker.price !== 0) && !crosses(taker.side, taker.price, maker.price)) break
      // The band comes first: beyond it nothing happens at all, not even to the taker's own orders.
      if (!this.#withinBand(market, maker.price)) {
        // Only a market order or one of the venue's own comes here: any other limit beyond this edge is refused, and nothing rests beyond
        // the other.
        return this.#cancel(taker, CancelReason.iocRemainder)
      }
      // No record meets more: the remainder would cross orders that it has not met, so it cannot rest either.
      if (this.#met >= this.metAtOnce) {
        this.#metEnough.add(taker.number)
        return this.#cancel(taker, CancelReason.iocRemainder)
      }
      this.#met++
      const leaves = this.leavesFor(maker)
      if (leaves !== CancelReason.none) {
        this.#cancel(maker, leaves)
        continue
      }
      if (maker.account === taker.account) {
        if (taker.selfTradePrevention !== Order.cancelIncoming) this.#cancel(maker, CancelReason.selfTrade)
        if (taker.selfTradePrevention !== Order.cancelResting) return this.#cancel(taker, CancelReason.selfTrade)
        continue
      }
      const size = Math.min(remaining(taker), remaining(maker))
      const makerAccount = this.accounts[maker.account]!
      if (Risk.restingOnlyReduces(market, this.atEpochMs) && grows(this.#quantity(makerAccount, market), signed(maker.side, size))) {
        this.#cancel(maker, CancelReason.marketReduceOnly)
        continue
      }
      this.#met += this.#beyondOne(makerAccount, this.#owing(makerAccount))
      this.#settleAccount(makerAccount)
      if (!this.#accepts(makerAccount, market, maker, undefined, maker.price, size, market.parameters.makerFeeBps)) {
        this.#cancel(maker, CancelReason.marginUnbacked)
        continue
      }
      // A fill at the bankruptcy price or better takes no more equity than that part of the position has.
      const isHeld = taker.by !== "liquidation"
      if (isHeld && !this.#accepts(account, market, taker, taker, maker.price, size, takerFeeBps(market, taker))) {
        return this.#cancel(taker, CancelReason.marginUnbacked)
      }
      this.#fill(market, maker, taker, size)
    }
    if (remaining(taker) === 0) return
    if (taker.type === Order.market || taker.timeInForce === Order.ioc) return this.#cancel(taker, CancelReason.iocRemainder)
    market.resting.push(taker)
    market.bookSequence = this.sequence
    account.open.push(taker)
  }

  /** The weight of an account: one for every so many markets that it entered. */
  #weight({ cameTo }: NaiveAccount): number {
    return Math.max(1, Math.ceil(cameTo.size / this.marketsInOne))
  }

  /** The weight beyond one, on the first visit by the record or its command; afterwards 0. */
  #beyondOne(account: NaiveAccount, atLeast = 1): number {
    const weight = Math.max(atLeast, this.#weight(account))
    if (weight === 1 || this.#weighed.has(account)) return 0
    this.#weighed.add(account)
    return weight - 1
  }

  /** The number of markets in which an account has a payment that is not entered yet. */
  #owing(account: NaiveAccount): number {
    return new Set(this.#line.filter(({ owed }) => owed.has(account)).map(({ market }) => market)).size
  }

  /** The accept rule for one side of one fill, after its fee. `asOpen`: the taker, whose remainder counts as if it rested. */
  #accepts(
    account: NaiveAccount,
    market: NaiveMarket,
    order: NaiveOrder,
    asOpen: NaiveOrder | undefined,
    price: number,
    size: number,
    feeBps: number
  ): boolean {
    const held = this.#quantity(account, market)
    const before = this.margin(account, undefined)
    // Other reduce-only orders are left out: they are trimmed to what is left to reduce, so they can never make a
    // flip of it, and a resting take-profit must not block a close.
    const others = account.open.filter((other) =>
      other !== order && other.market === market.index && other.side === order.side && !other.reduceOnly
    )
    const opposes = held !== 0 && held > 0 === (order.side === Order.sell)
    // An order that can never rest needs no margin of its own, nor does a reduce-only order: others are checked when they trade.
    const stands = order.reduceOnly || order.timeInForce === Order.ioc
    const onlyReduces = opposes && remaining(order) + (stands ? 0 : sum(others.map(remaining))) <= Math.abs(held)

    const notional = BigInt(size) * BigInt(price) * market.factor
    const traded = trade(account.positions.get(market.index), signed(order.side, size), notional)
    const after: NaiveAccount = {
      ...account,
      collateral: account.collateral + traded.realized - ceilDiv(notional * BigInt(feeBps), 10_000n),
      positions: new Map(account.positions).set(market.index, traded.position),
      open: account.open.map((other) => (other === order ? { ...order, filled: order.filled + size } : other))
    }
    const rest = remaining(order) - size
    const margin = this.margin(
      after,
      asOpen === undefined || asOpen.reduceOnly
        ? undefined
        : { market: market.index, side: order.side, price: order.price, size: rest }
    )
    if (abs(after.collateral) > largestTotal || abs(margin.equity) > largestTotal) return false
    if (margin.marginEquity - margin.orderLoss >= margin.initialMargin) return true
    if (!onlyReduces) return false
    return margin.equity >= margin.maintenanceMargin
      || (margin.equity >= 0n && margin.equity * before.maintenanceMargin >= before.equity * margin.maintenanceMargin)
  }

  #fill(market: NaiveMarket, maker: NaiveOrder, taker: NaiveOrder, size: number): void {
    const notional = BigInt(size) * BigInt(maker.price) * market.factor
    const sides = [[maker, market.parameters.makerFeeBps], [taker, takerFeeBps(market, taker)]] as const
    const heldBefore = sides.map(([order]) => this.#quantity(this.accounts[order.account]!, market))
    const fees: Array<bigint> = []
    for (const [order, feeBps] of sides) {
      const account = this.accounts[order.account]!
      const traded = trade(account.positions.get(market.index), signed(order.side, size), notional)
      const fee = ceilDiv(notional * BigInt(feeBps), 10_000n)
      this.#credit(account, traded.realized, "realized_pnl", market.index)
      this.#credit(account, -fee, "fee", market.index)
      this.feesCollected += fee
      fees.push(fee)
      const reason = order.by === "liquidation" ? "liquidation" : order.by === "closing" ? this.brackets.closes : "user_close"
      this.#liveThrough(account, market, {
        change: signed(order.side, size),
        notional,
        realizedPnl: traded.realized,
        fee,
        reason,
        isFill: true
      })
      const before = this.#quantity(account, market)
      this.#hold(account, market, traded.position)
      this.brackets.opened(order.number, before, traded.position.quantity)
      order.filled += size
      order.filledNotional += notional
      this.#touch(order)
      if (remaining(order) === 0) {
        this.#end(order, order.canceled === 0 ? Order.closed : Order.canceled)
        if (order.canceled > 0) order.cancelReason = CancelReason.reduceOnlyExceeded
      }
    }
    if (taker.by === "closing") this.brackets.closed(size)
    market.lastPrice = maker.price
    market.bookSequence = this.sequence
    this.#show(market)
    const fill: NaiveFill = {
      ordinal: this.trades.length,
      sequence: this.sequence,
      atEpochMs: this.atEpochMs,
      makerFee: fees[0]!,
      takerFee: fees[1]!,
      market: market.index,
      maker,
      taker,
      price: maker.price,
      size,
      makerPositionBefore: heldBefore[0]!,
      takerPositionBefore: heldBefore[1]!
    }
    this.#fills.push(fill)
    this.trades.push(fill)
    this.history.traded(fill)
    market.trades.push(fill)
    this.#holdReduceOnly(this.accounts[maker.account]!, market)
    this.#holdReduceOnly(this.accounts[taker.account]!, market)
  }

  /** Notes a fill in the episode of a position, which is still unchanged. */
  #liveThrough(account: NaiveAccount, market: NaiveMarket, lived: Lived): void {
    const { change, fee, realizedPnl } = lived
    const held = this.#quantity(account, market)
    const after = held + change
    const running = account.episodes.get(market.index)
    const { atEpochMs, sequence } = this
    const opens = held === 0 || after !== 0 && held > 0 !== after > 0
    this.history.changes.push({
      _tag: "Changed",
      account: account.index,
      market: market.index,
      sequence,
      atEpochMs,
      held,
      opened: opens ? this.episodes + 1 : undefined,
      ...lived
    })
    if (held === 0 || after !== 0 && held > 0 !== after > 0) {
      // A flip pays one fee for the whole fill: the new episode bears the share of its own size, rounded up.
      const feesPaid = ceilDiv(fee * BigInt(Math.abs(after)), BigInt(Math.abs(change)))
      const lastSequence = this.sequence
      account.episodes.set(market.index, {
        ordinal: ++this.episodes,
        openedAtEpochMs: this.atEpochMs,
        realizedPnl: 0n,
        fundingPaid: 0n,
        feesPaid,
        lastSequence
      })
    } else if (after === 0) account.episodes.delete(market.index)
    else {
      running!.realizedPnl += realizedPnl
      running!.feesPaid += fee
      running!.lastSequence = this.sequence
    }
  }

  /** Sends an immediate order of the venue's own for an account. Returns its filled size. */
  #sendOwn(account: NaiveAccount, market: NaiveMarket, change: number, limit: number | undefined, by: NaiveOrder["by"]): NaiveSent {
    const order: NaiveOrder = {
      by,
      number: ordinal(this.sequence, firstOwnOrder + this.#sent++),
      account: account.index,
      market: market.index,
      side: change > 0 ? Order.buy : Order.sell,
      type: limit === undefined ? Order.market : Order.limit,
      timeInForce: Order.ioc,
      price: limit ?? 0,
      quantity: Math.abs(change),
      postOnly: false,
      reduceOnly: true,
      selfTradePrevention: Order.cancelResting,
      clientOrderId: "",
      idempotencyKey: "",
      expiresAtEpochMs: 0,
      createdAtEpochMs: this.atEpochMs,
      status: Order.open,
      cancelReason: CancelReason.none,
      filled: 0,
      filledNotional: 0n,
      canceled: 0,
      trimmed: 0,
      updatedAtEpochMs: this.atEpochMs,
      lastSequence: this.sequence,
      endedAtEpochMs: 0,
      retentionMs: this.retentionMs
    }
    this.ownOrders.set(order.number, account.index)
    this.#match(order)
    return { filled: order.filled, notional: order.filledNotional, hasMetEnough: this.#metEnough.has(order.number) }
  }

  /** Why a position ends that is transferred without a trade: the kind of the step that was published last. */
  #exchangedBy({ index }: NaiveAccount): NaiveReason {
    const { account, step } = this.published.steps.at(-1)!
    if (step === "settlement") return "market_delisted"
    if (account === index) return "liquidation"
    return step === "deleveraging" ? "auto_deleveraged" : "user_close"
  }

  /** Transfers a position at a price: no trade, and no fee. */
  #exchange(account: NaiveAccount, market: NaiveMarket, change: number, price: bigint): void {
    const notional = BigInt(Math.abs(change)) * price * market.factor
    const traded = trade(account.positions.get(market.index), change, notional)
    const reason = this.#exchangedBy(account)
    this.#liveThrough(account, market, { change, notional, realizedPnl: traded.realized, fee: 0n, reason, isFill: false })
    this.#hold(account, market, traded.position)
    this.#credit(account, traded.realized, "realized_pnl", market.index)
    this.#holdReduceOnly(account, market)
  }

  #hold(account: NaiveAccount, market: NaiveMarket, position: NaivePosition): void {
    this.#changes++
    if (position.quantity === 0) account.positions.delete(market.index)
    else {
      account.positions.set(market.index, position)
      // The insurance fund enters a market without an order of its own.
      account.cameTo.add(market.index)
      market.came.add(account.index)
    }
  }

  /** Trims an account's resting reduce-only orders to the size that can be reduced, newest first. */
  #holdReduceOnly(account: NaiveAccount, market: NaiveMarket): void {
    const held = this.#quantity(account, market)
    const reduceOnly = account.open.filter((order) => order.market === market.index && order.reduceOnly)
    for (const side of [Order.buy, Order.sell] as const) {
      const orders = reduceOnly.filter((order) => order.side === side)
      const closes = held !== 0 && held > 0 === (side === Order.sell)
      let excess = sum(orders.map(remaining)) - (closes ? Math.abs(held) : 0)
      for (const order of [...orders].reverse()) {
        if (excess <= 0) break
        const taken = Math.min(excess, remaining(order))
        excess -= taken
        if (taken === remaining(order)) {
          this.#cancel(order, this.#endsFor(order, CancelReason.reduceOnlyExceeded))
          // It counts like an order that was met.
          this.#met++
        } else {
          order.canceled += taken
          order.trimmed += taken
          market.bookSequence = this.sequence
          this.#touch(order)
        }
      }
    }
    this.brackets.hold(account, market)
  }

  // --- cancelling ----------------------------------------------------------------------------------------

  #cancelByUser(account: number, entry: CancelEntry): NaiveOutcome {
    const order = this.orders.get(entry.orderNumber)
    const known = order !== undefined && order.account === account && order.status === Order.open
      && (entry.market === anyMarket || entry.market === order.market) && this.leavesFor(order) === CancelReason.none
    if (!known) return refused(Refusal.orderNotFound, entry.orderNumber)
    this.#cancel(order, CancelReason.user)
    return stateOf(order)
  }

  /**
   * Cancels an account's open orders, in one market or in all: in all markets up to a number in this record, and the others leave. Returns
   * how many were cancelled, and how many in all that were not leaving before.
   */
  #cancelAll(
    account: NaiveAccount,
    market: number,
    reason: Order.CancelReason,
    atMost: number
  ): { readonly now: number; readonly all: number } {
    const leaver = this.#leaving.get(account.index)
    const left = (order: NaiveOrder): boolean => this.#isLost(order) || leaver !== undefined && order.number < leaver.before
    const orders = account.open.filter((order) => market === anyMarket || order.market === market)
    const all = orders.filter((order) => !left(order)).length
    if (market !== anyMarket) {
      for (const order of orders) this.#cancel(order, left(order) ? this.leavesFor(order) : reason)
      return { now: orders.length, all }
    }
    const before = ordinal(this.sequence, 0)
    const now = this.#cancelOldest(account, before, reason, atMost)
    if (account.open.length > 0) this.#leaving.set(account.index, { reason, before })
    else this.#leaving.delete(account.index)
    return { now, all }
  }

  /** Cancels up to `atMost` of an account's orders below a number, most recently entered market first. Returns how many. */
  #cancelOldest(account: NaiveAccount, before: number, reason: Order.CancelReason, atMost: number): number {
    const markets = [...account.cameTo]
    const meant = account.open
      .filter((order) => order.number < before)
      .sort((one, other) => markets.indexOf(other.market) - markets.indexOf(one.market))
      .slice(0, atMost)
    for (const order of meant) this.#cancel(order, this.#isLost(order) ? CancelReason.disconnected : reason)
    return meant.length
  }

  /** Whether an order came over an armed connection that has ended. */
  #isLost({ connection }: NaiveOrder): boolean {
    return connection !== undefined && this.#over.has(connection)
  }

  /**
   * Cancels orders for an operator, up to a number: a single order of any account; of an account the lowest market first and in it the
   * longest resting; of a market the next to trade, bids first.
   */
  #cancelByOperator({ market, ofAccount, orderNumber, tellsOwner }: CancelByOperator): NaiveOutcome {
    const order = this.orders.get(orderNumber)
    const isThere = order?.status === Order.open && this.leavesFor(order) === CancelReason.none
    if (orderNumber >= 0 && !isThere) return refused(Refusal.orderNotFound, orderNumber)
    const meant = order !== undefined
      ? [order]
      : ofAccount === -1
      ? this.#byTurn(this.markets[market]!)
      : this.accounts[ofAccount]!.open
        .filter((open) => market === anyMarket || open.market === market)
        .sort((one, other) => one.market - other.market)
    const ended = meant.slice(0, canceledByOperatorAtOnce)
    // Orders that leave are gone for the operator, too: they end with their own reason and do not count as cancelled by the operator.
    const taken = ended.filter((each) => this.leavesFor(each) === CancelReason.none)
    for (const each of ended) this.#cancel(each, this.#endsFor(each, CancelReason.operator))
    for (const account of tellsOwner ? new Set(taken.map((each) => each.account)) : []) {
      const count = taken.filter((each) => each.account === account).length
      this.identity.note(account, "operator_canceled_orders", "", "", `${count} order${count === 1 ? "" : "s"}`)
    }
    return { ...done(-1), canceled: taken.length, left: meant.length - ended.length }
  }

  /** A market's resting orders: bids before offers, best price first, oldest first. */
  #byTurn(market: NaiveMarket): ReadonlyArray<NaiveOrder> {
    const bids = market.resting.filter(({ side }) => side === Order.buy).sort((one, other) => other.price - one.price)
    const offers = market.resting.filter(({ side }) => side === Order.sell).sort((one, other) => one.price - other.price)
    return [...bids, ...offers]
  }

  /** Fences a key or a clientOrderId under which nothing is remembered. */
  #fence({ account, fencedClientOrderId, fencedKey }: FenceOutcome): NaiveOutcome {
    const seen = fencedKey === ""
      ? this.#isNamed(account, fencedClientOrderId)
      : this.everDecided(account, fencedKey).some((memory) => this.isRemembered(memory, this.atEpochMs))
    if (seen) return refused(Refusal.alreadySeen, -1)
    const name = fencedKey === "" ? `clientOrderId/${fencedClientOrderId}` : `key/${fencedKey}`
    // A fence that already holds longer than a new one would stays as it is.
    const before = this.#fences.get(`${account}/${name}`)?.holdsUntilEpochMs ?? 0
    const holdsUntilEpochMs = Math.max(before, this.atEpochMs + this.retentionMs)
    this.#fences.set(`${account}/${name}`, { sequence: this.sequence, holdsUntilEpochMs })
    if (holdsUntilEpochMs > before) {
      const isOver = (atEpochMs: number): boolean => atEpochMs >= holdsUntilEpochMs
      this.#keep(`fence/${account}/${name}`, { account, outcomes: 1, retentionMs: this.retentionMs, isOver })
    }
    return { ...done(-1), holdsUntilEpochMs }
  }

  #cancel(order: NaiveOrder, reason: Order.CancelReason): void {
    order.canceled += remaining(order)
    order.cancelReason = reason
    this.#end(order, Order.canceled)
    this.#touch(order)
  }

  #end(order: NaiveOrder, status: Order.Status): void {
    if (order.by === "client") this.#queue(order)
    this.#promise(order)
    order.status = status
    order.endedAtEpochMs = this.atEpochMs
    const market = this.markets[order.market]!
    const account = this.accounts[order.account]!
    if (market.resting.includes(order)) market.bookSequence = this.sequence
    market.resting = market.resting.filter((other) => other !== order)
    account.open = account.open.filter((other) => other !== order)
    this.brackets.orderEnded(order.number)
  }

  #touch(order: NaiveOrder): void {
    if (order.by !== "client") return
    this.accounts[order.account]!.lastSequence = this.sequence
    order.updatedAtEpochMs = this.atEpochMs
    order.lastSequence = this.sequence
    this.#touchedOrders.add(order)
    this.#touchedAccounts.add(order.account)
  }

  // --- money ---------------------------------------------------------------------------------------------

  #quantity(account: NaiveAccount, market: NaiveMarket): number {
    return account.positions.get(market.index)?.quantity ?? 0
  }

  /** Whether an account holds a position in a market whose mark does not move, so that nothing may be withdrawn. */
  isStuck(account: NaiveAccount, atEpochMs = this.atEpochMs): boolean {
    return [...account.positions.keys()].some((market) => this.halted || !Risk.isLive(this.markets[market]!, atEpochMs))
  }

  /** Equity and requirements of an account, with an extra order counted as open. */
  margin(account: NaiveAccount, extra: NaiveExtra | undefined): NaiveMargin {
    return marginOf(this.markets, account, extra)
  }

  /** Aggregated levels of a side as [priceAtoms, sizeAtoms], best first; beyond 2^53 the number nearest to a size. */
  levels(market: number, side: Order.Side): ReadonlyArray<readonly [number, number]> {
    const sizes = new Map<number, bigint>()
    for (const order of this.markets[market]!.resting) {
      if (order.side === side) sizes.set(order.price, (sizes.get(order.price) ?? 0n) + BigInt(remaining(order)))
    }
    return [...sizes].map(([price, size]) => [price, Number(size)] as const)
      .sort((a, b) => (side === Order.buy ? b[0] - a[0] : a[0] - b[0]))
  }

  /** The sum of all long positions in a market, size atoms; beyond 2^53 the number nearest to it. */
  openInterest(market: number): number {
    return Number(this.accounts.reduce((sum, { positions }) => sum + BigInt(Math.max(0, positions.get(market)?.quantity ?? 0)), 0n))
  }
}

/** An order in the form in which a market checks it. */
interface Checked {
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  readonly price: number
  /** Its open size. */
  readonly quantity: number
  /** Its total size. */
  readonly total: number
  /** Its filled size. */
  readonly filled: number
  readonly postOnly: boolean
  readonly reduceOnly: boolean
}
