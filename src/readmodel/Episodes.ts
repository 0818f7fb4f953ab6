/**
 * Position episodes, from the first fill while flat until flat again; a flip ends one and begins the next with the same fill.
 *
 * All money figures derive from what the engine reports of a position after each fill: a growing fill adds entry notional, a
 * closing one releases some and realises the rest. No price is multiplied here, and no market's scales are needed.
 */
import { assert } from "../domain/Assert.js"

/** Why an episode ended. Rows store the index in this list: append only. */
export const closeReasons = ["user_close", "take_profit", "stop_loss", "liquidation", "auto_deleveraged", "market_delisted"] as const
export type CloseReason = (typeof closeReasons)[number]

/** How an episode ended. */
export interface Close {
  readonly sequence: number
  readonly atEpochMs: number
  readonly reason: CloseReason
}

/** An episode. Sizes in unsigned size atoms, money in money atoms; sums may exceed the safe integers. */
export interface Episode {
  /** The number of the episode, for `positionId`. */
  readonly born: number
  readonly account: number
  readonly market: number
  readonly isLong: boolean
  readonly openedAtEpochMs: number
  /** Undefined while it is open. */
  readonly close: Close | undefined
  readonly maxQuantityAtoms: number
  readonly quantityAtoms: number
  /** The entry notional of the quantity still held. */
  readonly heldNotionalAtoms: number
  /** Total size and notional of everything that opened or grew it, and of everything that closed it. */
  readonly entryQuantityAtoms: bigint
  readonly entryNotionalAtoms: bigint
  readonly exitQuantityAtoms: bigint
  readonly exitNotionalAtoms: bigint
  readonly realizedPnlAtoms: number
  readonly feesPaidAtoms: number
  readonly fundingPaidAtoms: number
  readonly lastSequence: number
}

type Open = { -readonly [member in keyof Episode]: Episode[member] }

/** A changed position as in the engine's event, after a fill or a close without one. */
export interface PositionChanged {
  readonly account: number
  readonly market: number
  /** Signed, long positive. */
  readonly quantityAtoms: number
  readonly entryNotionalAtoms: number
  /** Of the episode that continues, or has just ended. */
  readonly realizedPnlAtoms: number
  readonly feesPaidAtoms: number
}

/** The cause of a change. */
export interface Cause {
  readonly sequence: number
  readonly atEpochMs: number
  /** The account's own fee of the fill. */
  readonly feeAtoms: number
  /** Why its position ends, if it does. */
  readonly reason: CloseReason
}

/** The money that a change realised. */
export interface Realized {
  /** PnL realised by the closed part before fees, and its notional. */
  readonly realizedPnlAtoms: number
  readonly closedNotionalAtoms: bigint
}

const nothing: Realized = { realizedPnlAtoms: 0, closedNotionalAtoms: 0n }

/** More markets than there can be, so that each pair of account and market has a number of its own. */
const mostMarkets = 65_536
const placeOf = (account: number, market: number): number => account * mostMarkets + market

export class Episodes {
  private readonly open = new Map<number, Open>()
  private changed = new Set<Open>()
  /** Ended episodes that are not stored yet. */
  private over: Array<Episode> = []

  /** Continues from the stored open episodes, and from the number of episodes so far. */
  constructor(stored: ReadonlyArray<Episode> = [], public born = 0) {
    for (const episode of stored) this.open.set(placeOf(episode.account, episode.market), { ...episode })
  }

  /** Takes a change of a position in. */
  change(to: PositionChanged, cause: Cause): Realized {
    const { account, market, quantityAtoms } = to
    const episode = this.open.get(placeOf(account, market))
    if (episode === undefined) {
      this.begin(to, cause)
      return nothing
    }
    episode.lastSequence = cause.sequence
    const held = episode.isLong ? quantityAtoms : -quantityAtoms
    if (held > episode.quantityAtoms) {
      this.grow(episode, to)
      return nothing
    }
    return held < 0 ? this.flip(episode, to, cause) : this.reduce(episode, to, cause)
  }

  /** Takes a payment of funding in; negative where it was received. */
  pay(account: number, market: number, paidAtoms: number, sequence: number): void {
    const episode = this.open.get(placeOf(account, market))
    assert(episode !== undefined, "funding is paid for a position")
    episode.fundingPaidAtoms += paidAtoms
    episode.lastSequence = sequence
    this.changed.add(episode)
  }

  /** Ended or changed episodes waiting to be stored. */
  get waiting(): number {
    return this.over.length + this.changed.size
  }

