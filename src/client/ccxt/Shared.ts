/** Work that calls at the same time share, such as reading what all of them need: it is done again only once it has ended. */
export class Shared<A> {
  private underWay: Promise<A> | undefined = undefined

  get isUnderWay(): boolean {
    return this.underWay !== undefined
  }

  /** What is under way, or what begins now where nothing is. */
  async join(begin: () => Promise<A>): Promise<A> {
    const joined = this.underWay ??= begin()
    try {
      return await joined
    } finally {
      // Behind `leave` another one may have begun.
      if (this.underWay === joined) this.underWay = undefined
    }
  }

  /** Later calls do not share the end of what is under way now. */
  leave(): void {
    this.underWay = undefined
  }
}
