/**
 * When API keys are used, and from where. Noting a use costs each request one map lookup. Uses are journaled rarely: once a minute at most,
 * and at shutdown; but at once where a key comes from an address that is new for it. Nothing is journaled of keys without a client name,
 * which are those of demo accounts from earlier versions.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Refusal } from "../domain/Refusal.js"
import { unattended } from "../domain/Unattended.js"
import type { ApiKeyView, Reads } from "../engine/Reads.js"
import { internal, Principal } from "../operations/Header.js"
import { mostNotedUses } from "../operations/identity/NoteKeyUses.js"
import { type Outcome, withFields } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"
import * as ApiKeys from "./ApiKeys.js"
import { FairPlaces } from "../domain/FairPlaces.js"
import * as SecurityNotes from "./SecurityNotes.js"

/** How long uses are gathered before they are journaled, in milliseconds. */
const gatherMs = 60_000
/** Most keys that are remembered; beyond that all are forgotten and looked up again. */
const mostKeys = 65_536
/**
 * Most addresses of a key that wait for their notes, of which an account has ten a minute: so many that whoever wants to hide one among
 * them gives the owner hundreds of alarms.
 */
const mostUntold = 256
/** So many addresses of each key wait for their notes whatever waits of other keys: as many as the state remembers of one key. */
const surelyUntold = 8
/**
 * Places for waiting addresses beyond the first of their keys. When all places are taken, the account that holds most makes room. A key
 * that is not used again holds its places for as long as it acts; whoever fills them with keys of his own crowds out only himself.
 */
const mostUntoldInAll = 65_536
/** Whenever uses are journaled, so many keys whose addresses wait are looked up for whether they still act. */
const mostSwept = 1_024

/** A key used since the process started. */
interface Seen {
  readonly apiKey: number
  readonly isNamed: boolean
  /** The last address from which it is known to come. */
  address: string
  usedAtEpochMs: number
  isPending: boolean
  /** New addresses that are not noted yet, those that came first in front; undefined where there never were any, as of nearly all. */
  untold: Map<string, Untold> | undefined
  /** Whether a note of the first of them is being journaled. */
  isNoting: boolean
}

/** An address that waits for its note. Those beyond the first of their key hold a place. */
interface Untold {
  readonly seen: Seen
  readonly address: string
}

type KeyReads = Pick<Reads, "apiKey" | "clientName" | "keyAddresses" | "keyLastUsedAt" | "securityEvents">

export class KeyUses extends Context.Tag("venue/identity/KeyUses")<KeyUses, {
  /** Notes a key's use from an address. */
  readonly note: (key: ApiKeyView, address: string, atEpochMs: number) => void
  /** When a key was last used; 0 where that is not known. */
  readonly lastUsedAt: (key: ApiKeyView) => number
  /** Journals the gathered uses; completes when they are durable, or refused. */
  readonly flush: Effect.Effect<void>
  /** Keeps journaling, each time a minute after the first gathered use. */
  readonly drive: Effect.Effect<never>
}>() {}

class Uses {
  private readonly seen = new Map<number, Seen>()
  private pending: Array<Seen> = []
  /** The keys of `seen` with addresses that wait. In front are those that were looked up longest ago for whether they still act. */
  private readonly waiting = new Set<Seen>()
  private places: FairPlaces<Untold>
  private wake: () => void = () => {}
  private readonly notes = SecurityNotes.make()

  constructor(
    private readonly reads: KeyReads,
    private readonly submit: Context.Tag.Service<typeof Submit>["submit"],
    private readonly most: number,
    private readonly mostInAll: number
  ) {
    this.places = this.allFree()
  }

  private allFree(): FairPlaces<Untold> {
    return new FairPlaces(this.mostInAll, this.mostInAll)
  }

  note(key: ApiKeyView, address: string, atEpochMs: number): void {
    const known = this.seen.get(key.credential)
    const seen = known ?? this.meet(key)
    seen.usedAtEpochMs = atEpochMs
    if (seen.address !== address) this.moved(key, seen, address)
    if (seen.untold !== undefined && seen.untold.size > 0 && !seen.isNoting) this.tell(key, seen, atEpochMs)
    if (seen.isNamed && !seen.isPending) this.owe(seen)
  }

