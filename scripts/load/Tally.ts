/** A load generator's statistics of its answers: how many, with what status, and how long they took. */
import type { Report, Task } from "./Task.js"

const bucketsUs = 1_000_000

export class Tally {
  /** Checked entries of batches, and how many of them were rejected. */
  entriesSeen = 0
  entriesRejected = 0
  lost = 0
  private readonly latencies = new Uint32Array(bucketsUs)
  private readonly statuses: Record<string, number> = {}
  private answered = 0
  private sent = 0
  private open: number
  private readonly measureFrom: bigint
  private readonly end: bigint

  constructor(private readonly task: Task) {
    this.open = task.connections
    const start = process.hrtime.bigint()
    this.measureFrom = start + BigInt(Math.round(task.warmUpSeconds * 1e9))
    this.end = this.measureFrom + BigInt(Math.round(task.seconds * 1e9))
  }

  /** Whether it is too late to send at a given time. */
  isOver(at: bigint): boolean {
    return at >= this.end
  }

  /** Notes an answer. Returns whether it counts. */
  answer(sent: bigint, status: string | number): boolean {
    const now = process.hrtime.bigint()
    this.sent++
    if (sent < this.measureFrom || now >= this.end) return false
    this.answered++
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    this.latencies[Math.min(bucketsUs - 1, Number((now - sent) / 1000n))]!++
    return true
  }

  /** Notes that a connection is done. After the last one the report is sent, and the process ends. */
  finish(): void {
    if (--this.open > 0) return
    const report: Report = {
      answered: this.answered,
      sent: this.sent,
      lost: this.lost,
      seconds: this.task.seconds,
      statuses: this.statuses,
      entriesSeen: this.entriesSeen,
      entriesRejected: this.entriesRejected,
      p50Us: this.quantile(0.5),
      p99Us: this.quantile(0.99)
    }
    process.send!(report)
    process.disconnect()
  }

  private quantile(of: number): number {
    let left = this.answered * of
    for (let at = 0; at < bucketsUs; at++) {
      left -= this.latencies[at]!
      if (left <= 0) return at
    }
    return bucketsUs
  }
}
