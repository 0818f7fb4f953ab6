/**
 * The connections that are open, within what the system gives: so many in all, and so many of one remote address, so
 * that nobody alone keeps everybody else out. A newcomer beyond either takes the place of the connection that
 * has been quiet longest, of its own address or of all; where none is quiet, of the stream that nobody has shown a ticket on
 * for longest; and where there is none either, it is turned away. So many are looked at for one newcomer; the next one goes on from
 * there.
 */

/** What is known of a connection. */
export interface Connection {
  /** Who shares with it: an IPv4 address, or the network of an IPv6 address. */
  readonly origin: string
  /** Whether closing it takes no answer from anyone. */
  readonly isIdle: () => boolean
  /** Whether it speaks for nobody, however busy: such connections cost who opens them nothing. */
  readonly isAnonymous: () => boolean
  /** Whether nothing has come on it. */
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

/** Most connections that are looked at for one newcomer: who only connects counts for no limit, and must cost little. */
const mostLookedAt = 256

/**
 * The one of these that makes room: that has been quiet longest, or else the first that is anonymous; undefined where none is
 * either. Those that are not quiet go behind the others.
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
  /** Longest quiet first, but for those that are busy now. */
  private readonly all = new Set<Connection>()
  private readonly byOrigin = new Map<string, Set<Connection>>()
  /** Connections that were closed for a newcomer. */
  closedForRoom = 0
  /** Newcomers for whom there was no room. */
  turnedAway = 0

  /** `limit` in all, `share` of one origin; `pressed` hears of each newcomer that found no room. */
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

  /** A connection has become quiet. */
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
