/**
 * What clients missed of their accounts' streams, from the journal: its records are run again on an engine of their own, beside
 * the writer, and each says what it said then. Whoever asks while the journal is being read is served by the next reading,
 * together with all others who wait by then: after a restart a thousand clients come back, and one reading serves them.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Multimap } from "../domain/Multimap.js"
import type { Reads } from "../engine/Reads.js"
import type { EachRecord, Feed, ReadError } from "../sequencer/Feed.js"
import { type AccountChannel, accountChannels } from "./Channels.js"
import type { Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { type AccountTouched, touchedBy } from "./Touched.js"

/** Characters of what it missed, at most. */
const mostText = 2 << 20
/** Characters of what all who wait missed, at most. */
const mostTextOfAll = 256 << 20
/** Most who wait for the journal to be read for them. */
const mostWaiting = 32_768
/** Blocks after which it is looked whether anybody still wants the rest. */
const lookedEvery = 64

/** What one record changed of one of an account's channels. */
export interface Told {
  readonly channel: AccountChannel
  readonly update: Update
}

export const textOf = ({ entries }: Update): number => entries.reduce((sum, { text }) => sum + text.length, 0)

/** Somebody who waits for a part of the journal. */
class Asked {
  /** Why the reading that was to serve this one has failed. */
  failure: ReadError | undefined = undefined
  /** Lets it look again whether it is served, or has to read itself. */
  wake: () => void = () => {}

  constructor(
    readonly channels: ReadonlyArray<AccountChannel>,
    readonly account: number,
    /** The last record that was looked at. */
    public after: number,
    /** The last record that is wanted, which is durable. */
    readonly upTo: number,
    /** Is given what each record changed, in the journal's order. */
    readonly take: (told: ReadonlyArray<Told>) => void,
    /** Whether no more is wanted. */
    readonly isEnough: () => boolean
  ) {}

  get isDone(): boolean {
    return this.after >= this.upTo || this.isEnough()
  }
}

/** What one record told of one account, made once for all who ask for it. */
class Telling {
  private readonly made = new Map<AccountChannel, Told | undefined>()

  constructor(
    private readonly payloads: Payloads,
    private readonly reads: Reads,
    private readonly account: number,
    private readonly touched: AccountTouched
  ) {}

  of(channels: ReadonlyArray<AccountChannel>): ReadonlyArray<Told> {
    return channels.flatMap((channel) => {
      if (!this.made.has(channel)) this.made.set(channel, this.make(channel))
      return this.made.get(channel) ?? []
    })
  }

  private make(channel: AccountChannel): Told | undefined {
    const entries = this.payloads.ofAccount(this.reads, channel, this.account, this.touched)
    return entries.length === 0 ? undefined : { channel, update: { sequence: this.reads.sequence, entries, more: "" } }
  }
}

/** Reads the journal for clients, once for all who wait. Whoever goes away leaves the others where they are. */
export class Replays {
  /** In the order in which they came. */
  private readonly waiting = new Set<Asked>()
  /** Who reads for all. */
  private reader: Asked | undefined = undefined
  /** Characters that those who wait have been given. */
  private text = 0

  constructor(private readonly feed: Feed["Type"], private readonly payloads: Payloads) {}

  /**
   * Updates of a channel behind one sequence up to another; undefined where they are more than a client is given at once, or
   * too many wait.
   */
  missed(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number
  ): Effect.Effect<ReadonlyArray<Update> | undefined, ReadError> {
    return Effect.suspend(() => {
      const updates: Array<Update> = []
      let text = 0
      let isTooMuch = false
      const take = (told: ReadonlyArray<Told>): void => {
        for (const { update } of told) {
          const more = textOf(update)
          text += more
          this.text += more
          updates.push(update)
        }
        isTooMuch = text > mostText || this.text > mostTextOfAll
      }
      return this.ask(new Asked([channel], account, after, upTo, take, () => isTooMuch)).pipe(
        Effect.map((wasRead) => wasRead && !isTooMuch ? updates : undefined),
        Effect.ensuring(Effect.sync(() => {
          this.text -= text
        }))
      )
    })
  }

