/**
 * Effect's list of the fibers that nobody waits for, kept so that what has ended is forgotten.
 *
 * Effect keeps it in a `Set`, so that `Fiber.roots` can tell it. V8 makes the table of a `Set` anew when it is full of what was taken
 * out, and each old table points to the next one. Once one of them lies with what is old, every one after it is kept until the next
 * full collection, with the fibers that were in it, and all that these hold: of a venue under load, a large part of its requests. Each
 * collection of what is young then takes 60 to 150 ms of the writer in place of 5.
 */
import { globalValue } from "effect/GlobalValue"
import { assert } from "./domain/Assert.js"

/** The part of a `Set` that Effect uses of it. */
interface List {
  readonly add: (fiber: object) => unknown
  readonly delete: (fiber: object) => unknown
  readonly [Symbol.iterator]: () => IterableIterator<object>
}

/** In places that are used again: nothing of it points to what is no longer in it. */
class Places implements List {
  private readonly fibers: Array<object> = []
  private readonly places = new WeakMap<object, number>()

  add(fiber: object): void {
    if (this.places.has(fiber)) return
    this.places.set(fiber, this.fibers.length)
    this.fibers.push(fiber)
  }

  delete(fiber: object): void {
    const place = this.places.get(fiber)
    if (place === undefined) return
    this.places.delete(fiber)
    const last = this.fibers.pop()!
    if (last === fiber) return
    this.fibers[place] = last
    this.places.set(last, place)
  }

  [Symbol.iterator](): IterableIterator<object> {
    return this.fibers[Symbol.iterator]()
  }
}

/** Has Effect keep its list so, from here on: before any fiber is begun that goes on for long. */
export const forgetEnded = (): void => {
  const scope = globalValue<{ roots: List | undefined }>(Symbol.for("effect/FiberScope/Global"), () => ({ roots: undefined }))
  assert(scope.roots !== undefined, "Effect keeps a list of fibers by this name")
  const places = new Places()
  for (const fiber of scope.roots) places.add(fiber)
  scope.roots = places
}
