/** Schedules turns after the event loop has polled for input. */
import * as Layer from "effect/Layer"
import { Turns } from "./Turns.js"

export const layer: Layer.Layer<Turns> = Layer.succeed(Turns, {
  schedule: (turn) => {
    setImmediate(turn)
  }
})
