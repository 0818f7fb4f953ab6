/** The writer's engine as everybody else may see it: for reading, behind the barrier. */
import * as Context from "effect/Context"
import type { Reads } from "../engine/Reads.js"

/** The engine's current state. Nothing computed from it leaves the process before its sequence is durable. */
export class EngineReads extends Context.Tag("venue/sequencer/EngineReads")<EngineReads, Reads>() {}
