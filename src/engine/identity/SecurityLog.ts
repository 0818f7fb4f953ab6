/**
 * The latest events that concern the security of each account, newest first: so many of each account, so that nobody's can
 * push out another's, and so many in all.
 */
import { assert } from "../../domain/Assert.js"

/** Kinds by code: never renumber, add at the end. */
export const kinds = [
  "",
  "account_opened",
  "signed_in",
  "sign_in_failed",
  "signed_out",
  "session_ended",
  "passkey_added",
  "passkey_removed",
  "agent_approved",
  "agent_denied",
  "key_issued",
  "key_revoked",
  "key_used_from_new_address",
  "ticket_family_ended"
] as const
export type KindName = Exclude<(typeof kinds)[number], "">

/** The code of a kind. */
export const kindCode = (kind: KindName): number => kinds.indexOf(kind)

export interface SecurityEvent {
  /** Counts the events of its account, from 0. */
  readonly ordinal: number
  readonly account: number
  readonly kind: KindName
  readonly sequence: number
  readonly atEpochMs: number
  /** The key or passkey that it is about; empty where it is about none. */
  readonly credentialId: string
  /** Empty where nothing is known. */
  readonly remoteAddress: string
  /** More in words: what an agent calls itself, what a passkey is called; may be empty. */
  readonly detail: string
}

/** Events kept in all. */
const keptInAll = 262_144

/** An account's events: the ordinal of its next, and those that are kept, oldest first. */
interface Own {
  next: number
  readonly events: Array<SecurityEvent>
}

export class SecurityLog {
  private readonly byAccount = new Map<number, Own>()
  /** Accounts in the order of the events that are kept in all; one that its account has pushed out itself is passed over. */
  private order: Array<readonly [account: number, ordinal: number]> = []
  private head = 0

  constructor(private readonly ofAccount: number, private readonly inAll = keptInAll) {}

  add(event: Omit<SecurityEvent, "ordinal">): void {
    const own = this.own(event.account)
    this.keep(own, { ...event, ordinal: own.next })
  }

  private own(account: number): Own {
    const found = this.byAccount.get(account)
    if (found !== undefined) return found
    const made: Own = { next: 0, events: [] }
    this.byAccount.set(account, made)
    return made
  }

  private keep(own: Own, event: SecurityEvent): void {
    own.events.push(event)
    own.next = event.ordinal + 1
    if (own.events.length > this.ofAccount) own.events.shift()
    this.order.push([event.account, event.ordinal])
    if (this.order.length - this.head > this.inAll) this.dropOldest()
  }

  private dropOldest(): void {
    const [account, ordinal] = this.order[this.head]!
    this.head++
    const { events } = this.byAccount.get(account)!
    if (events[0]?.ordinal === ordinal) events.shift()
    if (this.head < this.inAll) return
    this.order = this.order.slice(this.head)
    this.head = 0
  }

  /** Kept events of an account, newest first, at most `limit`, older than an ordinal (`Infinity`: from the newest). */
  of(account: number, before: number, limit: number): ReadonlyArray<SecurityEvent> {
    const events = this.byAccount.get(account)?.events ?? []
    const found: Array<SecurityEvent> = []
    for (let at = events.length - 1; at >= 0 && found.length < limit; at--) if (events[at]!.ordinal < before) found.push(events[at]!)
    return found
  }

  /** All that is kept, oldest first. */
  all(): ReadonlyArray<SecurityEvent> {
    return this.order.slice(this.head).flatMap(([account, ordinal]) => {
      const { events } = this.byAccount.get(account)!
      const event = events[ordinal - (events[0]?.ordinal ?? 0)]
      return event !== undefined && event.ordinal === ordinal ? [event] : []
    })
  }

  restore(events: ReadonlyArray<SecurityEvent>): void {
    assert(this.byAccount.size === 0, "a log is restored into an empty one")
    for (const event of events) this.keep(this.own(event.account), event)
  }
}
