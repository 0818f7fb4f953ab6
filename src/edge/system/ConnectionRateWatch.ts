/**
 * Warns operators of new connections that come at an extreme rate, for longer than clients take to connect again after a restart. They
 * draw on no limit of requests, few of them are open at a time, and yet each costs about a millisecond of the writer's thread: nothing
 * else would tell why others wait to be let in.
 */
import type { ConnectionCounts } from "../http/Listener.js"
import type { Notice } from "./Notices.js"

/** Connections a second, on average between two checks, from which on it is a flood: about a tenth of the writer's thread. */
const floodPerSecond = 100

/** Shortest interval between two warnings, in ms. */
const warningsApartMs = 60_000

/** Checks how many connections came since the previous check. The clock is a monotonic one, in nanoseconds. */
export const make = (connections: () => ConnectionCounts, nanos: () => number): () => ReadonlyArray<Notice> => {
  let last = { atMs: nanos() / 1e6, accepted: connections().accepted }
  let quietUntilMs = Number.NEGATIVE_INFINITY
  let wasFlood = false
  return () => {
    const { accepted, open } = connections()
    const atMs = nanos() / 1e6
    const [came, seconds] = [accepted - last.accepted, (atMs - last.atMs) / 1_000]
    last = { atMs, accepted }
    const [isFlood, isLasting] = [came > floodPerSecond * seconds, wasFlood]
    wasFlood = isFlood
    if (!isFlood || !isLasting || atMs < quietUntilMs) return []
    quietUntilMs = atMs + warningsApartMs
    return [{
      text: `${came} connections were opened within ${Math.round(seconds)} s, and ${open} are open: whoever wants to connect waits for `
        + "these. A firewall or a proxy has to limit them: see OPERATIONS, Floods of new connections",
      isWarning: true
    }]
  }
}
