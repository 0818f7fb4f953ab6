/** Families of realtime tickets, by the rules: none is ever forgotten, and each is evaluated as it stands. */
import { Refusal } from "../../src/domain/Refusal.js"

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

export interface NaiveFamily {
  readonly family: number
  readonly apiKey: number
  readonly account: number
  readonly scopes: number
  readonly begunAtEpochMs: number
  /** Twelve hours after it began, or when its key ends. */
  readonly endsAtEpochMs: number
  /** The number of its current ticket, from 0, and since when that is current. */
  generation: number
  rotatedAtEpochMs: number
  /** Whether the previous ticket was presented once more since. */
  isRepeated: boolean
  isEnded: boolean
}

/** Until when a family's current ticket is valid. */
export const goodUntil = ({ endsAtEpochMs, rotatedAtEpochMs }: NaiveFamily): number =>
  Math.min(endsAtEpochMs, rotatedAtEpochMs + 5 * minuteMs)

/** For so long after a rotation the previous ticket may be presented once more. */
const againMs = 10 * secondMs

/** The result of a rotation; `stolen`: two parties hold the ticket, and its family has ended. */
export type Rotation = "rotated" | "repeated" | "stolen" | { readonly refusal: Refusal }

export class NaiveTickets {
  readonly families: Array<NaiveFamily> = []

  /** Begins a family under a key. */
  mint(key: { readonly index: number; readonly account: number; readonly expiresAtEpochMs: number }, scopes: number, now: number): void {
    this.families.push({
      family: this.families.length,
      apiKey: key.index,
      account: key.account,
      scopes,
      begunAtEpochMs: now,
      endsAtEpochMs: Math.min(now + 12 * hourMs, key.expiresAtEpochMs),
      generation: 0,
      rotatedAtEpochMs: now,
      isRepeated: false,
      isEnded: false
    })
  }

  rotate(family: NaiveFamily, generation: number, now: number): Rotation {
    if (family.isEnded) return { refusal: Refusal.ticketRevoked }
    if (now >= goodUntil(family)) return { refusal: Refusal.ticketExpired }
    if (generation > family.generation) return { refusal: Refusal.ticketInvalid }
    if (generation === family.generation) {
      family.generation++
      family.rotatedAtEpochMs = now
      family.isRepeated = false
      return "rotated"
    }
    const isBefore = generation === family.generation - 1
    if (isBefore && !family.isRepeated && now <= family.rotatedAtEpochMs + againMs) {
      family.isRepeated = true
      return "repeated"
    }
    family.isEnded = true
    return "stolen"
  }

  /** Families of a key whose current ticket is valid at a time. */
  liveOf(apiKey: number, now: number): number {
    return this.families.filter((family) => family.apiKey === apiKey && !family.isEnded && now < goodUntil(family)).length
  }

  /**
   * Families of all accounts, or of one: those live at a time, those that would be live but for having been ended, and all that may still
   * be held. They are forgotten in the order of their latest rotations.
   */
  room(now: number, account?: number): { readonly live: number; readonly good: number; readonly held: number } {
    const good = this.families.filter((family) => now < goodUntil(family))
    const oldest = Math.min(...good.map(({ rotatedAtEpochMs }) => rotatedAtEpochMs))
    const counted = (families: ReadonlyArray<NaiveFamily>): number =>
      families.filter((family) => account === undefined || family.account === account).length
    return {
      live: counted(good.filter(({ isEnded }) => !isEnded)),
      good: counted(good),
      held: counted(this.families.filter(({ rotatedAtEpochMs }) => rotatedAtEpochMs >= oldest))
    }
  }

  /** Whether an ended family may be forgotten before its time: it makes room where its key begins another one. */
  mayBeForgotten({ apiKey, family, isEnded }: NaiveFamily): boolean {
    return isEnded && this.families.some((other) => other.apiKey === apiKey && other.family > family)
  }

  /** Ends a family for a holder of its current ticket, or of the previous one. */
  endBy(family: NaiveFamily, generation: number): void {
    if (generation === family.generation || generation === family.generation - 1) family.isEnded = true
  }

  /** Ends all live families of a key. */
  revoke(apiKey: number, now: number): void {
    for (const family of this.families) if (family.apiKey === apiKey && now < goodUntil(family)) family.isEnded = true
  }

  /** When a family changes by itself: its previous ticket can no longer be presented, its current one expires. */
  get moments(): ReadonlyArray<number> {
    return this.families
      .filter(({ isEnded }) => !isEnded)
      .flatMap((family) => [...(family.generation === 0 ? [] : [family.rotatedAtEpochMs + againMs]), goodUntil(family)])
  }
}
