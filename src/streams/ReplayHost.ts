/**
 * The leaf that has the journal read for clients somewhere else than beside the writer: in a venue by a thread of its own. Without one
 * it is read beside the writer, which then waits while an engine is made of a snapshot.
 */
import * as Context from "effect/Context"
import type { Replaying } from "./Replay.js"

export class ReplayHost extends Context.Reference<ReplayHost>()("venue/streams/ReplayHost", {
  defaultValue: (): Replaying | undefined => undefined
}) {}
