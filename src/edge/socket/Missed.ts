/** Reads what a client has missed: never before it is durable, and with an answer even where it cannot be read. */
import * as Effect from "effect/Effect"
import type { ReadError } from "../../sequencer/Feed.js"
import type { Barrier } from "../../sequencer/Submit.js"
import type { Replaying } from "../../streams/Replay.js"
import type { Setting } from "./Setting.js"

/** The result of a reading, or a substitute where it fails, which is logged. */
export const orUnread = <A, B>(read: Effect.Effect<A, ReadError>, without: B): Effect.Effect<A | B> => {
  const unread = (error: ReadError): Effect.Effect<B> =>
    Effect.as(Effect.logWarning("what a client missed could not be read from the journal", error), without)
  return Effect.catchAllDefect(Effect.catchAll(read, unread),
    (defect) => Effect.as(Effect.logError("what a client missed could not be made again", defect), without))
}

/**
 * Reads what was missed once all of it is durable. The latest change of a stream may be decided but not durable, and then nobody
 * may see it, since a power failure could undo it; the reader takes everything it is asked for as durable.
 */
export const missedOf =
  (whenDurable: Barrier["Type"]["whenDurable"], replays: Pick<Replaying, "missed">): Setting["missed"] =>
  (channel, account, after, upTo, give) =>
    Effect.zipRight(
      Effect.async<void>((resume) => whenDurable(upTo, () => resume(Effect.void))),
      orUnread(Effect.map(replays.missed(channel, account, after, upTo, give), (given) => given ?? "room"), undefined)
    )
