/** The surroundings of streams when there are no candles and nothing fails. */
import { Histogram } from "../../src/domain/Histogram.js"
import type { Outside } from "../../src/streams/Hub.js"

export const outside = (own: Pick<Outside, "kept" | "keptOfAccounts" | "mostUnused" | "now">): Outside => ({
  ...own,
  monotonicNanos: () => 0,
  delays: new Histogram(),
  delivered: () => {},
  past: () => {
    throw new Error("nobody asks for candles")
  },
  hasPast: () => false,
  fork: () => {},
  failed: (cause) => {
    throw cause
  }
})
