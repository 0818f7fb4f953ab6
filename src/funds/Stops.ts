/**
 * How often operators have stopped withdrawals since the process began. A stop where they are stopped already changes nothing in the
 * venue's state, and yet whoever lets them go on meanwhile has to know of it.
 */
export class Stops {
  private noted = 0

  get count(): number {
    return this.noted
  }

  note(): void {
    this.noted++
  }
}
