/**
 * A process that streams index prices into a venue with `INDEX_FEED=push`: it opens a session, numbers its batches, sends several without
 * waiting, repeats unanswered ones, goes back to the number that the venue expects, and now and then repeats an accepted batch, skips a
 * number, or opens another session while batches of the previous one are in transit.
 */
import type { Publisher as Options } from "../faults/Options.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { Answer } from "../properties/Observation.js"
import type { Streamed } from "../reading/Batches.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { OperatorsDesk } from "./Desk.js"
import * as Wallet from "./Wallet.js"

const weights = { next: 12, "next two": 4, before: 2, beyond: 1, reopen: 1, look: 2 } as const

/**
 * Largest distance of a price from the mark, bps; how often it has one decimal too many for the grid, and how often it is not a price at
 * all.
 */
const movesBps = [1, 10, 60]
const finerShare = 0.2
const noPriceShare = 0.04
const noPrices = ["0", "0.000000001", "99999999999999999999"]
const nowhereShare = 0.04
/** The price's age by the venue's clock, ms. */
const agesMs = [0, 0, 5, 200, 1_500, 70_000, -300]

const textOf = ({ mark, parameters }: NaiveMarket, random: SimRandom): string => {
  if (random.chance(noPriceShare)) return random.pick(noPrices)
  const step = Math.round(mark * random.pick(movesBps) * (2 * random.next() - 1) / 10_000)
  const text = Calls.decimal(Math.max(1, mark + step), parameters.priceScale)
  if (!random.chance(finerShare)) return text
  return `${text}${parameters.priceScale === 0 ? "." : ""}${random.pick(["1", "4", "6", "9"])}`
}

class Publisher {
  /** The call that opened the session; undefined before there is one, and once it is known to have ended. */
  private opened: number | undefined
  /** The next number, and the batches made so far, by number. */
  private next = 1
  private batches: Array<ReadonlyArray<Streamed>> = []

  constructor(private readonly desk: OperatorsDesk, private readonly token: string, private readonly random: SimRandom) {}

  act(): void {
    if (this.opened === undefined) return this.open()
    switch (this.random.weighted(weights)) {
      case "next":
        return this.send(this.next++)
      case "next two":
        this.send(this.next++)
        return this.send(this.next++)
      case "before":
        return this.send(Math.max(1, this.next - this.random.between(1, 3)))
      case "beyond":
        return this.send(this.next + 1)
      case "reopen":
        return this.open()
      case "look": {
        const look = Calls.ask(this.token, "look at the index stream", "getIndexStream", "GET", "/v1/operator/index-stream", undefined)
        this.desk.issue({ ...look, client: "publisher" }, () => {})
      }
    }
  }

  private draft(endpoint: string, target: string, body: unknown): Calls.Draft {
    return { ...Calls.ask(this.token, "stream index prices", endpoint, "POST", target, body), client: "publisher" }
  }

  private open(): void {
    this.opened = this.desk.issue(this.draft("openIndexStream", "/v1/operator/index-stream", undefined), () => {}).id
    this.next = 1
    this.batches = []
  }

  private prices(): ReadonlyArray<Streamed> {
    const { desk: { model, venueEpochMs }, random } = this
    return Array.from({ length: random.between(1, 3) }, () => {
      const market = random.pick(model.markets)
      const { marketId } = market.parameters
      return {
        marketId: random.chance(nowhereShare) ? "NONE-USDC-PERP" : marketId,
        price: textOf(market, random),
        sourceEpochMs: Math.max(1, venueEpochMs() - random.pick(agesMs))
      }
    })
  }

  private send(sequence: number): void {
    const of = this.opened!
    const prices = this.batches[sequence] ??= this.prices()
    const body = { session: Wallet.of(of, "session"), sequence, prices }
    this.desk.issue(this.draft("streamIndexPrices", "/v1/operator/index-stream/prices", body), (answer) => this.hear(of, answer))
  }

  private hear(of: number, answer: Answer | undefined): void {
    if (answer?.status !== 409 || of !== this.opened) return
    const { nearest } = answer.json as { readonly nearest?: string }
    if (nearest === undefined) this.opened = undefined
    else this.next = Number(nearest)
  }
}

/** Starts a run's feed process. */
export const start = (desk: OperatorsDesk, token: string, random: SimRandom, { calls, meanPauseMs }: Options): void => {
  const publisher = new Publisher(desk, token, random)
  let left = calls
  const next = (): void => {
    desk.time.after(random.until(meanPauseMs), () => {
      if (!desk.isOpen() || left-- <= 0) return
      if (desk.model.markets.some((market) => market.mark > 0 && !isDelisted(market))) publisher.act()
      next()
    })
  }
  next()
}
