/** Callers that wait for a change: all of them are woken at once, to check for themselves. */
export class Wakers {
  private waiting: Array<() => void> = []

  /** Resolves at the next wake-up. */
  woken(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  wake(): void {
    const { waiting } = this
    this.waiting = []
    for (const wake of waiting) wake()
  }
}
