/**
 * What a client missed of one of its account's streams, from the journal: its records are run again on an engine of their own,
 * beside the writer, and each says what it said then.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Reads } from "../engine/Reads.js"
import type { Feed, ReadError } from "../sequencer/Feed.js"
import { type AccountChannel, accountChannels } from "./Channels.js"
import type { Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { touchedBy } from "./Touched.js"

/** Records that are run again for one client at most. */
export const mostRecords = 1_000_000
/** Characters of what it missed, at most. */
const mostText = 2 << 20
/** Most clients that wait for the journal to be read for them. */
const mostWaiting = 64

/** What one record changed of one of an account's channels. */
export interface Told {
  readonly channel: AccountChannel
  readonly update: Update
}

export const textOf = ({ entries }: Update): number => entries.reduce((sum, { text }) => sum + text.length, 0)

/** What channels say of the record at which an engine stands, in their order; nothing of those that it did not change. */
const toldBy = (
  payloads: Payloads,
  reads: Reads,
  channels: ReadonlyArray<AccountChannel>,
  account: number,
  words: Float64Array,
  from: number,
  to: number
): ReadonlyArray<Told> => {
  const { accounts } = touchedBy(words, from, to, { account: (other) => other === account, market: () => false, anyAccount: true }, reads)
  const touched = accounts.get(account)
  if (touched === undefined) return []
  return channels.flatMap((channel) => {
    const entries = payloads.ofAccount(reads, channel, account, touched)
    return entries.length === 0 ? [] : [{ channel, update: { sequence: reads.sequence, entries, more: "" } }]
  })
}

/** Which part of the journal is read, for which of an account's channels: behind one sequence, up to another that is durable. */
interface Stretch {
  readonly channels: ReadonlyArray<AccountChannel>
  readonly account: number
  readonly after: number
  readonly upTo: number
}

/** Gives what each record of a stretch changed, until that is enough. */
const read = (
  feed: Feed["Type"],
  payloads: Payloads,
  { account, after, channels, upTo }: Stretch,
  take: (told: ReadonlyArray<Told>) => void,
  isEnough: () => boolean
): Effect.Effect<void, ReadError> =>
  Effect.suspend(() => {
    const look = feed.standingFrom(after + 1, (engine, from) => {
      if (engine.sequence > upTo || isEnough()) return
      const { events } = engine.state
      const told = toldBy(payloads, engine, channels, account, events.words, from, events.length)
      if (told.length > 0) take(told)
    })
    return look.pipe(
      Stream.takeUntil(({ block }) => block.lastSequence >= upTo || isEnough()),
      Stream.runDrain
    )
  })

/** Reads the journal for clients, one after the other: each takes an engine. */
export class Replays {
  private readonly oneByOne = Effect.unsafeMakeSemaphore(1)
  private waiting = 0

  constructor(private readonly feed: Feed["Type"], private readonly payloads: Payloads) {}

  /** Updates of a channel behind a sequence up to another; undefined where a client is given no more at once, or too many wait. */
  missed(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number
  ): Effect.Effect<ReadonlyArray<Update> | undefined, ReadError> {
    return Effect.suspend(() => {
      const updates: Array<Update> = []
      let text = 0
      const take = (told: ReadonlyArray<Told>): void => {
        for (const { update } of told) {
          updates.push(update)
          text += textOf(update)
        }
      }
      const stretch = { channels: [channel], account, after, upTo }
      return Effect.map(this.inTurn(read(this.feed, this.payloads, stretch, take, () => text > mostText)),
        (wasRead) => wasRead && text <= mostText ? updates : undefined)
    })
  }

  /** Gives what each record behind a sequence up to another changed of an account, until that is enough; false where too many wait. */
  each(
    account: number,
    after: number,
    upTo: number,
    take: (told: ReadonlyArray<Told>) => void,
    isEnough: () => boolean
  ): Effect.Effect<boolean, ReadError> {
    return this.inTurn(read(this.feed, this.payloads, { channels: accountChannels, account, after, upTo }, take, isEnough))
  }

  private inTurn(reading: Effect.Effect<void, ReadError>): Effect.Effect<boolean, ReadError> {
    return Effect.suspend(() => {
      if (this.waiting >= mostWaiting) return Effect.succeed(false)
      this.waiting++
      return this.oneByOne.withPermits(1)(reading).pipe(
        Effect.as(true),
        Effect.ensuring(Effect.sync(() => {
          this.waiting--
        }))
      )
    })
  }
}
