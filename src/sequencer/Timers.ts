/**
 * Makes time pass for the engine when nothing else does: sleeps until something is due, then puts a `MarkTick` or a
 * `PassTime` in the inbox. What is due acts by the time inside a record, never by this clock; a sleep that ends late or
 * early only costs a record or a short delay.
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
 * The longest a sleep lasts before the clock is looked at again. Sleeps run on while a clock is set forward, so this is
 * how late what is due may act after that.
 */
const longestSleepMs = 500

const passTime: Command = { kind: "PassTime", ...internal(Principal.timer) }
const markTick: Command = { kind: "MarkTick", ...internal(Principal.timer) }

export interface Timers {
  /** Looks at what is due next; cheap when that has not changed. Called after every block. */
  readonly arm: () => void
  /** Ends the sleep. */
  readonly stop: Effect.Effect<void>
}

export const make = (
  engine: Engine,
  /** Answers when the command was decided and is durable, or that it found no room. */
  submit: (command: Command, answer: Answer) => void,
  clock: Clock.Clock,
  runtime: Runtime.Runtime<never>
): Timers => {
  let armedFor = Number.POSITIVE_INFINITY
  let sleeper: Fiber.RuntimeFiber<void> | undefined
  /** A record waits for its turn: until then what it is to do is still due, and would be asked for with every block. */
  let underWay = false
  let stopped = false

  const answered: Answer = ({ refusal }) => {
    underWay = false
    // A tick that a halt came before is asked for no more until the halt lifts; whatever else is due is so all the same.
    if (refusal === Refusal.none || refusal === Refusal.engineHalted) arm()
    else later()
  }

  /** What is due at a time, or undefined. A mark that is due comes first: its record does what else is due, too. */
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
    sleeper = Runtime.runFork(runtime)(Effect.zipRight(Effect.sleep(waitMs), Effect.sync(then)))
  }

  /** Where there was no room for the record, nothing else may ever look again. */
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
