/** Who a request comes from, as limits count it: behind proxies of the venue's own, what the outermost of them saw. */
import { isIP } from "node:net"
import { originOf } from "./Connections.js"
import type { Request } from "./Listener.js"

/** The entry so many from the right of a list; undefined where there are fewer. */
const fromTheRight = (list: string, count: number): string | undefined => {
  let end = list.length
  for (let passed = 1; passed < count; passed++) {
    end = list.lastIndexOf(",", end - 1)
    if (end < 0) return undefined
  }
  return list.slice(end === 0 ? 0 : list.lastIndexOf(",", end - 1) + 1, end).trim()
}

/**
 * The origin that a request counts for: an IPv4 address, or the network of an IPv6 address. `proxies`: how many of the
 * venue's own stand before it, each of which adds whom it saw to `X-Forwarded-For` at the right; what is farther left anybody
 * may have written. Where there is no such entry, or it is no address, it counts for who is connected.
 */
export const clientAddress = ({ headers, remoteAddress }: Pick<Request, "headers" | "remoteAddress">, proxies: number): string => {
  if (proxies === 0) return originOf(remoteAddress)
  const told = fromTheRight(headers["x-forwarded-for"] ?? "", proxies)
  return originOf(told !== undefined && isIP(told) !== 0 ? told : remoteAddress)
}
