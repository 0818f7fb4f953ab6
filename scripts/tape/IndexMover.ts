/**
 * Moves the market's index along the recorded one: at most one price for each interval of tape time, the last price of the interval, with
 * one request at a time.
 */
import * as Units from "../../src/domain/Units.js"
import { priceScale } from "./Capture.js"
import { decoded, type Venue } from "./Venue.js"

/** The shortest tape time between two prices, in microseconds. */
const intervalUs = 100_000

export class IndexMover {
  private pendingAtoms: number | undefined
  private lastEpochUs = -Infinity
  private underWay: Promise<void> = Promise.resolve()
  /** Prices sent. */
  sent = 0

  constructor(private readonly venue: Venue, private readonly marketId: string) {}

  /** Whether the index has a price, or is about to get one. */
  get moved(): boolean {
    return this.sent > 0 || this.pendingAtoms !== undefined
  }

  /** Notes the recorded index's new price. */
  offer(priceAtoms: number): void {
    this.pendingAtoms = priceAtoms
  }

  /** Advances the tape time: sends the last price if one is due. */
  async pass(atEpochUs: number): Promise<void> {
    if (this.pendingAtoms === undefined || atEpochUs - this.lastEpochUs < intervalUs) return
    this.lastEpochUs = atEpochUs
    const priceAtoms = this.pendingAtoms
    this.pendingAtoms = undefined
    await this.underWay
    this.sent++
    this.underWay = this.put(priceAtoms)
    // The next caller that awaits this gets the error; until then it must not count as unhandled.
    this.underWay.catch(() => {})
  }

  /** Resolves when the last price sent is the index. */
  async settled(): Promise<void> {
    await this.underWay
  }

  private async put(priceAtoms: number): Promise<void> {
    const path = `/v1/operator/markets/${this.marketId}/index-price`
    const answer = await this.venue.operate("set index price", "PUT", path, { price: Units.formatDecimal(priceAtoms, priceScale) })
    decoded({ method: "PUT", path }, answer)
  }
}
