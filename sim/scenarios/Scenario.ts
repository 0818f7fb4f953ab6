/** A scenario: a run whose events are written in advance, with expectations of its end in addition to all properties. */
import type { Bounds, Options } from "../faults/Options.js"
import type { Stage } from "./Stage.js"

export interface Scenario {
  /** The name by which it is selected: words joined by hyphens. */
  readonly name: string
  /** What happens in it, in a line. */
  readonly what: string
  /** The venue's bounds, where it needs others than those that no run reaches. */
  readonly bounds?: Partial<Bounds>
  /**
   * Further settings: a slow disk, a follower that takes the snapshots, readers beside the venue, histories that lag, limits of the stream where there are
   * listeners, request limits, how much of the past is kept in memory, whether accounts may be affiliates, a ledger, markets of a file, some
   * of them in sessions, connections as bytes, and proxies before the venue.
   */
  readonly set?: Pick<
    Partial<Options>,
    | "disk"
    | "edges"
    | "follower"
    | "funds"
    | "histories"
    | "limits"
    | "listing"
    | "proxies"
    | "readings"
    | "sessions"
    | "standings"
    | "streams"
    | "wire"
  >
  readonly play: (stage: Stage) => void
}
