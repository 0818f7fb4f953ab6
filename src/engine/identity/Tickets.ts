/**
 * Families of realtime tickets. A key mints a family's first ticket, and each rotation puts a successor in the place of the
 * one before; of a ticket that somebody else has copied the second presentation ends the family. Of the tickets themselves
 * nothing is known here: only which of its family's each is, in turn.
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
/** For so long after a rotation the previous ticket may be presented once more: the answer may have been lost. */
const repeatMs = 10_000
/** Families that are over and forgotten with each new one, at most: more than one, so that they become fewer. */
const forgottenAtOnce = 8

export interface TicketFamily {
  /** Counts all families of the venue, from 0. */
  readonly family: number
  readonly apiKey: number
  readonly account: number
  /** Bit 0: read, bit 1: trade. */
  readonly scopes: number
  readonly begunAtEpochMs: number
  /** No ticket of it lives longer: twelve hours, or its key's expiry. */
  readonly endsAtEpochMs: number
  /** Which ticket is the current one, from 0. */
  readonly generation: number
  /** When it became so. */
  readonly rotatedAtEpochMs: number
  /** Whether the previous ticket was presented once more since. */
  readonly isRepeated: boolean
  /** By whoever held a ticket, with its key, or because an old ticket was presented. */
  readonly isEnded: boolean
}

/** Until when the current ticket is good. */
export const expiresAt = ({ endsAtEpochMs, rotatedAtEpochMs }: TicketFamily): number => Math.min(rotatedAtEpochMs + ticketMs, endsAtEpochMs)

/**
 * What a ticket is to its family at a time. `previous` may be presented once more for the same successor; `rotated` may not
 * be presented any more, and tells of a copy. Of a family that is not known any more all tickets have expired.
 */
export type Standing = "current" | "previous" | "rotated" | "expired" | "revoked" | "invalid"

export const standingOf = (family: TicketFamily | undefined, generation: number, atEpochMs: number): Standing => {
  if (family === undefined) return "expired"
  if (family.isEnded) return "revoked"
  if (expiresAt(family) <= atEpochMs) return "expired"
  if (generation === family.generation) return "current"
  if (generation > family.generation) return "invalid"
  const isLostAnswer = generation === family.generation - 1 && !family.isRepeated && atEpochMs - family.rotatedAtEpochMs <= repeatMs
  return isLostAnswer ? "previous" : "rotated"
}

/** A ticket that a command came by: which family's, and when it is over by its time. */
export interface ShownTicket {
  readonly family: number
  readonly expiresAtEpochMs: number
}

export class Tickets {
  /** Families ever begun; the number of the next. */
  total = 0
  /** In the order of their latest rotations: those that are over come first. */
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

  /** The successor of the current ticket takes its place. */
  rotate(family: TicketFamily, atEpochMs: number): TicketFamily {
    const rotated = { ...family, generation: family.generation + 1, rotatedAtEpochMs: atEpochMs, isRepeated: false }
    this.byFamily.delete(family.family)
    this.byFamily.set(family.family, rotated)
    return rotated
  }

  /** The previous ticket was presented once more. */
  repeat(family: TicketFamily): void {
    this.byFamily.set(family.family, { ...family, isRepeated: true })
  }

  /** No ticket of it is good any more. It is told so until it would have been over. */
  end(family: TicketFamily): void {
    this.byFamily.set(family.family, { ...family, isEnded: true })
  }

  /** Families of a key, oldest first: by their numbers, since a snapshot names them in the order of their latest rotations. */
  private of(apiKey: number): ReadonlyArray<TicketFamily> {
    return [...this.byKey.of(apiKey)].sort((one, other) => one - other).map((family) => this.byFamily.get(family)!)
  }

  /** Families of a key whose current ticket is good at a time. */
  liveOf(apiKey: number, atEpochMs: number): ReadonlyArray<TicketFamily> {
    return this.of(apiKey).filter((family) => !family.isEnded && expiresAt(family) > atEpochMs)
  }

  private remove({ account, apiKey, family }: TicketFamily): void {
    this.byFamily.delete(family)
    this.byKey.remove(apiKey, family)
    this.held.add(account, -1)
  }

  /** Whether there is no room for another one at a time: the next forgets some of those that are over. */
  isFull(atEpochMs: number): boolean {
    if (this.byFamily.size < this.bounds.families) return false
    const [oldest] = this.byFamily.values()
    return expiresAt(oldest!) > atEpochMs
  }

  /**
   * Whether another family of an account is more than its part of those that are free at a time. What the next one forgets is
   * free; where it could forget more still, nobody is held to a part.
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
    return isBeyondPart("placement", bounds.familyParts, held.of(account) - own, 1, bounds.families - byFamily.size + over)
  }

  /**
   * Makes room for another family of a key: forgets some that are over, and of the key's own one that is ended, where it has as
   * many as it may.
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

  /** Forgets the families of a key that are over. */
  forgetOver(apiKey: number, atEpochMs: number): void {
    for (const family of this.of(apiKey)) if (expiresAt(family) <= atEpochMs) this.remove(family)
  }

  /** All of them, in the order of their latest rotations. */
  all(): ReadonlyArray<TicketFamily> {
    return [...this.byFamily.values()]
  }
}
