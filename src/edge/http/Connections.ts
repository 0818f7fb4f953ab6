/**
 * Open connections within the system's limits: a maximum in all, and a maximum per remote address, so that no single client keeps
 * all others out. A new connection beyond either limit replaces the one that has been idle longest, of its own address or of all;
 * without an idle one, the stream that has been without a ticket longest; otherwise it is turned away. Only a bounded number of
 * connections is examined for each new one, and the next continues from there.
 */

/** What is known of a connection. */
export interface Connection {
  /** The address that shares its limit: an IPv4 address, or the network of an IPv6 address. */
  readonly origin: string
  /** Whether nobody loses an answer when it is closed. */
  readonly isIdle: () => boolean
  /** Whether it is unauthenticated, however busy: such connections cost their owner nothing. */
  readonly isAnonymous: () => boolean
  /** Whether nothing has been received on it. */
  readonly isSilent: () => boolean
  readonly destroy: () => void
}

/** The origin of a remote address: of IPv6 the first 64 bits, which one client has to itself. */
export const originOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped !== null) return mapped[1]!
  if (!address.includes(":")) return address
  const [before, after] = address.split("%")[0]!.split("::")
  const head = before === "" ? [] : before!.split(":")
  const tail = after === undefined || after === "" ? [] : after.split(":")
  const groups = after === undefined ? head : [...head, ...Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0"), ...tail]
  return `${groups.slice(0, 4).join(":")}::/64`
}

/** Most connections examined for a new one: merely connecting counts against no request limit, and has to be cheap to handle. */
const mostLookedAt = 256

/**
 * The connection to be replaced: the one idle longest, or else the first unauthenticated one; undefined where there is neither.
 * Busy ones are moved to the end.
 */
const leavingOf = (connections: Set<Connection>): Connection | undefined => {
  let looked = Math.min(mostLookedAt, connections.size)
  let anonymous: Connection | undefined
  for (const connection of connections) {
    if (connection.isIdle()) return connection
    if (anonymous === undefined && connection.isAnonymous()) anonymous = connection
    connections.delete(connection)
    connections.add(connection)
    if (--looked === 0) return anonymous
  }
  return anonymous
}

export class Connections {
  /** All connections, longest idle first, apart from those that are busy now. */
  private readonly all = new Set<Connection>()
  private readonly byOrigin = new Map<string, Set<Connection>>()
  /** Connections that were closed for a newcomer. */
  closedForRoom = 0
  /** Newcomers for whom there was no room. */
  turnedAway = 0

  /** `limit` in all, `share` per origin; `pressed` is called for each new connection that found no room. */
  constructor(readonly limit: number, readonly share: number, private readonly pressed: (origin: string) => void) {}

  get size(): number {
    return this.all.size
  }

  /** Whether a newcomer is let in. */
  admit(connection: Connection): boolean {
    const own = this.byOrigin.get(connection.origin)
    const crowd = own !== undefined && own.size >= this.share ? own : this.all.size >= this.limit ? this.all : undefined
    if (crowd !== undefined) {
      const leaving = leavingOf(crowd)
      if (leaving === undefined) this.turnedAway++
      else {
        this.closedForRoom++
        this.remove(leaving)
        leaving.destroy()
      }
      this.pressed(connection.origin)
      if (leaving === undefined) return false
    }
    this.all.add(connection)
    const beside = this.byOrigin.get(connection.origin)
    if (beside === undefined) this.byOrigin.set(connection.origin, new Set([connection]))
    else beside.add(connection)
    return true
  }

  /** Ends every one of them. */
  destroy(): void {
    for (const connection of this.all) connection.destroy()
  }

  /** Ends those on which nothing has come. */
  destroySilent(): void {
    for (const connection of this.all) if (connection.isSilent()) connection.destroy()
  }

  /** Notes that a connection has become idle. */
  quieted(connection: Connection): void {
    const own = this.byOrigin.get(connection.origin)
    if (own === undefined || !this.all.delete(connection)) return
    this.all.add(connection)
    own.delete(connection)
    own.add(connection)
  }

  remove(connection: Connection): void {
    if (!this.all.delete(connection)) return
    const own = this.byOrigin.get(connection.origin)!
    own.delete(connection)
    if (own.size === 0) this.byOrigin.delete(connection.origin)
  }
}
