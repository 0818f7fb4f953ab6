/** Updates the display at most once a frame: however often something changes, its state at that time is painted. */
import type { Outside } from "../Outside.js"

export class Frames {
  private due = new Set<() => void>()

  constructor(private readonly frame: Outside["frame"]) {}

  /** Runs something before the next paint: once, however often it is requested until then. */
  ask(run: () => void): void {
    if (this.due.size === 0) this.frame(this.run)
    this.due.add(run)
  }

  private readonly run = (): void => {
    const { due } = this
    this.due = new Set()
    for (const each of due) each()
  }
}
