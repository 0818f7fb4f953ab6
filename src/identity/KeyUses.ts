/**
 * When API keys are used, and from where. What is known of each key in this process costs a request one look into a map. It
 * is journaled rarely: of the keys that were used once a minute at most, and at the end; and at once where a key comes from an
 * address that it was not known to come from. Of keys that nobody was given by name, those of earlier programs' demo
 * accounts, nothing is journaled.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Refusal } from "../domain/Refusal.js"
import type { ApiKeyView, Reads } from "../engine/Reads.js"
import { internal, Principal } from "../operations/Header.js"
import { mostNotedUses } from "../operations/identity/NoteKeyUses.js"
import { type Outcome, withFields } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"
import * as SecurityNotes from "./SecurityNotes.js"

/** How long uses are gathered before they are journaled. */
const gatherMs = 60_000
/** Keys that are known at one time; beyond that all are forgotten once they are journaled, and looked up anew. */
const mostKeys = 65_536

/** A key that was used since the process started. */
interface Seen {
  readonly apiKey: number
  readonly isNamed: boolean
  /** The last address that it is known to come from. */
  address: string
  usedAtEpochMs: number
  isPending: boolean
  /** Whether a note of a new address is on its way. */
  isNoting: boolean
}

type KeyReads = Pick<Reads, "clientName" | "keyAddresses" | "keyLastUsedAt">

export class KeyUses extends Context.Tag("venue/identity/KeyUses")<KeyUses, {
  /** Notes that a key was used, from an address. */
  readonly note: (key: ApiKeyView, address: string, atEpochMs: number) => void
  /** When a key was last used, as far as it is known; 0 where it is not. */
  readonly lastUsedAt: (apiKey: number) => number
  /** Journals what is to be journaled; ends when that is durable, or refused. */
  readonly flush: Effect.Effect<void>
  /** Goes on journaling, a minute after something was used. */
  readonly drive: Effect.Effect<never>
}>() {}

class Uses {
  private readonly seen = new Map<number, Seen>()
  private pending: Array<Seen> = []
  private wake: () => void = () => {}
  private readonly notes = SecurityNotes.make()

  constructor(
    private readonly reads: KeyReads,
    private readonly submit: Context.Tag.Service<typeof Submit>["submit"],
    private readonly most: number
  ) {}

  note(key: ApiKeyView, address: string, atEpochMs: number): void {
    const known = this.seen.get(key.credential)
    const seen = known ?? this.meet(key)
    seen.usedAtEpochMs = atEpochMs
    if (seen.address !== address && !seen.isNoting) this.moved(key, seen, address, atEpochMs)
    if (seen.isNamed && !seen.isPending) this.owe(seen)
  }

  lastUsedAt(apiKey: number): number {
    return Math.max(this.seen.get(apiKey)?.usedAtEpochMs ?? 0, this.reads.keyLastUsedAt(apiKey))
  }

  private meet({ credential: apiKey }: ApiKeyView): Seen {
    // What is still owed is in a list of its own.
    if (this.seen.size >= this.most) this.seen.clear()
    const isNamed = this.reads.clientName(apiKey) !== undefined
    const seen: Seen = { apiKey, isNamed, address: "", usedAtEpochMs: 0, isPending: false, isNoting: false }
    this.seen.set(apiKey, seen)
    return seen
  }

  private moved({ account, credential, keyId }: ApiKeyView, seen: Seen, address: string, atEpochMs: number): void {
    if (!seen.isNamed || this.reads.keyAddresses(credential).includes(address)) {
      seen.address = address
      return
    }
    // What finds no room, here or with the writer, is noted with a later use: the owner would never hear of this address.
    if (!this.notes.take(account, atEpochMs)) return
    seen.isNoting = true
    const what = { what: "key_used_from_new_address", ofAccount: account, credentialId: keyId, remoteAddress: address } as const
    this.submit(withFields("NoteSecurity", internal(Principal.venue), what), ({ refusal }) => {
      seen.isNoting = false
      if (refusal === Refusal.none) seen.address = address
    })
  }

  private owe(seen: Seen): void {
    seen.isPending = true
    this.pending.push(seen)
    if (this.pending.length === 1) this.wake()
  }

  /** Ends once something is owed. */
  readonly owed: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (this.pending.length > 0) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
  })

  private sent(uses: ReadonlyArray<Seen>): Effect.Effect<Outcome> {
    const told = uses.map(({ apiKey, usedAtEpochMs }) => ({ apiKey, usedAtEpochMs }))
    return Effect.async<Outcome>((resume) =>
      this.submit(
        withFields("NoteKeyUses", internal(Principal.venue), { uses: told }),
        (outcome) => resume(Effect.succeed(outcome))
      )
    )
  }

  readonly flush: Effect.Effect<void> = Effect.suspend(() => {
    const owed = this.pending
    this.pending = []
    for (const seen of owed) seen.isPending = false
    const batches = Array.from(
      { length: Math.ceil(owed.length / mostNotedUses) },
      (_, index) => owed.slice(index * mostNotedUses, (index + 1) * mostNotedUses)
    )
    return Effect.forEach(batches, (batch) =>
      Effect.map(this.sent(batch), ({ refusal }) => {
        // Nothing was written for want of room: it is told the next time.
        if (refusal !== Refusal.none) { for (const seen of batch) if (!seen.isPending) this.owe(seen) }
      }), { discard: true })
  })
}

export const make = (
  reads: KeyReads,
  { submit }: Context.Tag.Service<typeof Submit>,
  most: number = mostKeys
): Context.Tag.Service<KeyUses> => {
  const uses = new Uses(reads, submit, most)
  return {
    note: (key, address, atEpochMs) => uses.note(key, address, atEpochMs),
    lastUsedAt: (apiKey) => uses.lastUsedAt(apiKey),
    flush: uses.flush,
    drive: Effect.forever(uses.owed.pipe(Effect.zipRight(Effect.sleep(gatherMs)), Effect.zipRight(uses.flush)))
  }
}
