/**
 * The scheduler of one simulated process: a list of ready tasks, from which the loop picks by seed. So two fibers that are both ready run
 * in either order, as they might on a busy machine.
 *
 * Fault model: any ready task may run next; a running fiber may be made to yield at any of its steps. A task runs once, and never while
 * another runs. A crash drops the whole list.
 */
import type { Scheduler } from "effect"
import type { SimRandom } from "./SimRandom.js"

export interface SimScheduler extends Scheduler.Scheduler {
  /** Queues a task that is no fiber, such as a callback of a port. */
  readonly ready: (task: () => void) => void
  readonly size: () => number
  /** Runs one of the ready tasks, drawn by seed. False if there is none. */
  readonly runOne: () => boolean
  /** Drops all ready tasks, for good: the process has died. */
  readonly abandon: () => void
}

/** After this many operations a fiber yields to others even where no preemption was drawn. */
const maxOperations = 2048

/** `preemption` is the probability, per step of a fiber, that it must yield there. */
export const make = (schedule: SimRandom, preemption: number): SimScheduler => {
  const tasks: Array<() => void> = []
  let abandoned = false
  const add = (task: () => void): void => {
    if (!abandoned) tasks.push(task)
  }
  return {
    scheduleTask: add,
    shouldYield: (fiber) =>
      schedule.chance(preemption) || fiber.currentOpCount > maxOperations
        ? 0
        : false,
    ready: add,
    size: () => tasks.length,
    runOne: () => {
      const count = tasks.length
      if (count === 0) return false
      const at = count === 1 ? 0 : schedule.below(count)
      const task = tasks[at]!
      const last = tasks.pop()!
      if (at < tasks.length) tasks[at] = last
      task()
      return true
    },
    abandon: () => {
      abandoned = true
      tasks.length = 0
    }
  }
}
