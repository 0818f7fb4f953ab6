/**
 * Answers that clients have not taken, of all connections together. Each connection has a bound of its own, from which on nothing more
 * is begun for it; those of ten thousand connections together are more than a venue has memory for. So there is one for all of them:
 * where it is reached connections are closed until an eighth of it is free again, first of all those that have taken nothing for
 * a second, and of those the ones that hold most.
 */

/** A connection that may hold answers. */
export interface Holder {
  /** Where it comes from. */
  readonly origin: string
  readonly unreadBytes: number
  /** Whether it held answers, and took nothing, between the last two looks, nor has since. */
  readonly isStuck: boolean
  /** Called once a second while much is held; the first look of several has none before it. */
  readonly look: (isFirst: boolean) => void
  /** Closes it: what it holds is given back before this returns. */
  readonly cut: () => void
}

export class Unread {
  /** Of all connections. */
  bytes = 0
  /** Connections that were closed for it. */
  closed = 0
  private readonly holders = new Set<Holder>()
  private isWatching = false

  /** `pressed` hears of each connection that is closed; `later` calls back after a second. */
  constructor(
    readonly mostBytes: number,
    private readonly pressed: (origin: string) => void,
    private readonly later: (then: () => void) => void
  ) {}

  /** A connection begins. */
  enter(holder: Holder): void {
    this.holders.add(holder)
  }

  /** It is over, and has given back what it held. */
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

  /** Whether so much is held that it is worth a look at who takes nothing. */
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
