/** What streams have around them where nobody asks for candles and nothing may fail. */
import { Histogram } from "../../src/domain/Histogram.js"
import type { Outside } from "../../src/streams/Hub.js"

export const outside = (own: Pick<Outside, "kept" | "keptOfAccounts" | "now">): Outside => ({
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
