/**
 * Where histories begin if another version decided the journal's first records, which this one cannot replay: at the step by which
 * this version took over, with the state before it; the step's own record is applied like any other. Open positions begin as they
 * stood then, as do the remembered orders, fills, transfers, security events and money rows; what had ended and been forgotten
 * before is unknown.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../domain/Ids.js"
import { anyMarket } from "../domain/None.js"
import type { DecidingVersion } from "../operations/Versions.js"
import type { Before, Feed, ReadError } from "../sequencer/Feed.js"
import type { Episode } from "./Episodes.js"
import type { FillRow } from "./Fills.js"
import { placed } from "./Money.js"
import type { OrderRow } from "./Orders.js"
import { hadBotKey, type Kept, venuesOwn } from "./Projection.js"
import type { Batch, Beginning, Place } from "./Tables.js"

/** The initial rows as one batch, with their place in the journal. */
interface Seed {
  readonly batch: Batch & { readonly beginning: Beginning }
  readonly place: Place
  /** The version that decided what was before. */
  readonly version: DecidingVersion
}

/** The state from which a projection continues after a seed. */
export const keptOf = (
  { batch: { born, episodes, fillCount, flags, rescaled } }: Seed
): Pick<Kept, "scales" | "episodes" | "born" | "flags" | "fills"> => ({
  scales: rescaled,
  episodes,
  born,
  flags,
  fills: fillCount
})

/** The initial rows before a journal's step. */
export const seedBefore = (feed: Pick<Feed["Type"], "standingBefore">, stepSequence: number): Effect.Effect<Seed, ReadError> =>
  Effect.map(feed.standingBefore(stepSequence), seedOf)

type Engine = Before["engine"]

/** Orders taken from the engine at a time. */
const ordersAtOnce = 1_000

/** Every order that is remembered: one account after the other, while the engine stands where it is. */
const ordersOf = function*(engine: Engine, accounts: number): Iterable<OrderRow> {
  for (let account = 0; account < accounts; account++) {
    for (let before: number | undefined = Number.POSITIVE_INFINITY; before !== undefined;) {
      const page = engine.orders(account, { market: anyMarket, status: undefined }, before, ordersAtOnce)
      for (const order of page.orders) {
        yield order.status === 0 ? { ...order, filledAtoms: 0, canceledAtoms: 0, updatedAtEpochMs: order.createdAtEpochMs } : order
      }
      before = page.nextBefore
    }
  }
}

/** Every fill that is remembered, oldest first. */
const fillsOf = (engine: Engine): ReadonlyArray<FillRow> =>
  Array.from({ length: engine.marketCount }, (_, market) => engine.trades(market, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER))
    .flat()
    .sort((one, other) => one.ordinal - other.ordinal)

/** All that is remembered of accounts' money. */
const moneyOf = ({ state: { balances, fundingPayments } }: Engine, accounts: ReadonlyArray<number>): Batch["money"] => ({
  changes: accounts.flatMap((account) => balances.of(account, anyMarket, undefined, Number.MAX_SAFE_INTEGER)),
  payments: placed(fundingPayments.since(0, Number.MAX_SAFE_INTEGER).toReversed())
})

const seedOf = ({ digest, engine, version }: Before): Seed => {
  const accounts = Array.from({ length: engine.occupancy.accounts }, (_, account) => account)
  const scales = Array.from({ length: engine.marketCount }, (_, market) => {
    const { parameters: { priceScale, quantityScale } } = engine.market(market)
    return { market, priceScale, quantityScale }
  })
  // A bot's key that was forgotten is told by nothing that is left.
  const bots = new Set([...engine.state.identity.botKeys.keys()].map((key) => engine.state.apiKeys.account(key)))
  const flagsOf = (account: number): number =>
    engine.accountId(account) === Ids.insuranceFundId
      ? venuesOwn
      : engine.state.standing.flagsOf(account) | (bots.has(account) ? hadBotKey : 0)
  const { positions } = engine.state
  const episodes = accounts.flatMap((account) =>
    engine.positions(account).map((position): Episode => {
      const quantityAtoms = Math.abs(position.quantityAtoms)
      return {
        born: position.born,
        account,
        market: position.market,
        isLong: position.quantityAtoms > 0,
        openedAtEpochMs: position.openedAtEpochMs,
        close: undefined,
        maxQuantityAtoms: quantityAtoms,
        quantityAtoms,
        heldNotionalAtoms: position.entryNotionalAtoms,
        entryQuantityAtoms: BigInt(quantityAtoms),
        entryNotionalAtoms: BigInt(position.entryNotionalAtoms),
        exitQuantityAtoms: 0n,
        exitNotionalAtoms: 0n,
        realizedPnlAtoms: position.realizedPnlAtoms,
        feesPaidAtoms: position.feesPaidAtoms,
        // Funding still queued is paid by later records, each with an event of its own.
        fundingPaidAtoms: positions.fundingPaid(positions.find(account, position.market)),
        lastSequence: position.lastSequence
      }
    })
  )
  return {
    batch: {
      rescaled: scales,
      candles: [],
      episodes,
      born: engine.state.episodes,
      scores: [],
      orders: { placed: ordersOf(engine, accounts.length), changed: [] },
      fills: fillsOf(engine),
      fillCount: engine.state.fills.total,
      money: moneyOf(engine, accounts),
      transfers: engine.state.funds.transfers.allEnded(),
      notes: engine.state.identity.security.all().filter(({ account }) => account >= 0),
      flags: accounts.map((account) => [account, flagsOf(account)] as const).filter(([, flags]) => flags !== 0),
      beginning: {
        sequence: engine.sequence,
        atEpochMs: engine.state.atEpochMs,
        ordersSinceEpochMs: accounts.some((account) => engine.hasForgotten(account, "")) ? engine.state.atEpochMs : 0
      }
    },
    place: { sequence: engine.sequence, atEpochMs: engine.state.atEpochMs, digest },
    version
  }
}
