/**
 * Where histories begin of a journal whose earlier records another version has decided, which this one cannot run again: at the step
 * by which it took over. Positions that were open then are begun with as they stood; what had ended before is not known any more.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Ids from "../domain/Ids.js"
import type { Feed, ReadError, Standing } from "../sequencer/Feed.js"
import type { Episode } from "./Episodes.js"
import { venuesOwn } from "./Projection.js"
import { type Batch, type Place, placeBehind } from "./Tables.js"

/** What there is to begin with, as one batch, and where it is. */
interface Seed {
  readonly batch: Batch
  readonly place: Place
}

/** What there is to begin with at the step of a journal; undefined where that is not there. */
export const seedAt = (feed: Feed["Type"], stepSequence: number): Effect.Effect<Seed | undefined, ReadError> =>
  Effect.map(Stream.runHead(feed.standingFrom(stepSequence)), (standing) => Option.getOrUndefined(Option.map(standing, seedOf)))

const seedOf = ({ block, engine }: Standing): Seed => {
  const accounts = Array.from({ length: engine.occupancy.accounts }, (_, account) => account)
  const scales = Array.from({ length: engine.marketCount }, (_, market) => {
    const { parameters: { priceScale, quantityScale } } = engine.market(market)
    return { market, priceScale, quantityScale }
  })
  const flagsOf = (account: number): number =>
    engine.accountId(account) === Ids.insuranceFundId ? venuesOwn : engine.state.standing.flagsOf(account)
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
        fundingPaidAtoms: position.fundingPaidAtoms,
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
      flags: accounts.map((account) => [account, flagsOf(account)] as const).filter(([, flags]) => flags !== 0)
    },
    place: placeBehind(block)
  }
}
