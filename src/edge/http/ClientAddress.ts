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

/** An IPv4 address with a port, and an address in brackets with or without one: as several proxies write them. */
const withPort = /^(\d+\.\d+\.\d+\.\d+):\d+$/
const inBrackets = /^\[([^\]]+)\](?::\d+)?$/

/** The entry of `X-Forwarded-For` that the outermost of the venue's own proxies wrote, and the address in it, if it is one. */
export interface Entry {
  /** Undefined where there are fewer entries than proxies. */
  readonly text: string | undefined
  readonly address: string | undefined
}

export const forwardedEntry = (header: string, proxies: number): Entry => {
  const text = fromTheRight(header, proxies)
  if (text === undefined || isIP(text) !== 0) return { text, address: text }
  const address = (withPort.exec(text) ?? inBrackets.exec(text))?.[1]
  return { text, address: address !== undefined && isIP(address) !== 0 ? address : undefined }
}

/**
 * The origin that a request counts for: an IPv4 address, or the network of an IPv6 address. `proxies` is the number of the venue's
 * own proxies; each appends the address it saw to `X-Forwarded-For`, and clients can forge everything further left. Where there is
 * no such entry, or it is not an address, the connection's own address counts.
 */
export const clientAddress = ({ headers, remoteAddress }: Pick<Request, "headers" | "remoteAddress">, proxies: number): string => {
  if (proxies === 0) return originOf(remoteAddress)
  return originOf(forwardedEntry(headers["x-forwarded-for"] ?? "", proxies).address ?? remoteAddress)
}
