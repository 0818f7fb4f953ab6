/**
 * Warns where the venue's own proxies report clients by something that is no address. All clients then count as one, with one address's
 * limits for all of them, and owners are told the proxy's address as that of whoever acts for them: nothing else shows it.
 */
import { Seldom } from "../../domain/Seldom.js"
import { forwardedEntry } from "./ClientAddress.js"
import type { Application, Sender } from "./Listener.js"

/** Shortest interval between two warnings, in nanoseconds: every request may need one. */
const apartNanos = 10_000_000_000
/** Longest part of an entry that is repeated, in characters: a client may have written it. */
const longestEntry = 64

export interface Watching {
  /** The number of the venue's own proxies. */
  readonly trustedProxies: number
  readonly monotonicNanos: () => number
}

/** The application with that warning, at most once in ten seconds. A request without the header is none of a client's: a health check. */
export const over = (
  application: Required<Application>,
  { monotonicNanos, trustedProxies: proxies }: Watching,
  warn: (words: string) => void
): Required<Application> => {
  if (proxies === 0) return application
  const seldom = new Seldom(apartNanos, monotonicNanos)
  const look = ({ headers, remoteAddress }: Sender): void => {
    const header = headers["x-forwarded-for"]
    if (header === undefined || forwardedEntry(header, proxies).address !== undefined) return
    const since = seldom.came()
    if (since === undefined) return
    const { text } = forwardedEntry(header, proxies)
    const said = text === undefined ? `has fewer than ${proxies} entries` : `has ${JSON.stringify(text.slice(0, longestEntry))} there`
    warn(
      `X-Forwarded-For tells no address where TRUST_PROXY=${proxies} takes it from: of ${since} requests, the last from ${remoteAddress}, `
        + `which ${said}. Such requests count for that address, with all others that come from there`
    )
  }
  return {
    ...application,
    handle: (request, reply) => {
      look(request)
      application.handle(request, reply)
    },
    open: (request) => {
      look(request)
      return application.open(request)
    }
  }
}
