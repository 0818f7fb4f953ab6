/** How what a client missed is read for a conversation: never before it is durable, and with an answer also where it cannot be read. */
import * as Effect from "effect/Effect"
import type { ReadError } from "../../sequencer/Feed.js"
import type { Barrier } from "../../sequencer/Submit.js"
import type { Replaying } from "../../streams/Replay.js"
import type { Setting } from "./Setting.js"

/** What was read, or what there is without, which is logged. */
export const orUnread = <A, B>(read: Effect.Effect<A, ReadError>, without: B): Effect.Effect<A | B> => {
  const unread = (error: ReadError): Effect.Effect<B> =>
    Effect.as(Effect.logWarning("what a client missed could not be read from the journal", error), without)
  return Effect.catchAllDefect(Effect.catchAll(read, unread),
    (defect) => Effect.as(Effect.logError("what a client missed could not be made again", defect), without))
}

/**
 * Has what was missed read once all of it is durable. What a stream was changed by last is perhaps decided and not durable: nobody may be
 * told of it, since the power may take it back, and whoever reads the journal for clients takes what he is asked for as durable.
 */
export const missedOf =
  (whenDurable: Barrier["Type"]["whenDurable"], replays: Pick<Replaying, "missed">): Setting["missed"] =>
  (channel, account, after, upTo, give) =>
    Effect.zipRight(
      Effect.async<void>((resume) => whenDurable(upTo, () => resume(Effect.void))),
      orUnread(Effect.map(replays.missed(channel, account, after, upTo, give), (given) => given ?? "room"), undefined)
    )
