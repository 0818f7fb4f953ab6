/** Latencies by operation, in histograms whose size does not grow with the number of values. */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks"

/** Milliseconds, to three digits. */
export interface Summary {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export class Latencies {
  private readonly histograms = new Map<string, RecordableHistogram>()

  record(operation: string, ms: number): void {
    let histogram = this.histograms.get(operation)
    if (histogram === undefined) {
      histogram = createHistogram()
      this.histograms.set(operation, histogram)
    }
    histogram.record(Math.max(1, Math.round(ms * 1000)))
  }

  /** By operation, in order of first use. */
  summaries(): Readonly<Record<string, Summary>> {
    return Object.fromEntries([...this.histograms].map(([operation, histogram]) => [operation, {
      count: histogram.count,
      p50Ms: histogram.percentile(50) / 1000,
      p99Ms: histogram.percentile(99) / 1000,
      maxMs: histogram.max / 1000
    }]))
  }
}
