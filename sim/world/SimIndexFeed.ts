/**
 * The source of index prices outside the venue, and the connection over which one process at a time hears it. Each
 * market's price wanders around where it started, and where prices are to ruin somebody it goes on in one direction for a while,
 * or at once to where the next samples agree that it is; what is sent when is drawn from the seed and goes on whether or
 * not anything listens.
 *
 * Fault model: samples come at uneven pauses; one is sent again, at once or later; one arrives late, behind newer
 * ones and with the time at which it was taken; a market falls silent for a while or for good, where prices ruin somebody most of all
 * behind a gap; a price lies out of every bound of its market. A process that connects is sent the newest price of each market. What is sent while
 * nothing listens is lost, and so is all that a process which dies had not taken.
 */
import { Effect, Layer, Queue, Stream } from "effect"
import { IndexFeed, type Sample } from "../../src/oracle/IndexFeed.js"
import type { Station } from "./SimListener.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"

/** How the source behaves. Shares are probabilities per sample, times simulated milliseconds. */
export interface Behaviour {
  /** Mean pause between two samples of one market. */
  readonly meanPauseMs: number
  /** How far a price goes from one sample to the next at most. */
  readonly moveBps: number
  readonly repeatShare: number
  readonly lateShare: number
  /** How much later a repeated or late sample arrives at most. */
  readonly maxLateMs: number
  readonly silenceShare: number
  /** How long a market is silent at most; one silence in ten has no end. */
  readonly maxSilenceMs: number
  readonly oddShare: number
  /** How prices go that ruin somebody. Absent: they only wander. */
  readonly ruin?: {
    /** How far a price goes on in its direction with each sample at most, bps. */
    readonly trendBps: number
    /** How often a price is somewhere else at once, and how far, bps. The samples after it agree. */
    readonly gapShare: number
    readonly gapBps: number
  }
}

/** A market as the source knows it. Prices in price atoms. */
export interface Quoted {
  readonly marketId: string
  readonly startPriceAtoms: number
  readonly maxPriceAtoms: number
}

export interface SimIndexFeed {
  /** The leaf of one process; its `ready` puts a sample among what the process has to do. */
  readonly layerFor: (process: Station) => Layer.Layer<IndexFeed>
  /** Ends the connection of a process: it has died. */
  readonly cut: (process: Station) => void
  /** Tells of every sample that a process is handed. */
  readonly tell: (handed: (sample: Sample) => void) => void
  /** Sends nothing any more, to anyone. */
  readonly silence: () => void
}

/** A price stays within this factor of where it started, either way. */
const widest = 1.2
/** The same where prices are to ruin somebody. */
const widestOfRuin = 3
/** How often a price turns around with a sample. */
const turnShare = 0.05
/** When those that agree with a gap are sent, one behind the other: at least a second lies between the second and the last. */
const agreeingMs = [200, 1_100]
/** How often a market is silent for a while behind a gap: whoever it ruined is to wait then. */
const silentBehindGapShare = 0.25
/** How many silences have no end. */
const endlessShare = 0.1

interface Connection {
  readonly process: Station
  readonly queue: Queue.Queue<Sample>
}

/** Where a price goes besides wandering. */
class Course {
  #direction: number
  /** Pauses until the samples that agree with a gap, while there are any left. */
  #agreeing: ReadonlyArray<number> = []
  #endsGap = false

  constructor(readonly ruin: Behaviour["ruin"], readonly random: SimRandom) {
    this.#direction = random.chance(0.5) ? 1 : -1
  }

  /** Whether the step that was made last is the last of those that agree with a gap. */
  get endsGap(): boolean {
    return this.#endsGap
  }

  /** When the next sample is to agree with the one before; undefined where it need not. */
  get agreesInMs(): number | undefined {
    return this.#agreeing[0]
  }

  /** The next step, as a factor: none where the price is to stay. */
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

/** A source that begins to send now. `time` has its own ties, `random` is its own generator. */
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
