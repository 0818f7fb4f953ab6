/**
 * Tells whoever runs the venue of markets in which nobody was left to close a position against: the market is halted, what is left
 * of the position stands, and somebody has to decide what becomes of it. The log tells each as an error.
 */
import * as Effect from "effect/Effect"
import type { Reads } from "../../engine/Reads.js"
import type { Activity } from "../../sequencer/Activity.js"

/** Looks at the markets; each look tells of what has come about since the one before, a line for each market. */
export const make = (state: Reads, activity: Activity): () => ReadonlyArray<string> => {
  const told = new Map<number, number>()
  return () => {
    const found: Array<string> = []
    for (let market = 0; market < state.marketCount; market++) {
      const times = activity.exhausted(market)
      if (times === (told.get(market) ?? 0)) continue
      told.set(market, times)
      const { parameters: { marketId } } = state.market(market)
      found.push(
        `${marketId} was halted: nobody is left to close a position against (a step exhausted among its liquidations); `
          + "what is left of it stands until the market is opened again or delisted"
      )
    }
    return found
  }
}

/** How often it is looked at. The market is halted already: what is done about it is done by people. */
const pauseMs = 1_000

/** Logs each as an error. */
export const drive = (state: Reads, activity: Activity): Effect.Effect<never> =>
  Effect.suspend(() => {
    const look = make(state, activity)
    const say = (text: string): Effect.Effect<void> => Effect.logError(text)
    return Effect.forever(Effect.zipRight(Effect.suspend(() => Effect.forEach(look(), say, { discard: true })), Effect.sleep(pauseMs)))
  })
