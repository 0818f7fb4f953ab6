/**
 * Warns operators of markets in which no counterparty was left to close a position: the market is halted, the rest of the position
 * stands, and a person has to decide what becomes of it. The log shows each as an error.
 */
import * as Effect from "effect/Effect"
import { unattended } from "../../domain/Unattended.js"
import type { Reads } from "../../engine/Reads.js"
import type { Activity } from "../../sequencer/Activity.js"

/** Checks the markets; each check returns one line per market with news since the previous one. */
export const make = (state: Reads, activity: Activity): () => ReadonlyArray<string> => {
  const told = new Map<number, number>()
  return () => {
    const found: Array<string> = []
    const news = new Map<number, number>()
    for (let market = 0; market < state.marketCount; market++) {
      const times = activity.exhausted(market)
      if (times === (told.get(market) ?? 0)) continue
      news.set(market, times)
      const { parameters: { marketId } } = state.market(market)
      found.push(
        `${marketId} was halted: nobody is left to close a position against (a step exhausted among its liquidations); `
          + "what is left of it stands until the market is opened again or delisted"
      )
    }
    // Only once every line is made: a defect at one market would otherwise take the others' news with it.
    for (const [market, times] of news) told.set(market, times)
    return found
  }
}

/** The interval of the checks. The market is halted already, and the rest is up to people. */
const pauseMs = 1_000

/** Logs each as an error. */
export const drive = (state: Reads, activity: Activity): Effect.Effect<never> =>
  Effect.suspend(() => {
    const look = make(state, activity)
    const say = (text: string): Effect.Effect<void> => Effect.logError(text)
    const once = Effect.suspend(() => Effect.forEach(look(), say, { discard: true }))
    return Effect.forever(Effect.zipRight(unattended("the watch for exhausted markets", once), Effect.sleep(pauseMs)))
  })
