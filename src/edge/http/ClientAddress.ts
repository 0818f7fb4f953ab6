/** The address that a request counts for: behind the venue's own proxies, the one that the outermost of them saw. */
import { isIP } from "node:net"
import { originOf } from "./Connections.js"
import type { Request } from "./Listener.js"

/** The entry at a position counted from the right of a list; undefined where there are fewer. */
const fromTheRight = (list: string, count: number): string | undefined => {
  let end = list.length
  for (let passed = 1; passed < count; passed++) {
    end = list.lastIndexOf(",", end - 1)
    if (end < 0) return undefined
  }
  return list.slice(end === 0 ? 0 : list.lastIndexOf(",", end - 1) + 1, end).trim()
}

/**
 * The origin that a request counts for: an IPv4 address, or the network of an IPv6 address. `proxies` is the number of the venue's
 * own proxies; each appends the address it saw to `X-Forwarded-For`, and clients can forge everything further left. Where there is
 * no such entry, or it is not an address, the connection's own address counts.
 */
export const clientAddress = ({ headers, remoteAddress }: Pick<Request, "headers" | "remoteAddress">, proxies: number): string => {
  if (proxies === 0) return originOf(remoteAddress)
  const told = fromTheRight(headers["x-forwarded-for"] ?? "", proxies)
  return originOf(told !== undefined && isIP(told) !== 0 ? told : remoteAddress)
}
