/** The parts of a run before anything happens in it: the seed's generators, true time, a disk, a network, and the record of its steps. */
import * as Options from "../faults/Options.js"
import type { Step } from "./Script.js"
import type { Request } from "./Request.js"
import * as SimMarkets from "../workload/SimMarkets.js"
import * as SimBank from "../world/SimBank.js"
import * as SimDisk from "../world/SimDisk.js"
import * as SimHistories from "../world/SimHistories.js"
import * as SimIndexFeed from "../world/SimIndexFeed.js"
import * as SimNetwork from "../world/SimNetwork.js"
import * as SimRandom from "../world/SimRandom.js"
import * as SimTime from "../world/SimTime.js"

/** The start of every run's time. */
export const startEpochMs = 1_760_000_000_000

/** The origin of a simulated venue's owner pages. */
export const site = { publicOrigin: "https://venue.example", rpId: "venue.example" } as const

/** The operator's credential in every run. */
export const operatorToken = "operator-token-of-the-simulation"

export interface World {
  readonly request: Request
  readonly options: Options.Options
  readonly root: SimRandom.SimRandom
  readonly schedule: SimRandom.SimRandom
  readonly secure: SimRandom.SimRandom
  readonly time: SimTime.SimTime
  /** The time with which clients, owners and faults plan their steps. */
  readonly plans: SimTime.SimTime
  readonly disk: SimDisk.SimDisk
  readonly network: SimNetwork.SimNetwork
  /** The content of the markets file; undefined where the run has none and its operator makes the markets. */
  readonly markets: SimMarkets.SimMarkets | undefined
  /** The process's source of index prices; undefined: only the operator. */
  readonly feed: SimIndexFeed.SimIndexFeed | undefined
  /** The ledger and the signer; undefined where the venue has none. */
  readonly bank: SimBank.SimBank | undefined
  /** The storage of histories. */
  readonly histories: SimHistories.SimHistories
  /** Simulated milliseconds since the run began. */
  readonly elapsedMs: () => number
  /** Records a client's call or a fault, if they are to be recorded. */
  readonly record: (step: Step) => void
  /** The steps recorded so far. */
  readonly recorded: ReadonlyArray<Step>
}

/** The options that a seed draws. */
export const optionsOf = (request: Pick<Request, "seed" | "profile">): Options.Options =>
  Options.draw(request.profile, SimRandom.make(request.seed, "options"))

/** The source quotes every market that will ever be listed: a venue receives prices of some before it lists them. */
const feedOf = (
  { first, later }: SimMarkets.SimMarkets,
  behaviour: SimIndexFeed.Behaviour,
  time: SimTime.SimTime,
  random: SimRandom.SimRandom
): SimIndexFeed.SimIndexFeed =>
  SimIndexFeed.make(
    time.withTies(random.split("ties")),
    random,
    behaviour,
    [...first, later].map(({ developmentIndexPriceAtoms, parameters: { marketId, maxPriceAtoms } }) => ({
      marketId,
      startPriceAtoms: developmentIndexPriceAtoms,
      maxPriceAtoms
    }))
  )

/** The world of a request's seed; `inject` is asked before every disk operation. */
export const make = (request: Request, inject: NonNullable<SimDisk.Options["inject"]>): World => {
  const root = SimRandom.make(request.seed)
  const options = request.options ?? optionsOf(request)
  const schedule = root.split("schedule")
  const time = SimTime.make(startEpochMs, schedule)
  const recorded: Array<Step> = []
  const markets = options.listing === undefined ? undefined : SimMarkets.draw(root.split("markets"), {
    collateral: options.workload.collateral,
    money: options.edges?.money ?? "ordinary",
    ruins: options.workload.ruin !== undefined,
    traps: options.workload.ruin?.traps,
    hurries: options.intervals !== undefined
  }, options.sessions, startEpochMs)
  const early = root.split("seen early")
  return {
    request,
    options,
    root,
    schedule,
    secure: root.split("secure"),
    time,
    plans: time.ahead,
    disk: SimDisk.make({
      random: root.split("disk").next,
      faults: { whole: 1 - options.disk.tornRate },
      latencyMs: { min: 0, max: options.disk.maxCallMs },
      fullCode: options.disk.isQuota === true ? "EDQUOT" : "ENOSPC",
      isSeenEarly: () => early.chance(options.disk.seenEarlyRate ?? 0),
      inject
    }),
    network: SimNetwork.make(time, root.split("network"), SimNetwork.noFaults, options.wire, options.proxies),
    markets,
    feed: markets === undefined || options.feed === undefined ? undefined : feedOf(markets, options.feed, time, root.split("feed")),
    bank: options.funds === undefined
      ? undefined
      : SimBank.make(time.withTies(root.split("bank/ties")), root.split("bank"), options.funds.bank, site),
    histories: SimHistories.make(root.split("histories")),
    elapsedMs: () => time.nowEpochMs() - startEpochMs,
    record: (step) => {
      if (request.record === true) recorded.push(step)
    },
    recorded
  }
}
