/**
 * Unread answers of all connections together. Each connection has its own limit, from which on no further request is begun for it,
 * but ten thousand such limits exceed a venue's memory. There is therefore a common one: when it is reached, connections are closed
 * until an eighth of it is free again, first those that have received nothing for a second, and of these the ones that hold most.
 */

/** A connection that may hold unread answers. */
export interface Holder {
  /** Where it comes from. */
  readonly origin: string
  readonly unreadBytes: number
  /** Whether it held answers and received none between the last two checks, nor since. */
  readonly isStuck: boolean
  /** Called once a second while much is held; the first check of a series has none before it. */
  readonly look: (isFirst: boolean) => void
  /** Closes it: the bytes it holds are released before this returns. */
  readonly cut: () => void
}

export class Unread {
  /** Of all connections. */
  bytes = 0
  /** Connections closed for lack of room. */
  closed = 0
  private readonly holders = new Set<Holder>()
  private isWatching = false

  /** `pressed` is called for each connection that is closed; `later` calls back after a second. */
  constructor(
    readonly mostBytes: number,
    private readonly pressed: (origin: string) => void,
    private readonly later: (then: () => void) => void
  ) {}

  /** A connection begins. */
  enter(holder: Holder): void {
    this.holders.add(holder)
  }

  /** A closed connection leaves, having released what it held. */
  leave(holder: Holder): void {
    this.holders.delete(holder)
  }

  add(bytes: number): void {
    this.bytes += bytes
    if (this.isMuch) this.press()
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes
  }

  /** Whether enough is held that checking for stuck clients is worthwhile. */
  private get isMuch(): boolean {
    return this.bytes > this.mostBytes / 2
  }

  private press(): void {
    if (!this.isWatching) {
      this.isWatching = true
      this.watch(true)
    }
    if (this.bytes > this.mostBytes) this.relieve()
  }

  private watch(isFirst: boolean): void {
    for (const holder of this.holders) holder.look(isFirst)
    this.later(() => {
      if (this.isMuch) this.watch(false)
      else this.isWatching = false
    })
  }

  private relieve(): void {
    const all = [...this.holders].filter(({ unreadBytes }) => unreadBytes > 0)
    all.sort((one, other) => Number(other.isStuck) - Number(one.isStuck) || other.unreadBytes - one.unreadBytes)
    for (const holder of all) {
      if (this.bytes <= this.mostBytes * 7 / 8) return
      this.closed++
      holder.cut()
      this.pressed(holder.origin)
    }
  }
}
