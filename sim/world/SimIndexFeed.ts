/**
 * The source of index prices outside the venue, and the connection over which one process at a time receives them. Each market's price
 * wanders around its start; where prices are to ruin traders, it also trends for a while, or jumps, with further samples that confirm the
 * jump. All samples are drawn from the seed and are sent whether or not anything listens.
 *
 * Fault model: samples come at irregular intervals; one is repeated, at once or later; one arrives late, after newer ones and with its
 * original time; a market falls silent for a while or for good, where prices ruin traders mostly after a jump; a price lies outside every
 * bound of its market. A process that connects receives the newest price of each market. Samples sent while nothing listens are lost, and
 * so are those that a dying process had not taken.
 */
import { Effect, Layer, Queue, Stream } from "effect"
import { IndexFeed, type Sample } from "../../src/oracle/IndexFeed.js"
import type { Station } from "./SimListener.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"

/** The source's behaviour. Shares are probabilities per sample, times simulated milliseconds. */
export interface Behaviour {
  /** Mean pause between two samples of one market. */
  readonly meanPauseMs: number
  /** The largest move from one sample to the next, bps. */
  readonly moveBps: number
  readonly repeatShare: number
  readonly lateShare: number
  /** The longest delay of a repeated or late sample. */
  readonly maxLateMs: number
  readonly silenceShare: number
  /** The longest silence of a market; one silence in ten has no end. */
  readonly maxSilenceMs: number
  readonly oddShare: number
  /** Ruinous moves. Absent: prices only wander. */
  readonly ruin?: {
    /** The largest move along the trend with each sample, bps. */
    readonly trendBps: number
    /** How often a price jumps, and how far, bps. The samples after it confirm the jump. */
    readonly gapShare: number
    readonly gapBps: number
  }
}

/** A market at the source. Prices in price atoms. */
export interface Quoted {
  readonly marketId: string
  readonly startPriceAtoms: number
  readonly maxPriceAtoms: number
}

export interface SimIndexFeed {
  /** The layer for one process; its `ready` queues a sample as a task of the process. */
  readonly layerFor: (process: Station) => Layer.Layer<IndexFeed>
  /** Ends the connection of a process: it has died. */
  readonly cut: (process: Station) => void
  /** Sets a listener for every sample that a process receives. */
  readonly tell: (handed: (sample: Sample) => void) => void
  /** Stops sending, to anyone. */
  readonly silence: () => void
}

/** A price stays within this factor of where it started, either way. */
const widest = 1.2
/** The factor within which a price stays where prices are to ruin traders. */
const widestOfRuin = 3
/** How often a trend turns with a sample. */
const turnShare = 0.05
/** Delays of the samples that confirm a jump, each after the previous one: at least a second lies between the second and the last. */
const agreeingMs = [200, 1_100]
/** How often a market falls silent for a while after a jump, so that liquidations have to wait. */
const silentBehindGapShare = 0.25
/** Share of silences without an end. */
const endlessShare = 0.1

interface Connection {
  readonly process: Station
  readonly queue: Queue.Queue<Sample>
}

/** A price's course beyond wandering. */
class Course {
  #direction: number
  /** Delays of the samples that are still to confirm a jump. */
  #agreeing: ReadonlyArray<number> = []
  #endsGap = false

  constructor(readonly ruin: Behaviour["ruin"], readonly random: SimRandom) {
    this.#direction = random.chance(0.5) ? 1 : -1
  }

  /** Whether the latest step is the last sample that confirms a jump. */
  get endsGap(): boolean {
    return this.#endsGap
  }

  /** When the next sample has to confirm the previous one; undefined where it need not. */
  get agreesInMs(): number | undefined {
    return this.#agreeing[0]
  }

