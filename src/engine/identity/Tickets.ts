/**
 * Families of realtime tickets. A key mints the first ticket of a family, and each rotation replaces the current ticket with a
 * successor. A ticket that is presented again after its rotation has been copied by somebody, which ends the whole family. The
 * tickets themselves are not stored: only their family and their generation within it are known here.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseLine } from "../../domain/Stepwise.js"
import { Held, isBeyondPart } from "../Share.js"
import type { IdentityBounds } from "./Bounds.js"

/** How long a ticket lives, unless its family ends before. */
const ticketMs = 5 * 60 * 1000
/** How long a family lives at most. */
export const familyMs = 12 * 60 * 60 * 1000
/** For this long after a rotation the previous ticket may be presented once more, since the answer may have been lost, in ms. */
const repeatMs = 10_000
/** Most expired families that are forgotten with each new one: more than one, so that their number falls. */
const forgottenAtOnce = 8

export interface TicketFamily {
  /** The number of the family, counted over the whole venue from 0. */
  readonly family: number
  readonly apiKey: number
  readonly account: number
  /** Bit 0: read, bit 1: trade. */
  readonly scopes: number
  readonly begunAtEpochMs: number
  /** When every ticket of the family ends: after twelve hours, or when its key expires. */
  readonly endsAtEpochMs: number
  /** The generation of the current ticket, from 0. */
  readonly generation: number
  /** When the current ticket was issued. */
  readonly rotatedAtEpochMs: number
  /** Whether the previous ticket has been presented once more since then. */
  readonly isRepeated: boolean
  /** Whether the family was ended: by the holder of a ticket, by its key, or because an old ticket was presented. */
  readonly isEnded: boolean
}

/** When the current ticket expires. */
export const expiresAt = ({ endsAtEpochMs, rotatedAtEpochMs }: TicketFamily): number => Math.min(rotatedAtEpochMs + ticketMs, endsAtEpochMs)

/**
 * Whether a ticket is the immediate predecessor of its family's current one, and was replaced so recently that its holder may not have
 * been told of the successor.
 */
export const isJustReplaced = (family: TicketFamily, generation: number, atEpochMs: number): boolean =>
  generation === family.generation - 1 && atEpochMs - family.rotatedAtEpochMs <= repeatMs

/**
 * The standing of a ticket within its family at a time. `previous` may be presented once more, for the same successor; `rotated`
 * may not, and shows that somebody holds a copy. All tickets of an unknown family count as expired.
 */
export type Standing = "current" | "previous" | "rotated" | "expired" | "revoked" | "invalid"

export const standingOf = (family: TicketFamily | undefined, generation: number, atEpochMs: number): Standing => {
  if (family === undefined) return "expired"
  if (family.isEnded) return "revoked"
  if (expiresAt(family) <= atEpochMs) return "expired"
  if (generation === family.generation) return "current"
  if (generation > family.generation) return "invalid"
  const isLostAnswer = isJustReplaced(family, generation, atEpochMs) && !family.isRepeated
  return isLostAnswer ? "previous" : "rotated"
}

/** A ticket that authorised a command: its family, and when it expires. */
export interface ShownTicket {
  readonly family: number
  readonly expiresAtEpochMs: number
}

export class Tickets {
  /** Families begun so far, which is also the number of the next. */
  total = 0
  /** In the order of their latest rotations, so that expired families come first. */
  private readonly byFamily = new StepwiseLine<number, TicketFamily>()
  private readonly byKey = new Multimap<number, number>()
  private readonly held = new Held()

  constructor(private readonly bounds: Pick<IdentityBounds, "families" | "familiesOfKey" | "familyParts">) {}

  find(family: number): TicketFamily | undefined {
    return this.byFamily.get(family)
  }

  add(family: TicketFamily): void {
    assert(!this.byFamily.has(family.family), "a family is begun once")
    this.total = Math.max(this.total, family.family + 1)
    this.byFamily.set(family.family, family)
    this.byKey.add(family.apiKey, family.family)
    this.held.add(family.account, 1)
  }

  /** Replaces the current ticket with its successor. */
  rotate(family: TicketFamily, atEpochMs: number): TicketFamily {
    const rotated = { ...family, generation: family.generation + 1, rotatedAtEpochMs: atEpochMs, isRepeated: false }
    this.byFamily.delete(family.family)
    this.byFamily.set(family.family, rotated)
    return rotated
  }

  /** Notes that the previous ticket was presented once more. */
  repeat(family: TicketFamily): void {
    this.byFamily.set(family.family, { ...family, isRepeated: true })
  }

  /**
   * Ends a family, so that none of its tickets is valid. The family is kept until it would have expired, to be reported as revoked.
   */
  end(family: TicketFamily): void {
    this.byFamily.set(family.family, { ...family, isEnded: true })
  }

  /**
   * The families of a key, oldest first. They are sorted by number, since a restored snapshot holds them in the order of their
   * latest rotations.
   */
  private of(apiKey: number): ReadonlyArray<TicketFamily> {
    return [...this.byKey.of(apiKey)].sort((one, other) => one - other).map((family) => this.byFamily.get(family)!)
  }

  /** The families of a key whose current ticket is valid at a time. */
  liveOf(apiKey: number, atEpochMs: number): ReadonlyArray<TicketFamily> {
    return this.of(apiKey).filter((family) => !family.isEnded && expiresAt(family) > atEpochMs)
  }

  private remove({ account, apiKey, family }: TicketFamily): void {
    this.byFamily.delete(family)
    this.byKey.remove(apiKey, family)
    this.held.add(account, -1)
  }

  /**
   * Whether there is no room for another family at a time. Expired families count as room, since the next one makes room by
   * forgetting them.
   */
  isFull(atEpochMs: number): boolean {
    if (this.byFamily.size < this.bounds.families) return false
    const [oldest] = this.byFamily.values()
    return expiresAt(oldest!) > atEpochMs
  }

  /**
   * Whether another family would exceed the account's share of the free ones at a time. Families that the next one would forget
   * count as free. While more have expired than it would forget, no account is held to a share.
   */
  isBeyondPart(account: number, atEpochMs: number): boolean {
    const { bounds, byFamily, held } = this
    let over = 0
    let own = 0
    for (const family of byFamily.values()) {
      if (expiresAt(family) > atEpochMs) break
      if (over === forgottenAtOnce) return false
      over++
      if (family.account === account) own++
    }
    return isBeyondPart(bounds.familyParts, held.of(account) - own, 1, bounds.families - byFamily.size + over)
  }

  /**
   * Makes room for another family of a key: forgets some expired families and, where the key has as many as it may, one of its own
   * that has ended.
   */
  makeRoom(apiKey: number, atEpochMs: number): void {
    let left = forgottenAtOnce
    for (const family of this.byFamily.values()) {
      if (expiresAt(family) > atEpochMs || left-- === 0) break
      this.remove(family)
    }
    if (this.byKey.countOf(apiKey) < this.bounds.familiesOfKey) return
    const gone = this.of(apiKey).find((family) => family.isEnded || expiresAt(family) <= atEpochMs)
    if (gone !== undefined) this.remove(gone)
  }

  /** Forgets the expired families of a key. */
  forgetOver(apiKey: number, atEpochMs: number): void {
    for (const family of this.of(apiKey)) if (expiresAt(family) <= atEpochMs) this.remove(family)
  }

  /** All families, in the order of their latest rotations. */
  all(): ReadonlyArray<TicketFamily> {
    return [...this.byFamily.values()]
  }
}
