/**
 * Ring indices in the order in which they were filled: added at one end, taken off at the other. They lie in pages of which none is ever
 * copied to make room. One is used again, or let go, when the last index that was in it has been taken off.
 */
const pageBits = 10
const pageLength = 1 << pageBits
const pageMask = pageLength - 1

export class SlotQueue {
  private readonly pages: Array<Int32Array> = []
  /** Where in its pages it begins, less than a page, and ends. */
  private first = 0
  private end = 0

  get length(): number {
    return this.end - this.first
  }

  /** The index at a position, counted from the oldest, which there has to be. */
  at(position: number): number {
    const place = this.first + position
    return this.pages[place >> pageBits]![place & pageMask]!
  }

  push(slot: number): void {
    const page = this.end >> pageBits
    if (page === this.pages.length) this.pages.push(new Int32Array(pageLength))
    this.pages[page]![this.end & pageMask] = slot
    this.end++
  }

  /** Takes off the oldest, which there has to be. */
  shift(): void {
    this.first++
    if (this.first < pageLength) return
    const page = this.pages.shift()!
    this.first = 0
    this.end -= pageLength
    // Used again where no other is free: a full ring takes off as many as it adds, and a market that has become quiet keeps few.
    if (this.pages.length << pageBits <= this.end + pageMask) this.pages.push(page)
  }

  /** The first position of which something does not hold that holds of all older ones and of no younger one; the length where none is. */
  firstNot(holds: (slot: number) => boolean): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (holds(this.at(middle))) low = middle + 1
      else high = middle
    }
    return low
  }
}
