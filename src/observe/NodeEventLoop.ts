/**
 * The event loop's delay by Node's own histogram, reported for the last full ten seconds: every scraper sees the same figures, however many
 * there are and whenever they come.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Delay, EventLoop } from "./EventLoop.js"

/** How often the loop is sampled, in milliseconds: the histogram holds the time between samples, of which this much is no delay. */
const resolutionMs = 10

const whileMs = 10_000

const quantiles = [0.5, 0.9, 0.99, 1] as const

export const layer: Layer.Layer<EventLoop> = Layer.scoped(
  EventLoop,
  Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
      histogram.enable()
      let told: ReadonlyArray<Delay> = []
      const timer = setInterval(() => {
        told = quantiles.map((quantile) => {
          const nanos = quantile === 1 ? histogram.max : histogram.percentile(quantile * 100)
          return { quantile, seconds: Math.max(0, nanos / 1e9 - resolutionMs / 1_000) }
        })
        histogram.reset()
      }, whileMs)
      timer.unref()
      return { histogram, timer, delays: () => told }
    }),
    ({ histogram, timer }) =>
      Effect.sync(() => {
        clearInterval(timer)
        histogram.disable()
      })
  )
)
