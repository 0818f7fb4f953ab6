/** How late the event loop comes to what is due. Nobody measures it unless the process says so: the simulator's time has no such delay. */
import * as Context from "effect/Context"

/** So large a share of what was due came at most so late. */
export interface Delay {
  readonly quantile: number
  readonly seconds: number
}

export interface Measured {
  /** Of the last whole while, the same to everybody who asks; none before the first is over. */
  readonly delays: () => ReadonlyArray<Delay>
}

export class EventLoop extends Context.Reference<EventLoop>()("venue/observe/EventLoop", {
  defaultValue: (): Measured | undefined => undefined
}) {}
