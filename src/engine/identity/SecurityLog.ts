/**
 * The latest events that concern the security of each account, newest first: so many of each account, so that nobody's can
 * push out another's, and so many in all.
 */
import { assert } from "../../domain/Assert.js"
import { StepwiseLine, StepwiseMap } from "../../domain/Stepwise.js"
import type { IdentityBounds } from "./Bounds.js"

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
  "ticket_family_ended",
  "withdrawal_requested",
  "party_change_requested",
  "ledger_step_approved",
  "approval_failed",
  "ledger_party_changed",
  "operator_set_flags",
  "operator_credited",
  "operator_canceled_orders",
  "operator_revoked_key",
  "user_codes_locked",
  "signed_out_elsewhere"
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

/**
 * What may come often. Only so many of a kind are kept of each account, the latest: whoever tries a passkey or codes, or uses a key
 * from ever other addresses, pushes out nothing but what he did himself, and an operator who cancels thousands of orders, 64 at a time,
 * nothing but that.
 */
const frequent: ReadonlySet<KindName> = new Set(
  [
    "sign_in_failed",
    "approval_failed",
    "key_used_from_new_address",
    "operator_credited",
    "operator_canceled_orders",
    "user_codes_locked"
  ] as const
)

/** Events kept in all. */
const keptInAll = 262_144

/** An account's events: the ordinal of its next, and those that are kept, oldest first. */
interface Own {
  next: number
  readonly events: Array<SecurityEvent>
}

/** The log as a snapshot has it: what is kept, oldest first, and how far accounts count of which nothing is kept. */
export interface SecurityDump {
  readonly events: ReadonlyArray<SecurityEvent>
  readonly emptied: ReadonlyArray<readonly [account: number, next: number]>
}

/** One number for each event: accounts are fewer than 2^20, and none has as many events as 2^32. */
const keyOf = ({ account, ordinal }: SecurityEvent): number => account * 2 ** 32 + ordinal

export class SecurityLog {
  private readonly byAccount = new StepwiseMap<number, Own>()
  /** What is kept, oldest first, by `keyOf`. */
  private readonly order = new StepwiseLine<number, SecurityEvent>()

  constructor(private readonly bounds: Pick<IdentityBounds, "events" | "frequentEvents">, private readonly inAll = keptInAll) {}

  /** Keeps an event, and tells it with its ordinal. */
  add(event: Omit<SecurityEvent, "ordinal">): SecurityEvent {
    const own = this.own(event.account)
    const added = { ...event, ordinal: own.next }
    this.keep(own, added)
    return added
  }

  /** How many events an account has ever had: the ordinal of its next. */
  countOf(account: number): number {
    return this.byAccount.get(account)?.next ?? 0
  }

  /**
   * The record of the oldest event that is kept of anybody, 0 where there is none: what an account had before its own oldest
   * event that is kept, or before this one where nothing of it is, is of an earlier record or of the same.
   */
  get oldestSequence(): number {
    const [oldest] = this.order.values()
    return oldest?.sequence ?? 0
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
    this.order.set(keyOf(event), event)
    const alike = frequent.has(event.kind) ? own.events.filter(({ kind }) => kind === event.kind) : []
    if (alike.length > this.bounds.frequentEvents) this.drop(own, alike[0]!)
    if (own.events.length > this.bounds.events) this.drop(own, own.events[0]!)
    while (this.order.size > this.inAll) this.dropOldest()
  }

  private drop(own: Own, event: SecurityEvent): void {
    own.events.splice(own.events.indexOf(event), 1)
    this.order.delete(keyOf(event))
  }

  private dropOldest(): void {
    for (const event of this.order.values()) return this.drop(this.byAccount.get(event.account)!, event)
  }

  /** Kept events of an account, newest first, at most `limit`, older than an ordinal (`Infinity`: from the newest). */
  of(account: number, before: number, limit: number): ReadonlyArray<SecurityEvent> {
    const events = this.byAccount.get(account)?.events ?? []
    const found: Array<SecurityEvent> = []
    for (let at = events.length - 1; at >= 0 && found.length < limit; at--) if (events[at]!.ordinal < before) found.push(events[at]!)
    return found
  }

  /** All that is kept, oldest first. */
  all(): Array<SecurityEvent> {
    return [...this.order.values()]
  }

  dump(): SecurityDump {
    const emptied = [...this.byAccount].flatMap(([account, { events, next }]) => events.length === 0 ? [[account, next] as const] : [])
    return { events: this.all(), emptied: emptied.sort(([one], [other]) => one - other) }
  }

  restore({ emptied, events }: SecurityDump): void {
    assert(this.byAccount.size === 0, "a log is restored into an empty one")
    for (const [account, next] of emptied) this.own(account).next = next
    for (const event of events) this.keep(this.own(event.account), event)
  }
}