  lastUsedAt(key: ApiKeyView): number {
    const { account, credential, keyId } = key
    const noted = this.reads.keyLastUsedAt(credential)
    const seen = this.seen.get(credential)
    if (seen !== undefined) return Math.max(seen.usedAtEpochMs, noted)
    // A use from a new address is noted at once, and its time only within the minute: after a crash between them the event alone tells it.
    const told = this.reads.securityEvents(account, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
      .find(({ credentialId, kind }) => kind === "key_used_from_new_address" && credentialId === keyId)
    return Math.max(told?.atEpochMs ?? 0, noted)
  }

  private meet({ credential: apiKey }: ApiKeyView): Seen {
    // Uses not journaled yet are kept in a list of their own.
    if (this.seen.size >= this.most) {
      this.seen.clear()
      this.waiting.clear()
      this.places = this.allFree()
    }
    const isNamed = this.reads.clientName(apiKey) !== undefined
    const seen: Seen = { apiKey, isNamed, address: "", usedAtEpochMs: 0, isPending: false, untold: undefined, isNoting: false }
    this.seen.set(apiKey, seen)
    return seen
  }

  /** A use from another address than the last: one that is not known either has to be told to the key's owner. */
  private moved({ account, credential }: ApiKeyView, seen: Seen, address: string): void {
    if (!seen.isNamed || this.reads.keyAddresses(credential).includes(address)) {
      seen.address = address
      return
    }
    const untold = seen.untold ??= new Map()
    if (untold.size >= mostUntold || untold.has(address)) return
    const entry: Untold = { seen, address }
    if (untold.size >= surelyUntold) this.places.take(entry, String(account), (left) => this.forget(left))
    untold.set(address, entry)
    this.waiting.add(seen)
  }

  /** An address waits no more. */
  private forget(entry: Untold): void {
    const { address, seen } = entry
    this.places.leave(entry)
    seen.untold?.delete(address)
    if (seen.untold?.size === 0) this.waiting.delete(seen)
  }

  /**
   * Drops what waits of keys that no longer act: these are never used again, so nothing would be told of them, and all their accounts
   * together would leave little to those that have keys. A few keys are looked at each time, in turn.
   */
  private sweep(atEpochMs: number): void {
    let left = Math.min(this.waiting.size, mostSwept)
    for (const seen of this.waiting) {
      if (left-- === 0) return
      this.waiting.delete(seen)
      // While one address is being noted the next ones follow it without a use of the key.
      const acts = seen.isNoting || typeof ApiKeys.standing(this.reads.apiKey(seen.apiKey), atEpochMs) !== "string"
      if (acts) this.waiting.add(seen)
      else for (const entry of seen.untold?.values() ?? []) this.forget(entry)
    }
  }

  /**
   * Notes the first address that the owner was not told of, and then the others one by one. While one is being noted others may come, and
   * each of them may be the only one from which a copied key does something, so none gives way to another. A note for which there is no
   * room, here or with the writer, is tried again with the key's next use, from wherever that comes.
   */
  private tell(key: ApiKeyView, seen: Seen, atEpochMs: number): void {
    const [address] = seen.untold?.keys() ?? []
    if (address === undefined || !this.notes.take(key.account, atEpochMs)) return
    seen.isNoting = true
    const what = { what: "key_used_from_new_address", ofAccount: key.account, credentialId: key.keyId, remoteAddress: address } as const
    this.submit(withFields("NoteSecurity", internal(Principal.venue), what), ({ refusal }) => {
      seen.isNoting = false
      if (refusal !== Refusal.none) return
      seen.address = address
      const entry = seen.untold?.get(address)
      if (entry !== undefined) this.forget(entry)
      this.tell(key, seen, seen.usedAtEpochMs)
    })
  }

  private owe(seen: Seen): void {
    seen.isPending = true
    this.pending.push(seen)
    if (this.pending.length === 1) this.wake()
  }

  /** Completes once there are uses to journal. */
  readonly owed: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.pending.length > 0) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
  })

  private oweAgain(uses: ReadonlyArray<Seen>): void {
    for (const seen of uses) if (!seen.isPending) this.owe(seen)
  }

  /** Has uses journaled; `submitted` is called as soon as they are on their way, so that an answer will tell what becomes of them. */
  private sent(uses: ReadonlyArray<Seen>, submitted: () => void): Effect.Effect<Outcome> {
    const told = uses.map(({ apiKey, usedAtEpochMs }) => ({ apiKey, usedAtEpochMs }))
    return Effect.async<Outcome>((resume) => {
      this.submit(
        withFields("NoteKeyUses", internal(Principal.venue), { uses: told }),
        (outcome) => resume(Effect.succeed(outcome))
      )
      submitted()
    })
  }

  readonly flush: Effect.Effect<void> = Effect.suspend(() => {
    const owed = this.pending
    this.pending = []
    for (const seen of owed) seen.isPending = false
    const atEpochMs = owed.reduce((latest, { usedAtEpochMs }) => Math.max(latest, usedAtEpochMs), 0)
    let submitted = 0
    const batches = Array.from(
      { length: Math.ceil(owed.length / mostNotedUses) },
      (_, index) => owed.slice(index * mostNotedUses, (index + 1) * mostNotedUses)
    )
    const journaled = Effect.forEach(batches, (batch) =>
      Effect.map(this.sent(batch, () => submitted += batch.length), ({ refusal }) => {
        // Refused for want of room: they are sent again next time.
        if (refusal !== Refusal.none) this.oweAgain(batch)
      }), { discard: true })
    return journaled.pipe(
      // So are those that were not submitted, for a defect or as the venue stops.
      Effect.onError(() => Effect.sync(() => this.oweAgain(owed.slice(submitted)))),
      Effect.zipRight(Effect.sync(() => this.sweep(atEpochMs)))
    )
  })
}

export const make = (
  reads: KeyReads,
  { submit }: Context.Tag.Service<typeof Submit>,
  most: number = mostKeys,
  mostInAll: number = mostUntoldInAll
): Context.Tag.Service<KeyUses> => {
  const uses = new Uses(reads, submit, most, mostInAll)
  return {
    note: (key, address, atEpochMs) => uses.note(key, address, atEpochMs),
    lastUsedAt: (key) => uses.lastUsedAt(key),
    flush: uses.flush,
    drive: Effect.forever(
      unattended("what journals the uses of keys", uses.owed.pipe(Effect.zipRight(Effect.sleep(gatherMs)), Effect.zipRight(uses.flush)))
    )
  }
}
