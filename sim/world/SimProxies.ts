/**
 * The venue's own proxies, one behind the other, between clients and the venue. Each appends the address of whoever connected to it to
 * `X-Forwarded-For`, and hands a request on from an address of its own; the last of them has several machines.
 *
 * Faults: a client claims addresses in that header before a proxy writes to it, also where there is none: other clients', a proxy's, and
 * what is no address. Proxies write addresses in several ways: with a port, in brackets, in the form of IPv6, with or without spaces.
 */
import type { Sender } from "../../src/edge/http/Listener.js"
import { addresses } from "./Addresses.js"
import type { SimRandom } from "./SimRandom.js"

export interface Behaviour {
  /** How many proxies there are; 0: clients connect to the venue directly. */
  readonly count: number
  /** Share of requests with claims of their client. */
  readonly forgedShare: number
  /** Share of entries that a proxy writes in another way than the plain address. */
  readonly spelledShare: number
}

/** What a client claims: each is a header as it sends it. The venue must take none of it for anybody's address. */
const claims: ReadonlyArray<string> = [
  addresses.traders,
  addresses.owners,
  addresses.streams,
  `${addresses.traders}, ${addresses.owners}`,
  "198.51.100.7,203.0.113.9,198.51.100.7,203.0.113.9",
  "10.9.1.1, 10.9.2.1, 10.9.3.1",
  `[2001:db8::1]:443, ${addresses.traders}:1`,
  "unknown",
  ",",
  "for=192.0.2.60;proto=http, 256.1.1.1"
]

/** The ways in which proxies write an IPv4 address. */
const spellings: ReadonlyArray<(address: string) => string> = [
  (address) => `${address}:50123`,
  (address) => `::ffff:${address}`,
  (address) => `[::ffff:${address}]`,
  (address) => `[::ffff:${address}]:443`,
  (address) => {
    const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number]
    return `0:0:0:0:0:FFFF:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  }
]

/** How many machines the last proxy has. */
const machines = 2

/** The address of a proxy, counted from the clients. */
const addressOf = (proxy: number, machine: number): string => `10.9.${proxy}.${machine}`

/** A request as the venue gets it through the proxies, of what a client sent from its address; `random` draws claims and spellings. */
export const through = <S extends Sender>({ count, forgedShare, spelledShare }: Behaviour, sent: S, random: SimRandom): S => {
  let list = random.chance(forgedShare) ? random.pick(claims) : undefined
  let from = sent.remoteAddress
  for (let proxy = 1; proxy <= count; proxy++) {
    const entry = random.chance(spelledShare) ? random.pick(spellings)(from) : from
    list = list === undefined ? entry : `${list}${random.pick([", ", ","])}${entry}`
    from = addressOf(proxy, proxy === count ? random.between(1, machines) : 1)
  }
  return list === undefined ? sent : { ...sent, headers: { ...sent.headers, "x-forwarded-for": list }, remoteAddress: from }
}
