/**
 * The service that reads the journal for clients somewhere other than beside the writer: in a venue in a thread of its own. Without
 * it the reading happens beside the writer, which has to wait while an engine is restored from a snapshot.
 */
import * as Context from "effect/Context"
import type { Replaying } from "./Replay.js"

export class ReplayHost extends Context.Reference<ReplayHost>()("venue/streams/ReplayHost", {
  defaultValue: (): Replaying | undefined => undefined
}) {}
