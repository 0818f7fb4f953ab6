/**
 * Drives the engine's time when no commands arrive: sleeps until something is due, then queues a `MarkTick` or a `PassTime`. What
 * is due acts by the time in its record, never by this clock; a sleep that ends late or early only costs a record or a short delay.
 * The first mark of a market that is back does not wait for this: the sequencer makes it before the next command.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import { internal, Principal } from "../operations/Header.js"
import type { Command } from "../operations/Operations.js"
import { Refusal } from "../domain/Refusal.js"
import type { Engine } from "../engine/Engine.js"
import type { Answer } from "./Submit.js"

/**
 * The longest sleep before the clock is checked again, milliseconds. A sleep does not notice when the clock is set forward, so this
 * is the longest resulting delay.
 */
const longestSleepMs = 500

const passTime: Command = { kind: "PassTime", ...internal(Principal.timer) }
export const markTick: Command = { kind: "MarkTick", ...internal(Principal.timer) }

export interface Timers {
  /** Checks what is due next; cheap when that has not changed. Called after every block. */
  readonly arm: () => void
  /** Ends the sleep for good. */
  readonly stop: Effect.Effect<void>
}

export const make = (
  engine: Engine,
  /** Answers when the command was decided and is durable, or that it found no room. */
  submit: (command: Command, answer: Answer) => void,
  clock: Clock.Clock,
  runtime: Runtime.Runtime<never>,
  /** Called with a defect: this is the writer's own work, which nothing would ask for again. */
  failed: (cause: unknown) => void
): Timers => {
  let armedFor = Number.POSITIVE_INFINITY
  let sleeper: Fiber.RuntimeFiber<void> | undefined
  /** Whether a record is waiting for its turn: until then its work is still due and would be requested again with every block. */
  let underWay = false
  let stopped = false

  const answered: Answer = ({ refusal }) => {
    underWay = false
    // A tick refused because of a halt is not requested again until the halt lifts; other work may still be due.
    if (refusal === Refusal.none || refusal === Refusal.engineHalted) arm()
    else later()
  }

  /** The command that is due at a time, or undefined. A mark tick comes first, since its record does other due work too. */
  const dueAt = (nowEpochMs: number): Command | undefined =>
    engine.nextTickEpochMs(nowEpochMs) <= nowEpochMs ? markTick : engine.nextDueEpochMs <= nowEpochMs ? passTime : undefined

  const wake = (): void => {
    sleeper = undefined
    armedFor = Number.POSITIVE_INFINITY
    const due = dueAt(clock.unsafeCurrentTimeMillis())
    if (due === undefined) return arm()
    underWay = true
    submit(due, answered)
  }

  const sleep = (waitMs: number, then: () => void): void => {
    sleeper = Runtime.runFork(runtime)(Effect.zipRight(
      Effect.sleep(waitMs),
      Effect.catchAllDefect(Effect.sync(then), (cause) => Effect.sync(() => failed(cause)))
    ))
  }

  /** Where the inbox had no room, no later event may cause another check, so it is retried after a while. */
  const later = (): void => {
    if (stopped || sleeper !== undefined) return
    sleep(longestSleepMs, () => {
      sleeper = undefined
      arm()
    })
  }

  const arm = (): void => {
    if (stopped || underWay) return
    const now = clock.unsafeCurrentTimeMillis()
    const due = Math.min(engine.nextDueEpochMs, engine.nextTickEpochMs(now))
    if (due === armedFor) return
    if (sleeper !== undefined) Runtime.runFork(runtime)(Fiber.interruptFork(sleeper))
    sleeper = undefined
    armedFor = due
    if (due === Number.POSITIVE_INFINITY) return
    sleep(Math.min(longestSleepMs, Math.max(0, due - now)), wake)
  }

  return {
    arm,
    stop: Effect.suspend(() => {
      stopped = true
      return sleeper === undefined ? Effect.void : Fiber.interrupt(sleeper)
    })
  }
}