  /** Returns the rows to be stored, which then count as stored. */
  take(): ReadonlyArray<Episode> {
    const rows = [...this.over, ...[...this.changed].map((episode) => ({ ...episode }))]
    this.over = []
    this.changed = new Set()
    return rows
  }

  private begin({ account, entryNotionalAtoms, feesPaidAtoms, market, quantityAtoms }: PositionChanged, cause: Cause): void {
    assert(quantityAtoms !== 0, "an episode begins with a position")
    const sizeAtoms = Math.abs(quantityAtoms)
    const episode: Open = {
      born: ++this.born,
      account,
      market,
      isLong: quantityAtoms > 0,
      openedAtEpochMs: cause.atEpochMs,
      close: undefined,
      maxQuantityAtoms: sizeAtoms,
      quantityAtoms: sizeAtoms,
      heldNotionalAtoms: entryNotionalAtoms,
      entryQuantityAtoms: BigInt(sizeAtoms),
      entryNotionalAtoms: BigInt(entryNotionalAtoms),
      exitQuantityAtoms: 0n,
      exitNotionalAtoms: 0n,
      realizedPnlAtoms: 0,
      feesPaidAtoms,
      fundingPaidAtoms: 0,
      lastSequence: cause.sequence
    }
    this.open.set(placeOf(account, market), episode)
    this.changed.add(episode)
  }

  private grow(episode: Open, { entryNotionalAtoms, feesPaidAtoms, quantityAtoms }: PositionChanged): void {
    const sizeAtoms = Math.abs(quantityAtoms)
    episode.entryQuantityAtoms += BigInt(sizeAtoms - episode.quantityAtoms)
    episode.entryNotionalAtoms += BigInt(entryNotionalAtoms - episode.heldNotionalAtoms)
    episode.quantityAtoms = sizeAtoms
    episode.maxQuantityAtoms = Math.max(episode.maxQuantityAtoms, sizeAtoms)
    episode.heldNotionalAtoms = entryNotionalAtoms
    episode.feesPaidAtoms = feesPaidAtoms
    this.changed.add(episode)
  }

  /** A close releases its share of the entry notional; together with the realised PnL this gives the notional of the close. */
  private reduce(episode: Open, to: PositionChanged, cause: Cause): Realized {
    const sizeAtoms = Math.abs(to.quantityAtoms)
    const released = BigInt(episode.heldNotionalAtoms) - BigInt(to.entryNotionalAtoms)
    const realizedPnlAtoms = to.realizedPnlAtoms - episode.realizedPnlAtoms
    const closedNotionalAtoms = episode.isLong ? released + BigInt(realizedPnlAtoms) : released - BigInt(realizedPnlAtoms)
    episode.exitQuantityAtoms += BigInt(episode.quantityAtoms - sizeAtoms)
    episode.exitNotionalAtoms += closedNotionalAtoms
    episode.quantityAtoms = sizeAtoms
    episode.heldNotionalAtoms = to.entryNotionalAtoms
    episode.realizedPnlAtoms = to.realizedPnlAtoms
    episode.feesPaidAtoms = to.feesPaidAtoms
    if (sizeAtoms === 0) this.end(episode, cause)
    else this.changed.add(episode)
    return { realizedPnlAtoms, closedNotionalAtoms }
  }

  /**
   * The event describes only the new episode. Its entry notional has the price of the close of the old one; the old one bears the
   * part of the fee that the new one does not.
   */
  private flip(episode: Open, to: PositionChanged, cause: Cause): Realized {
    const opened = BigInt(Math.abs(to.quantityAtoms))
    const product = BigInt(to.entryNotionalAtoms) * BigInt(episode.quantityAtoms)
    assert(product % opened === 0n, "both episodes of a flip are of one price")
    const closedNotionalAtoms = product / opened
    const held = BigInt(episode.heldNotionalAtoms)
    const realizedPnlAtoms = Number(episode.isLong ? closedNotionalAtoms - held : held - closedNotionalAtoms)
    episode.exitQuantityAtoms += BigInt(episode.quantityAtoms)
    episode.exitNotionalAtoms += closedNotionalAtoms
    episode.quantityAtoms = 0
    episode.heldNotionalAtoms = 0
    episode.realizedPnlAtoms += realizedPnlAtoms
    episode.feesPaidAtoms += cause.feeAtoms - to.feesPaidAtoms
    this.end(episode, cause)
    this.begin(to, cause)
    return { realizedPnlAtoms, closedNotionalAtoms }
  }

  private end(episode: Open, { atEpochMs, reason, sequence }: Cause): void {
    this.open.delete(placeOf(episode.account, episode.market))
    this.changed.delete(episode)
    this.over.push({ ...episode, close: { sequence, atEpochMs, reason } })
  }
}
