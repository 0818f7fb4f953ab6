/**
 * Traps for traders who are to be ruined: prices of an operator's that are timed to the tick, so that one of them falls where
 * that is rarely met by chance.
 *
 * One kind has a trader fall with the very tick that ends an interval of funding, so that he waits to be looked at while payments
 * are still in line. The other leaves a trader with a loss in one of his markets, halts that, and has the next of his markets go
 * just as far as he would not have borne without that loss either: as soon as a part of him is sold he is under by that loss alone.
 */
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import type { Traps as Drawn } from "../faults/Options.js"
import { wholeNotional } from "../model/NaiveLiquidation.js"
import { profitOf, valueOf } from "../model/NaiveMoney.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Brink from "./Brink.js"
import type { OperatorsDesk } from "./Desk.js"

/** What an operator does for a trap. */
export interface Hands {
  readonly price: (market: NaiveMarket, priceAtoms: number) => void
  readonly halt: (market: NaiveMarket) => void
  readonly open: (market: NaiveMarket) => void
  /** All fees so far go to the insurance fund. */
  readonly fund: () => void
}

/** Marks are made with a second's first record. */
const tickMs = 1_000
/** How long before a tick the price is sent that is to make its mark: so late that hardly anything comes in between. */
const shotMs = 60
/** How long behind a tick its mark is known. */
const knownMs = 100
/** Of how many that are drawn the nearest is taken. */
const drawnAtOnce = 6
/** How far beyond the brink a price lies where it may: somebody else's trades move it. */
const beyondBps = 30
/** How long a market stays halted behind the tick that sells somebody else's position. */
const haltedMs = 2_200

/** Somebody and a market that he holds a position in. */
interface Aim {
  readonly account: NaiveAccount
  readonly market: NaiveMarket
}

/** Somebody to be taken by a market, what he has lost elsewhere that does not count for it, and what is to be halted so that it does not. */
interface Fall {
  readonly aim: Aim
  readonly spared: bigint
  readonly halted: NaiveMarket | undefined
  /** Whether something lives of him when his first part is sold, whatever that finds. */
  readonly leavesRest: boolean
}

/** Whether only a part of a position is sold at a time. */
const isLarge = ({ account, market }: Aim): boolean => valueOf(market, account.positions.get(market.index)!) > wholeNotional

/** How far a market's index has to go, as a part of it. */
const wayTo = ({ bad }: Brink.Brink, { risk: { index } }: NaiveMarket): number => Math.abs(bad - index) / index

export class Traps {
  constructor(readonly desk: OperatorsDesk, readonly hands: Hands, readonly random: SimRandom, readonly drawn: Drawn) {}

  start(): void {
    this.desk.time.after(this.random.until(this.drawn.meanPauseMs), () => {
      if (!this.desk.isOpen()) return
      const again = (): void => this.start()
      if (this.random.chance(this.drawn.fundingShare)) this.#atFunding(again)
      else this.#atLoss(again)
    })
  }

  // --- who falls as funding is paid --------------------------------------------------------------------------

