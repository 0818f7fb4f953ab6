/**
 * How long each stage of a command's processing takes: `edge`, from the parsed request to the inbox; `inbox`, until one of the writer's
 * turns takes it; `engine`, deciding a block; `disk`, from there until the block is durable; `stream`, from deciding a record to handing
 * its changes to the sockets, for each record with changes that somebody is subscribed to.
 */
import type * as Clock from "effect/Clock"
import { Histogram } from "./Histogram.js"

export const stageNames = ["edge", "inbox", "engine", "disk", "stream"] as const
export type Stage = (typeof stageNames)[number]

export type Stages = Readonly<Record<Stage, Histogram>>

export const make = (): Stages => ({
  edge: new Histogram(),
  inbox: new Histogram(),
  engine: new Histogram(),
  disk: new Histogram(),
  stream: new Histogram()
})

/** Monotonic time in nanoseconds since this was called: small enough for a number to hold it exactly. */
export const nanosOf = (clock: Clock.Clock): () => number => {
  const origin = clock.unsafeCurrentTimeNanos()
  return () => Number(clock.unsafeCurrentTimeNanos() - origin)
}
