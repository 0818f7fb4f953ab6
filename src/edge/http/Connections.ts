/**
 * The open connections, within the system's limits: a total, a limit per remote address, and a quarter of the total per network, so
 * that no single client can keep all others out. A new connection beyond a limit replaces the one of its address, of its network or of
 * all that has been idle longest. If none is idle it replaces the stream connection that has been unauthenticated longest, and if there
 * is none of these either it is turned away. A limited number of connections is examined for each new one; the next search continues
 * where the last one ended.
 */
import { networkOf } from "../../domain/FairPlaces.js"
import type { ConnectionCounts } from "./Listener.js"

/** An open connection, as far as the limits depend on it. */
export interface Connection {
  /** The address that shares its limit: an IPv4 address, or the network of an IPv6 address. */
  readonly origin: string
  /** Whether it can be closed without anybody losing an answer that he is still waiting for. */
  readonly isIdle: () => boolean
  /** Whether it is unauthenticated, however busy: such connections cost their owner nothing. */
  readonly isAnonymous: () => boolean
  /** Whether nothing has been received on it. */
  readonly isSilent: () => boolean
  readonly destroy: () => void
}

/** The groups in a part of an IPv6 address, of which the last two may be written as an IPv4 address. */
const groupsIn = (part: string): ReadonlyArray<number> =>
  part === "" ? [] : part.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)]
    const [first, second, third, fourth] = group.split(".").map(Number) as [number, number, number, number]
    return [first * 256 + second, third * 256 + fourth]
  })

/** The eight groups of an IPv6 address, whichever of its spellings it has. */
const groupsOf = (address: string): ReadonlyArray<number> => {
  const [before, after] = address.split("%")[0]!.split("::")
  const head = groupsIn(before!)
  if (after === undefined) return head
  const tail = groupsIn(after)
  return [...head, ...Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail]
}

/** How the system reports an IPv4 client of a socket that takes both. */
const usualMapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/

/** The last of six groups behind which an IPv6 address is an IPv4 address; those before it are 0. */
const mappedMark = 0xffff

/**
 * The origin of a remote address: of IPv6 the first 64 bits, which one client has to itself. All spellings of an address are one, and so
 * are an IPv4 address and its form in IPv6.
 */
export const originOf = (address: string): string => {
  if (!address.includes(":")) return address
  const mapped = usualMapped.exec(address)
  if (mapped !== null) return mapped[1]!
  const groups = groupsOf(address)
  if (groups[5] === mappedMark && groups.slice(0, 5).every((group) => group === 0)) {
    return groups.slice(6, 8).flatMap((group) => [group >> 8, group & 255]).join(".")
  }
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64`
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

/** The largest share of a limit that one client may have, unless configured otherwise. */
export const quarterOf = (limit: number): number => Math.ceil(limit / 4)

/** The names under which a connection is counted: its origin, and its network where that differs. */
const namesOf = ({ origin }: Connection): ReadonlyArray<string> => {
  const network = networkOf(origin)
  return network === origin ? [origin] : [origin, network]
}

export class Connections {
  /** All connections, longest idle first, apart from those that are busy now. */
  private readonly all = new Set<Connection>()
  /** By origin, and by network where that differs. */
  private readonly crowds = new Map<string, Set<Connection>>()
  /** Most connections of one network: at least as many as of one address. */
  private readonly shareOfNetwork: number
  /** Newcomers, with and without room. */
  private accepted = 0
  /** Connections that were closed for a newcomer. */
  closedForRoom = 0
  /** Newcomers for whom there was no room. */
  turnedAway = 0

  /** `limit` in all, `share` per origin; `pressed` is called for each new connection that found no room. */
  constructor(readonly limit: number, readonly share: number, private readonly pressed: (origin: string) => void) {
    this.shareOfNetwork = Math.max(share, quarterOf(limit))
  }

  get size(): number {
    return this.all.size
  }

  get counts(): ConnectionCounts {
    const { accepted, closedForRoom, size: open, turnedAway } = this
    return { open, accepted, closedForRoom, turnedAway }
  }

  /** Admits a new connection if there is room or room can be made. Returns whether it was admitted. */
  admit(connection: Connection): boolean {
    this.accepted++
    const crowd = this.crowdOf(connection.origin)
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
    for (const name of namesOf(connection)) {
      const beside = this.crowds.get(name)
      if (beside === undefined) this.crowds.set(name, new Set([connection]))
      else beside.add(connection)
    }
    return true
  }

  /** The connections of which one has to be closed for a new one of this origin; undefined where there is room. */
  private crowdOf(origin: string): Set<Connection> | undefined {
    const beside = this.crowds.get(origin)
    if (beside !== undefined && beside.size >= this.share) return beside
    const around = this.crowds.get(networkOf(origin))
    if (around !== undefined && around.size >= this.shareOfNetwork) return around
    return this.all.size >= this.limit ? this.all : undefined
  }

  /** Closes every connection. */
  destroy(): void {
    for (const connection of this.all) connection.destroy()
  }

  /** Closes the connections on which nothing has been received. */
  destroySilent(): void {
    for (const connection of this.all) if (connection.isSilent()) connection.destroy()
  }

  /** Notes that a connection has become idle. */
  quieted(connection: Connection): void {
    if (!this.all.delete(connection)) return
    this.all.add(connection)
    for (const name of namesOf(connection)) {
      const beside = this.crowds.get(name)!
      beside.delete(connection)
      beside.add(connection)
    }
  }

  remove(connection: Connection): void {
    if (!this.all.delete(connection)) return
    for (const name of namesOf(connection)) {
      const beside = this.crowds.get(name)!
      beside.delete(connection)
      if (beside.size === 0) this.crowds.delete(name)
    }
  }
}
