/**
 * The latest security events of each account. Their number is limited per account, so that no account can push out the events of
 * another, and in all.
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
  /** The ordinal of the event among those of its account, from 0. */
  readonly ordinal: number
  readonly account: number
  readonly kind: KindName
  readonly sequence: number
  readonly atEpochMs: number
  /** The key or passkey that the event is about; empty where there is none. */
  readonly credentialId: string
  /** Empty where the address is unknown. */
  readonly remoteAddress: string
  /** Further details, such as the name of an agent or of a passkey; may be empty. */
  readonly detail: string
}

/**
 * Kinds of which many events may arrive: only the latest few of each kind are kept for an account. Somebody who tries passkeys or
 * codes, or uses a key from ever changing addresses, can therefore push out only traces of the same kind; so can an operator who
 * cancels thousands of orders, 64 at a time. Whatever a session or a key alone can do again and again belongs here, too: whoever has
 * stolen one could otherwise hide what an owner should see. All these together leave room for other kinds.
 */
const frequent: ReadonlySet<KindName> = new Set(
  [
    "sign_in_failed",
    "approval_failed",
    "key_used_from_new_address",
    "operator_credited",
    "operator_canceled_orders",
    "user_codes_locked",
    "ticket_family_ended",
    "signed_out_elsewhere",
    "agent_denied",
    "withdrawal_requested",
    "party_change_requested"
  ] as const
)

/** An account's events: the ordinal of its next, and those that are kept, oldest first. */
interface Own {
  next: number
  readonly events: Array<SecurityEvent>
}

/** The log as a snapshot holds it: the events kept, oldest first, and the next ordinals of accounts that have no event left. */
export interface SecurityDump {
  readonly events: ReadonlyArray<SecurityEvent>
  readonly emptied: ReadonlyArray<readonly [account: number, next: number]>
}

/** One number for each event: there are fewer than 2^20 accounts, and no account has 2^32 events. */
const keyOf = ({ account, ordinal }: SecurityEvent): number => account * 2 ** 32 + ordinal

export class SecurityLog {
  private readonly byAccount = new StepwiseMap<number, Own>()
  /** The events kept, oldest first, by `keyOf`. */
  private readonly order = new StepwiseLine<number, SecurityEvent>()

  constructor(private readonly bounds: Pick<IdentityBounds, "events" | "eventsInAll" | "frequentEvents">) {}

  /** Adds an event. Returns it with its ordinal. */
  add(event: Omit<SecurityEvent, "ordinal">): SecurityEvent {
    const own = this.own(event.account)
    const added = { ...event, ordinal: own.next }
    this.keep(own, added)
    return added
  }

  /** How many events an account has had so far, which is the ordinal of its next. */
  countOf(account: number): number {
    return this.byAccount.get(account)?.next ?? 0
  }

  /**
   * The sequence of the oldest event kept of any account, 0 where there is none. Events that were dropped belong to this record or
   * an earlier one.
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
    while (this.order.size > this.bounds.eventsInAll) this.dropOldest()
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

  /** All events kept, oldest first. */
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
