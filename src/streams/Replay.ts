/**
 * What a client missed of one of its account's streams, from the journal: its records are run again on an engine of their own,
 * beside the writer, and each says what it said then.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Reads } from "../engine/Reads.js"
import type { Feed, ReadError } from "../sequencer/Feed.js"
import type { AccountChannel } from "./Channels.js"
import type { Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { touchedBy } from "./Touched.js"

/** Records that are run again for one client at most. */
export const mostRecords = 1_000_000
/** Characters of what it missed, at most. */
const mostText = 2 << 20

const textOf = ({ entries }: Update): number => entries.reduce((sum, { text }) => sum + text.length, 0)

/** What a channel says of the record at which an engine stands; undefined where it says nothing. */
const accountUpdate = (
  payloads: Payloads,
  reads: Reads,
  channel: AccountChannel,
  account: number,
  words: Float64Array,
  from: number,
  to: number
): Update | undefined => {
  const { accounts } = touchedBy(words, from, to, { account: (other) => other === account, market: () => false, anyAccount: true }, reads)
  const touched = accounts.get(account)
  if (touched === undefined) return undefined
  const entries = payloads.ofAccount(reads, channel, account, touched)
  return entries.length === 0 ? undefined : { sequence: reads.sequence, entries, more: "" }
}

/** Updates behind one sequence up to another; undefined where they are more than a client is given at once. */
export const missed = (
  feed: Feed["Type"],
  payloads: Payloads,
  channel: AccountChannel,
  account: number,
  after: number,
  upTo: number
): Effect.Effect<ReadonlyArray<Update> | undefined, ReadError> =>
  Effect.suspend(() => {
    const updates: Array<Update> = []
    let text = 0
    const look = feed.standingFrom(after + 1, (engine, from) => {
      if (engine.sequence > upTo || text > mostText) return
      const { events } = engine.state
      const update = accountUpdate(payloads, engine, channel, account, events.words, from, events.length)
      if (update === undefined) return
      updates.push(update)
      text += textOf(update)
    })
    return look.pipe(
      Stream.takeUntil(({ block }) => block.lastSequence >= upTo || text > mostText),
      Stream.runDrain,
      Effect.as(updates),
      Effect.map((found) => text > mostText ? undefined : found)
    )
  })
