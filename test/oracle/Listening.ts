/** A listener to an index feed in simulated time, which passes when a test says so. */
import { Effect, Layer, Logger, Stream } from "effect"
import * as SimClock from "../../sim/world/SimClock.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as SimScheduler from "../../sim/world/SimScheduler.js"
import * as SimTime from "../../sim/world/SimTime.js"
import { IndexFeed, type OffGrid, type Quoted, type Sample, type SourceView } from "../../src/oracle/IndexFeed.js"

/** When listening begins. */
export const beganMs = 100_000

export class Listening {
  readonly logged: Array<string> = []
  private readonly heard: Array<Sample | OffGrid> = []
  private readonly time = SimTime.make(beganMs, SimRandom.make("1"))
  private feed: IndexFeed["Type"] | undefined
  private readonly scheduler = SimScheduler.make(SimRandom.make("1"), 0)

  /** `markets` may change while it listens. */
  constructor(feed: Layer.Layer<IndexFeed>, markets: ReadonlyArray<Quoted>) {
    const listening = Effect.flatMap(IndexFeed, (feed) => {
      this.feed = feed
      return Stream.runForEach(feed.samples(() => markets), (sample) => Effect.sync(() => void this.heard.push(sample)))
    })
    const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void this.logged.push(String(message))))
    const clock = Layer.setClock(SimClock.make(this.time, this.scheduler.ready))
    Effect.runFork(Effect.provide(listening, Layer.mergeAll(feed, logger, clock)), { scheduler: this.scheduler })
  }

  /** Each source of the feed, as it is shown for markets at a time. */
  sources(markets: ReadonlyArray<Quoted>, nowEpochMs: number): ReadonlyArray<SourceView> {
    return this.feed?.sources?.(markets, nowEpochMs) ?? []
  }

  /** Lets time pass; returns the samples heard meanwhile. */
  pass(millis: number): ReadonlyArray<Sample | OffGrid> {
    let isThere = false
    this.time.after(millis, () => {
      isThere = true
    })
    while (this.scheduler.runOne() || (!isThere && this.time.advance()));
    return this.heard.splice(0)
  }
}
