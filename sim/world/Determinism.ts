/**
 * What must be true of the JavaScript world before a simulation starts: nothing reads a real clock, nothing
 * draws real randomness, nothing waits on a real timer, and Effect numbers its fibers from zero. A run that
 * breaks one of these fails at the place that did it.
 */
import { MutableRef } from "effect"

const forbidden = (name: string) => () => {
  throw new Error(`${name} was used inside the simulation: it must come from a leaf`)
}

/** `Effect.never` holds a timer of so many milliseconds, which is never due: it keeps a real process alive, and does nothing here. */
const neverMs = 2 ** 31 - 1

const setInterval = (_: () => void, everyMs: number): void => {
  if (everyMs !== neverMs) forbidden("setInterval")()
}

/** Where Effect keeps its process-wide values, by symbol. */
const effectGlobals = (): Map<unknown, unknown> | undefined =>
  (globalThis as { "effect/GlobalValue"?: Map<unknown, unknown> })["effect/GlobalValue"]

/** Resets Effect's fiber counter, so that fiber ids do not depend on what ran before in this process. */
const resetFiberIds = (): void => {
  const counter = effectGlobals()?.get(Symbol.for("effect/Fiber/Id/_fiberCounter"))
  if (counter === undefined) throw new Error("Effect's fiber counter was not found: another version of effect?")
  MutableRef.set(counter as MutableRef.MutableRef<number>, 0)
}

/**
 * Runs `body` with `Date.now`, `Math.random` and timers taken from it: time is `nowEpochMs`, randomness
 * `random`, timers throw. All is put back at the end, also after a throw. `body` must be synchronous.
 */
export const isolated = <A>(nowEpochMs: () => number, random: () => number, body: () => A): A => {
  const target = globalThis as unknown as { [name: string]: unknown }
  const timers = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]
  const saved = timers.map((name) => [name, target[name]] as const)
  const { now } = Date
  const { random: realRandom } = Math
  const performanceNow = performance.now.bind(performance)
  Date.now = nowEpochMs
  Math.random = random
  performance.now = nowEpochMs
  for (const name of timers) target[name] = forbidden(name)
  target["setInterval"] = setInterval
  resetFiberIds()
  try {
    return body()
  } finally {
    Date.now = now
    Math.random = realRandom
    performance.now = performanceNow
    for (const [name, value] of saved) target[name] = value
  }
}
