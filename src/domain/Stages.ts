/**
 * The stages of a command's way and how long each takes: `edge`, from the framed request to the inbox; `inbox`, until a turn takes
 * it; `engine`, a turn's deciding, for each block; `disk`, from there until the block is durable; `stream`, from deciding a
 * record to giving what it changed to the sockets, for each record that changes what somebody asks for.
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

/** A clock that nobody sets, in nanoseconds since this was called: so few that a number holds each of them. */
export const nanosOf = (clock: Clock.Clock): () => number => {
  const origin = clock.unsafeCurrentTimeNanos()
  return () => Number(clock.unsafeCurrentTimeNanos() - origin)
}
