/** Whoever waits until something has changed: all of them are woken at once, to look for themselves. */
export class Wakers {
  private waiting: Array<() => void> = []

  /** Resolves once it is woken. */
  woken(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  wake(): void {
    const { waiting } = this
    this.waiting = []
    for (const wake of waiting) wake()
  }
}