  /** Gives what each record behind one sequence up to another changed of an account, until that is enough; false where too many wait. */
  each(
    account: number,
    after: number,
    upTo: number,
    take: (told: ReadonlyArray<Told>) => void,
    isEnough: () => boolean
  ): Effect.Effect<boolean, ReadError> {
    return Effect.suspend(() => this.ask(new Asked(accountChannels, account, after, upTo, take, isEnough)))
  }

  /** Waits for the reading under way, if there is one. The next one serves all who wait by then, and one of them does it. */
  private ask(asked: Asked): Effect.Effect<boolean, ReadError> {
    if (this.waiting.size >= mostWaiting) return Effect.succeed(false)
    return Effect.acquireUseRelease(
      Effect.sync(() => this.waiting.add(asked)),
      () => Effect.as(this.turn(asked), true),
      () => Effect.sync(() => this.leave(asked))
    )
  }

  private turn(asked: Asked): Effect.Effect<void, ReadError> {
    return Effect.suspend(() => {
      if (asked.failure !== undefined) return Effect.fail(asked.failure)
      if (asked.isDone) return Effect.void
      this.reader ??= asked
      // Whoever asks in the same turn is served by the same reading.
      if (this.reader === asked) return Effect.zipRight(Effect.yieldNow(), this.read([...this.waiting]))
      const woken = Effect.async<void>((resume) => {
        // What happened before it could be woken is not waited for.
        if (asked.isDone || asked.failure !== undefined || this.reader === undefined || this.reader === asked) resume(Effect.void)
        else asked.wake = () => resume(Effect.void)
      })
      return Effect.zipRight(woken, this.turn(asked))
    })
  }

  /** One is served, or has gone. Where it was the one who read, those it has served are told, and one of the others reads on. */
  private leave(asked: Asked): void {
    this.waiting.delete(asked)
    if (this.reader !== asked) return
    this.reader = undefined
    for (const other of this.waiting) {
      const isServed = other.isDone || other.failure !== undefined
      if (!isServed && this.reader !== undefined) continue
      if (!isServed) this.reader = other
      other.wake()
    }
  }

  /** Reads from the earliest record that anybody wants to the last. Where it is cut short, each goes on from where it was. */
  private read(all: ReadonlyArray<Asked>): Effect.Effect<void, ReadError> {
    return Effect.suspend(() => {
      const undone = all.filter((asked) => !asked.isDone)
      const first = undone.reduce((least, { after }) => Math.min(least, after), Infinity)
      const last = undone.reduce((most, { upTo }) => Math.max(most, upTo), 0)
      const byAccount = new Multimap<number, Asked>()
      for (const asked of undone) byAccount.add(asked.account, asked)
      let position = first
      let blocks = 0
      const each: EachRecord = (engine, from) => {
        give(this.payloads, engine, engine.state.events, from, byAccount)
        position = engine.sequence
      }
      const isOver = (): boolean =>
        position >= last || ++blocks % lookedEvery === 0 && undone.every((asked) => !this.waiting.has(asked) || asked.isDone)
      return this.feed.standingFrom(first + 1, each).pipe(
        Stream.takeUntil(isOver),
        Stream.runDrain,
        Effect.tapError((error) =>
          Effect.sync(() => {
            for (const asked of undone) asked.failure = error
          })
        ),
        Effect.ensuring(Effect.sync(() => {
          for (const asked of undone) asked.after = Math.max(asked.after, Math.min(asked.upTo, position))
        }))
      )
    })
  }
}

/** Gives what the record changed at which an engine stands, to whoever wants it. */
const give = (
  payloads: Payloads,
  reads: Reads,
  events: { readonly words: Float64Array; readonly length: number },
  from: number,
  byAccount: Multimap<number, Asked>
): void => {
  const wanted = { account: (account: number) => byAccount.countOf(account) > 0, market: () => false, anyAccount: true }
  for (const [account, touched] of touchedBy(events.words, from, events.length, wanted, reads).accounts) {
    const telling = new Telling(payloads, reads, account, touched)
    for (const asked of byAccount.of(account)) {
      if (reads.sequence <= asked.after || reads.sequence > asked.upTo || asked.isEnough()) continue
      const told = telling.of(asked.channels)
      if (told.length > 0) asked.take(told)
    }
  }
}
