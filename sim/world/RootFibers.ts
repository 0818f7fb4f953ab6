/**
 * Releases fibers that will never end. A crash abandons the fibers of a simulated process where they stand, and Effect keeps every root
 * fiber until it has ended: without this, a long series of runs would keep every crashed venue in memory.
 */
import { globalValue } from "effect/GlobalValue"
import type { Fiber } from "effect"
import { assert } from "../../src/domain/Assert.js"

/** Effect's set of root fibers. */
const rootsOf = (): Set<Fiber.RuntimeFiber<unknown, unknown>> => {
  const scope: unknown = globalValue(Symbol.for("effect/FiberScope/Global"), () => undefined)
  assert(typeof scope === "object" && scope !== null && "roots" in scope && scope.roots instanceof Set,
    "Effect keeps its root fibers in a set")
  return scope.roots
}

/** Runs something synchronous, then releases all root fibers that it began. */
export const releasing = <A>(body: () => A): A => {
  const roots = rootsOf()
  const before = new Set(roots)
  try {
    return body()
  } finally {
    for (const fiber of roots) if (!before.has(fiber)) roots.delete(fiber)
  }
}

/** The number of root fibers. */
export const count = (): number => rootsOf().size
