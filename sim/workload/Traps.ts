/**
 * Traps for traders who are to be ruined: an operator's prices, timed to the tick, by which an account falls under its maintenance margin
 * at a moment that chance rarely meets.
 *
 * In one kind, an account falls at the very tick that ends a funding interval, so that its examination waits while payments are unsettled.
 * In the other, an account has a loss in one of its markets, which is halted, and another of its markets moves just so far that the
 * account would be under its margin even without that loss: after the sale of a part, only that loss keeps it under.
 */
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveAccount, NaiveMarket } from "../model/NaiveState.js"
import type { Traps as Drawn } from "../faults/Options.js"
import { wholeNotional } from "../model/NaiveLiquidation.js"
import { profitOf, valueOf } from "../model/NaiveMoney.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Brink from "./Brink.js"
import type { OperatorsDesk } from "./Desk.js"

/** The operator's acts for a trap. */
export interface Hands {
  readonly price: (market: NaiveMarket, priceAtoms: number) => void
  readonly halt: (market: NaiveMarket) => void
  readonly open: (market: NaiveMarket) => void
  /** Moves all fees collected so far into the insurance fund. */
  readonly fund: () => void
}

/** Marks are made with a second's first record. */
const tickMs = 1_000
/** How long before a tick its price is sent: so late that hardly anything comes in between. */
const shotMs = 60
/** How long after a tick its mark is known. */
const knownMs = 100
/** Of so many drawn candidates the nearest is taken. */
const drawnAtOnce = 6
/** How far beyond the brink a price lies, where it may: other accounts' trades move the brink. */
const beyondBps = 30
/** How long a market stays halted after the tick that causes the liquidation. */
const haltedMs = 2_200

/** An account and a market in which it holds a position. */
interface Aim {
  readonly account: NaiveAccount
  readonly market: NaiveMarket
}

/**
 * An account and the market whose price is to make it fall; its loss elsewhere that does not count for that, and the market to halt so
 * that it does not.
 */
interface Fall {
  readonly aim: Aim
  readonly spared: bigint
  readonly halted: NaiveMarket | undefined
  /** Whether the account keeps a position in a live market after its first part is sold, whatever the sale finds. */
  readonly leavesRest: boolean
}

/** Whether a liquidation sells only a part of the position at a time. */
const isLarge = ({ account, market }: Aim): boolean => valueOf(market, account.positions.get(market.index)!) > wholeNotional

/** The relative distance from a market's index to the brink. */
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

  // --- falls as funding is paid ---------------------------------------------------------------------------------

  /** Makes an account fall at the tick that ends the next funding interval. */
  #atFunding(next: () => void): void {
    const tickAt = this.#nextFunding()
    if (tickAt === undefined) return next()
    this.#shoot(() => this.#nearest(this.#aims(tickAt), tickAt), tickAt,
      ({ bad, good }) => bad + Math.sign(bad - good) * Math.ceil((bad * beyondBps) / 10_000))
    this.#when(tickAt + knownMs, next)
  }

  /** When the next interval ends for which positions pay, of those for which there is still time. */
  #nextFunding(): number | undefined {
    const { accounts, markets } = this.desk.model
    const earliest = this.desk.venueEpochMs() + shotMs
    const isHeld = ({ index }: NaiveMarket): boolean => accounts.some(({ positions }) => positions.has(index))
    const ends = markets
      .filter((market) => Risk.isGoing(market, earliest) && market.parameters.fundingCapE9 > 0 && isHeld(market))
      .map(({ parameters: { fundingIntervalMs } }) => Math.ceil(earliest / fundingIntervalMs) * fundingIntervalMs)
    return ends.length === 0 ? undefined : Math.min(...ends)
  }

  // --- falls with a loss in a market that is not live -----------------------------------------------------------

  /** Gives an account a loss in a market, which is then halted, and makes it fall by another of its markets. */
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
   * How accounts can be made to fall far enough in a live market even without their losses in markets that are not live; where such a loss
   * is in a live market, that market has to be halted first.
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

  /** Of a few drawn candidates the one with the shortest distance. */
  #shortest(falls: ReadonlyArray<Fall>): Fall | undefined {
    const { model } = this.desk
    const tickAt = this.#nextTick()
    return this.#least(falls, ({ aim: { account, market }, spared }) => {
      const brink = Brink.sparing(model, account, market, tickAt, spared)
      return brink !== undefined && Brink.isFarUnder(model, account, market, tickAt, brink) ? wayTo(brink, market) : undefined
    })
  }

  /** Makes an account fall in that way, and reopens the market halted for it. */
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

  /** The next tick for which there is still time. */
  #nextTick(): number {
    return Math.ceil((this.desk.venueEpochMs() + shotMs) / tickMs) * tickMs
  }

  /** Acts at a time of the venue's clock, unless the clock is set meanwhile. */
  #when(atEpochMs: number, act: () => void): void {
    this.desk.time.after(Math.max(0, atEpochMs - this.desk.venueEpochMs()), act)
  }

  /** All accounts but the insurance fund, with each market that is live at a time and in which they hold a position. */
  #aims(atEpochMs: number): ReadonlyArray<Aim> {
    const { desk: { model } } = this
    return model.accounts.filter((account) => account !== model.fund).flatMap((account) =>
      [...account.positions.keys()]
        .map((index) => ({ account, market: model.markets[index]! }))
        .filter(({ market }) => market.mark > 0 && Risk.isGoing(market, atEpochMs))
    )
  }

  /** Of a few drawn candidates the one whose market has the shortest distance to its brink. */
  #nearest(aims: ReadonlyArray<Aim>, tickAt: number): Aim | undefined {
    return this.#least(aims, ({ account, market }) => {
      const brink = this.#brink({ account, market }, tickAt)
      return brink === undefined ? undefined : wayTo(brink, market)
    })
  }

  /** Of a few drawn candidates the one with the least value, among those that have one. */
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

  /** The brink of an account without its losses in markets that are not live. */
  #brink({ account, market }: Aim, tickAt: number): Brink.Brink | undefined {
    const { model } = this.desk
    return Brink.sparing(model, account, market, tickAt, Brink.doubtful(model, account, tickAt))
  }

  /** Sends the price for a tick, for the account that is to fall at it by then. */
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
