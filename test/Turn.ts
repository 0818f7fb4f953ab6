/** Turns of the process's event loop, for tests that let everything that is ready be done. */
import { Effect } from "effect"
import * as NodeTurns from "../src/sequencer/NodeTurns.js"
import { Turns } from "../src/sequencer/Turns.js"

/** Built once: a layer per turn would cost more than the turn itself. */
const turns = Effect.runSync(Effect.provide(Turns, NodeTurns.layer))

/** Lets everything else in the process have its turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => turns.schedule(resolve))
