/** Read access to the writer's engine for all other parts of the process, behind the barrier. */
import * as Context from "effect/Context"
import type { Reads } from "../engine/Reads.js"

/** The engine's current state. Nothing computed from it leaves the process before its sequence is durable. */
export class EngineReads extends Context.Tag("venue/sequencer/EngineReads")<EngineReads, Reads>() {}