  /** Has somebody fall with the tick that ends the next interval of funding. */
  #atFunding(next: () => void): void {
    const tickAt = this.#nextFunding()
    if (tickAt === undefined) return next()
    this.#shoot(() => this.#nearest(this.#aims(tickAt), tickAt), tickAt,
      ({ bad, good }) => bad + Math.sign(bad - good) * Math.ceil((bad * beyondBps) / 10_000))
    this.#when(tickAt + knownMs, next)
  }

  /** When the next interval ends for which somebody will pay, of those that there is time to aim for. */
  #nextFunding(): number | undefined {
    const { accounts, markets } = this.desk.model
    const earliest = this.desk.venueEpochMs() + shotMs
    const isHeld = ({ index }: NaiveMarket): boolean => accounts.some(({ positions }) => positions.has(index))
    const ends = markets
      .filter((market) => Risk.isGoing(market, earliest) && market.parameters.fundingCapE9 > 0 && isHeld(market))
      .map(({ parameters: { fundingIntervalMs } }) => Math.ceil(earliest / fundingIntervalMs) * fundingIntervalMs)
    return ends.length === 0 ? undefined : Math.min(...ends)
  }

  // --- who has a loss where nothing lives --------------------------------------------------------------------

  /** Leaves somebody with a loss in a market that is halted then, and takes him by another of his. */
  #atLoss(next: () => void): void {
    const tickAt = this.#nextTick()
    this.hands.fund()
    const falls = this.#falls(tickAt)
    const leaving = falls.filter(({ leavesRest }) => leavesRest)
    const fall = this.#shortest(leaving.length > 0 ? leaving : falls)
    if (fall !== undefined) return this.#fells(fall, next)
    const aims = this.#aims(tickAt)
    const several = aims.filter(({ account, market }) =>
      account.liquidation === undefined && aims.some((each) => each.account === account && each.market !== market)
    )
    const losing = this.#nearest(several, tickAt)
    if (losing === undefined) return next()
    this.#shoot(() => losing, tickAt, ({ good }) => good)
    this.#when(tickAt + knownMs, () => {
      const found = this.#shortest(this.#falls(this.#nextTick()).filter(({ aim }) => aim.account === losing.account))
      if (found === undefined) next()
      else this.#fells(found, next)
    })
  }

  /**
   * How accounts can be made to fall in a market that lives although what they have lost in those that do not is left out, and far
   * enough then; where that is what they have lost in another one, that is to be halted before.
   */
  #falls(tickAt: number): ReadonlyArray<Fall> {
    const all = this.#aims(tickAt)
    return [...new Set(all.map(({ account }) => account))].flatMap((account) => {
      const lost = Brink.doubtful(this.desk.model, account, tickAt)
      const aims = all.filter((each) => each.account === account)
      return aims.flatMap((aim): ReadonlyArray<Fall> => [
        ...(lost > 0n ? [{ aim, halted: undefined, spared: lost, leavesRest: aims.length > 1 || isLarge(aim) }] : []),
        ...aims.flatMap(({ market }): ReadonlyArray<Fall> => {
          const profit = profitOf(market, account.positions.get(market.index)!)
          const leavesRest = aims.length > 2 || isLarge(aim)
          return market === aim.market || profit >= 0n ? [] : [{ aim, halted: market, spared: lost - profit, leavesRest }]
        })
      ])
    })
  }

  /** Of a few that are drawn the one that has the shortest way to go. */
  #shortest(falls: ReadonlyArray<Fall>): Fall | undefined {
    const { model } = this.desk
    const tickAt = this.#nextTick()
    return this.#least(falls, ({ aim: { account, market }, spared }) => {
      const brink = Brink.sparing(model, account, market, tickAt, spared)
      return brink !== undefined && Brink.isFarUnder(model, account, market, tickAt, brink) ? wayTo(brink, market) : undefined
    })
  }

  /** Makes somebody fall so, and opens again what it halts for that. */
  #fells({ aim, halted }: Fall, next: () => void): void {
    if (!this.desk.isOpen()) return
    if (halted !== undefined) this.hands.halt(halted)
    this.desk.time.after(knownMs, () => {
      const tickAt = this.#nextTick()
      this.#shoot(() => aim, tickAt, ({ bad }) => bad)
      this.#when(tickAt + haltedMs, () => {
        if (halted !== undefined && this.desk.isOpen()) this.hands.open(halted)
        next()
      })
    })
  }

  // --- prices ------------------------------------------------------------------------------------------------

  /** The next tick that there is time to aim for. */
  #nextTick(): number {
    return Math.ceil((this.desk.venueEpochMs() + shotMs) / tickMs) * tickMs
  }

  /** Does something at a time of the venue's clock, if nobody sets that meanwhile. */
  #when(atEpochMs: number, act: () => void): void {
    this.desk.time.after(Math.max(0, atEpochMs - this.desk.venueEpochMs()), act)
  }

  /** Everybody but the insurance fund, with each market that lives at a time and in which he holds a position. */
  #aims(atEpochMs: number): ReadonlyArray<Aim> {
    const { desk: { model } } = this
    return model.accounts.filter((account) => account !== model.fund).flatMap((account) =>
      [...account.positions.keys()]
        .map((index) => ({ account, market: model.markets[index]! }))
        .filter(({ market }) => market.mark > 0 && Risk.isGoing(market, atEpochMs))
    )
  }

  /** Of a few that are drawn the one whose market has the shortest way to go until he falls. */
  #nearest(aims: ReadonlyArray<Aim>, tickAt: number): Aim | undefined {
    return this.#least(aims, ({ account, market }) => {
      const brink = this.#brink({ account, market }, tickAt)
      return brink === undefined ? undefined : wayTo(brink, market)
    })
  }

  /** Of a few that are drawn the one of which something is least, of those of which there is any. */
  #least<A>(all: ReadonlyArray<A>, of: (one: A) => number | undefined): A | undefined {
    const left = [...all]
    let found: A | undefined
    let least = Number.POSITIVE_INFINITY
    for (let drawn = 0; drawn < drawnAtOnce && left.length > 0; drawn++) {
      const [one] = left.splice(this.random.below(left.length), 1)
      const measure = of(one!) ?? Number.POSITIVE_INFINITY
      if (measure < least) [found, least] = [one, measure]
    }
    return found
  }

  /** Where somebody falls although what he has lost in markets that do not live is left out. */
  #brink({ account, market }: Aim, tickAt: number): Brink.Brink | undefined {
    const { model } = this.desk
    return Brink.sparing(model, account, market, tickAt, Brink.doubtful(model, account, tickAt))
  }

  /** Sends the price for a tick to whoever is to fall with it by then. */
  #shoot(aimed: () => Aim | undefined, tickAt: number, priceOf: (brink: Brink.Brink) => number): void {
    this.#when(tickAt - shotMs, () => {
      const aim = this.desk.isOpen() ? aimed() : undefined
      const priceAtoms = aim === undefined ? undefined : this.#price(aim, tickAt, priceOf)
      if (aim !== undefined && priceAtoms !== undefined) this.hands.price(aim.market, priceAtoms)
    })
  }

  #price({ account, market }: Aim, tickAt: number, priceOf: (brink: Brink.Brink) => number): number | undefined {
    const isThere = account.positions.has(market.index) && Risk.isGoing(market, tickAt)
    const brink = isThere ? this.#brink({ account, market }, tickAt) : undefined
    const { maxPriceAtoms, minPriceAtoms } = market.parameters
    return brink === undefined ? undefined : Math.min(maxPriceAtoms, Math.max(minPriceAtoms, priceOf(brink)))
  }
}
