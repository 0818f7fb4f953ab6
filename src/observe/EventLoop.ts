/** How late the event loop is. It is measured only in a real process: in the simulator's time there is no such delay. */
import * as Context from "effect/Context"

/** One quantile of the delay: this share of timers was at most so late. */
export interface Delay {
  readonly quantile: number
  readonly seconds: number
}

export interface Measured {
  /** The delays over the last full measuring interval, the same for every caller; empty before the first has passed. */
  readonly delays: () => ReadonlyArray<Delay>
}

export class EventLoop extends Context.Reference<EventLoop>()("venue/observe/EventLoop", {
  defaultValue: (): Measured | undefined => undefined
}) {}