  /** The next step, as a factor: 1 where the price is to stay. */
  next(): number {
    const { random, ruin } = this
    if (ruin === undefined) return 1
    if (this.#agreeing.length > 0) {
      this.#agreeing = this.#agreeing.slice(1)
      this.#endsGap = this.#agreeing.length === 0
      return 1
    }
    this.#endsGap = false
    if (random.chance(turnShare)) this.#direction = -this.#direction
    if (!random.chance(ruin.gapShare)) return 1 + (this.#direction * ruin.trendBps * random.next()) / 10_000
    this.#agreeing = agreeingMs
    return 1 + ((random.chance(0.5) ? 1 : -1) * ruin.gapBps * random.next()) / 10_000
  }
}

/** A source that begins to send now. `time` has its own ties, `random` is a generator of its own. */
export const make = (time: SimTime, random: SimRandom, behaviour: Behaviour, markets: ReadonlyArray<Quoted>): SimIndexFeed => {
  let connection: Connection | undefined
  let silent = false
  let handed: (sample: Sample) => void = () => {}
  const newest = new Map<string, Sample>()

  const hand = ({ process, queue }: Connection, sample: Sample): void => {
    handed(sample)
    process.ready(() => void Queue.unsafeOffer(queue, sample))
  }

  const send = (sample: Sample, delayMs: number): void => {
    const arrive = (): void => {
      if (!silent && connection !== undefined) hand(connection, sample)
    }
    if (delayMs === 0) arrive()
    else time.after(delayMs, arrive)
  }

  const begin = ({ marketId, maxPriceAtoms, startPriceAtoms }: Quoted): void => {
    const own = random.split(marketId)
    const late = (share: number): number => own.chance(share) ? own.next() * behaviour.maxLateMs : 0
    let price = startPriceAtoms

    const course = new Course(behaviour.ruin, own.split("way"))
    const silences = own.split("silences")
    const wide = behaviour.ruin === undefined ? widest : widestOfRuin

    const pauseMs = (): number => own.until(behaviour.meanPauseMs)

    const quote = (): void => {
      if (silent) return
      const wanders = 1 + ((2 * own.next() - 1) * (course.agreesInMs === undefined ? behaviour.moveBps : 0)) / 10_000
      price = Math.min(startPriceAtoms * wide, Math.max(startPriceAtoms / wide, price * wanders * course.next()))
      const priceAtoms = own.chance(behaviour.oddShare) ? maxPriceAtoms + own.between(1, 1_000) : Math.max(1, Math.round(price))
      const sample = { marketId, priceAtoms, sourceEpochMs: Math.floor(time.nowEpochMs()) }
      newest.set(marketId, sample)
      send(sample, late(behaviour.lateShare))
      if (own.chance(behaviour.repeatShare)) send(sample, late(0.5))
      if (course.agreesInMs !== undefined) time.after(course.agreesInMs, quote)
      else if (course.endsGap && silences.chance(silentBehindGapShare)) time.after(silences.next() * behaviour.maxSilenceMs, quote)
      else if (!own.chance(behaviour.silenceShare)) time.after(pauseMs(), quote)
      else if (!own.chance(endlessShare)) time.after(own.next() * behaviour.maxSilenceMs, quote)
    }
    time.after(pauseMs(), quote)
  }
  for (const market of markets) begin(market)

  const connect = (process: Station) =>
    Effect.map(Queue.unbounded<Sample>(), (queue): Connection => {
      connection = { process, queue }
      if (!silent) { for (const sample of newest.values()) hand(connection, sample) }
      return connection
    })

  const cut = (process: Station): void => {
    if (connection?.process === process) connection = undefined
  }

  return {
    layerFor: (process) =>
      Layer.scoped(
        IndexFeed,
        Effect.map(
          Effect.acquireRelease(connect(process), () => Effect.sync(() => cut(process))),
          ({ queue }) => ({ samples: () => Stream.fromQueue(queue) })
        )
      ),
    cut,
    tell: (to) => {
      handed = to
    },
    silence: () => {
      silent = true
    }
  }
}
