/** A whole run on a running venue: market and accounts, the tape, cancelling everything, and the settlement. */
import { Client } from "../../src/client/venue/Client.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import { Unanswered } from "../../src/client/venue/Refusal.js"
import * as Units from "../../src/domain/Units.js"
import { atLast, faultIn, FollowedBook } from "../load/FollowedBook.js"
import * as Capture from "./Capture.js"
import * as Flow from "./Flow.js"
import * as Fund from "./Fund.js"
import * as Market from "./Market.js"
import { Player } from "./Player.js"
import * as Report from "./Report.js"
import * as Risk from "./Risk.js"
import * as Settlement from "./Settlement.js"
import { type Account, Unexpected, Venue } from "./Venue.js"

export interface Options {
  readonly url: URL
  readonly operatorToken: string
  readonly files: ReadonlyArray<string>
  readonly marketId: string
  readonly takers: number
  /** Tape seconds per second; Infinity: as fast as the venue answers. */
  readonly speed: number
  /** Tape time to play, in seconds; Infinity: all of it. */
  readonly limitSeconds: number
  /** The most that takers trade, as a multiple of their money; undefined: they have more than they need. */
  readonly leverage: number | undefined
  /** Most concurrent requests. */
  readonly inFlight: number
  /** Whether nobody else trades in the market: then every answer must follow from the run's own orders. */
  readonly alone: boolean
  /** Called when the tape begins and after every book step. */
  readonly observe: (player: Player) => void
}

/** A unique name for keys and clientOrderIds, since the venue remembers those of other runs for a day and more. */
const runName = (): string => `tape-${Date.now().toString(36)}-${process.pid.toString(36)}`

const message = (error: unknown): string => error instanceof Error ? error.message : String(error)

const moneyAtoms = (decimal: string): number => Number(Units.parseDecimal(decimal, Units.moneyScale))

/** A taker's smallest collateral, in money atoms. */
const leastCollateralAtoms = 10 ** Units.moneyScale

/** Each taker's collateral: with a leverage, so small that its position halfway through the tape would be that multiple of it. */
const takerCollaterals = async ({ files, leverage, limitSeconds, takers }: Options): Promise<ReadonlyArray<number>> => {
  if (leverage === undefined) return new Array<number>(takers).fill(moneyAtoms(Market.takerCollateral))
  const usual = await Flow.usualHoldings(Capture.merge(files), takers, limitSeconds)
  return usual.map((notionalAtoms) => Math.max(leastCollateralAtoms, Math.ceil(notionalAtoms / leverage)))
}

const openTakers = async (venue: Venue, collaterals: ReadonlyArray<number>): Promise<ReadonlyArray<Account>> => {
  const accounts: Array<Account> = []
  for (const [collateral, count] of counted(collaterals)) {
    accounts.push(...await Market.openAccounts(venue, count, Units.formatDecimal(collateral, Units.moneyScale)))
  }
  return accounts
}

/** Runs of equal neighbours, with their lengths. */
const counted = (values: ReadonlyArray<number>): ReadonlyArray<readonly [number, number]> => {
  const runs: Array<[number, number]> = []
  for (const value of values) {
    const last = runs.at(-1)
    if (last !== undefined && last[0] === value) last[1]++
    else runs.push([value, 1])
  }
  return runs
}

/** The venue's time. */
const timeOf = async (venue: Venue): Promise<number> => (await venue.read<{ readonly timestamp: number }>("/v2/time")).timestamp

/** Fails at once where no venue answers, instead of waiting for a connection. */
const answering = async (url: URL): Promise<void> => {
  try {
    await new Client(nodePlatform, { url: url.origin, maxAttempts: 1 }).rest.get("/healthz")
  } catch (cause) {
    // A venue that refuses is there.
    if (cause instanceof Unanswered) throw new Unexpected(`no venue answers at ${url.origin}`)
  }
}

/** The market's book as reported by the stream during a run. */
const follow = async ({ alone, marketId, url }: Options) => {
  const problems: Array<string> = []
  const client = new Client(nodePlatform, {
    url: url.origin,
    onNotice: (notice) => void problems.push(...faultIn(notice))
  })
  const book = new FollowedBook(client, marketId)
  await book.begun()
  return {
    /** Errors on the way, and differences at the end of the tape; with others in the market the book never stands still. */
    check: async (): Promise<ReadonlyArray<string>> => [...problems, ...alone ? await atLast(() => book.differences()) : []],
    close: () => client.close()
  }
}

/** Plays the files and reports; an error during the tape becomes a problem in the report and is not thrown. */
export const run = async (options: Options): Promise<Report.Report> => {
  await answering(options.url)
  const venue = new Venue(options.url, options.operatorToken, runName(), options.inFlight)
  let followed: Awaited<ReturnType<typeof follow>> | undefined
  try {
    const terms = await Market.prepare(venue, options.marketId, options.leverage)
    const collaterals = await takerCollaterals(options)
    const [maker] = await Market.openAccounts(venue, 1, Market.makerCollateral)
    const takers = await openTakers(venue, collaterals)
    const before = { atEpochMs: await timeOf(venue), fund: await Fund.read(venue), collaterals }
    const player = new Player(venue, terms, maker!, takers, options)
    options.observe(player)
    followed = await follow(options)
    try {
      await player.play(Capture.merge(options.files))
      player.problems.push(...await followed.check())
    } catch (error) {
      player.problems.push(`the tape ended early: ${message(error)}`)
    }
    const wallMs = player.elapsedMs
    const ended = await end(venue, player, before, options)
    return Report.make({
      files: options.files,
      speed: options.speed,
      wallMs,
      venue,
      player,
      money: ended?.settled.money,
      risk: ended?.gathered?.risk,
      problems: [...player.problems, ...problemsOf(options, player, before, ended)]
    })
  } finally {
    await followed?.close()
    venue.close()
  }
}

/** The state before the tape. */
interface Before {
  readonly atEpochMs: number
  readonly fund: Fund.Fund
  readonly collaterals: ReadonlyArray<number>
}

interface End {
  readonly settled: Settlement.Settled
  readonly gathered: Awaited<ReturnType<typeof Risk.gather>> | undefined
}

/** Cancels everything, and adds up the results. */
const end = async (venue: Venue, player: Player, before: Before, { leverage, marketId }: Options): Promise<End | undefined> => {
  try {
    await player.cancelEverything()
    const accounts = [player.maker, ...player.takers]
    const depositedAtoms = moneyAtoms(Market.makerCollateral) + before.collaterals.reduce((sum, each) => sum + each, 0)
    const settled = await Settlement.settle(venue, accounts, BigInt(depositedAtoms), before.fund)
    if (leverage === undefined) return { settled, gathered: undefined }
    const gathered = await Risk.gather(venue, {
      leverage,
      collateralsAtoms: before.collaterals.map(BigInt),
      accounts,
      marketId,
      sinceEpochMs: before.atEpochMs,
      before: before.fund,
      after: settled.fund
    })
    return { settled, gathered }
  } catch (error) {
    player.problems.push(`the end of the run failed: ${message(error)}`)
    return undefined
  }
}

/** What does not add up at the end, as far as the run's own accounts must add up by themselves. */
const problemsOf = (
  { alone }: Options,
  { counts: { surprises }, settlement }: Player,
  before: Before,
  ended: End | undefined
): ReadonlyArray<string> => {
  if (ended === undefined) return []
  const { gathered, settled } = ended
  const hasMoved = settled.fund.collateralAtoms !== before.fund.collateralAtoms
  // With other accounts involved, neither positions nor money of the run's accounts need to add up.
  if (!alone && (surprises > 0 || hasMoved)) return []
  const found = [...settled.problems, ...gathered?.problems ?? []]
  const liquidated = (gathered?.risk.partsFilled ?? 0) + (gathered?.risk.takeovers ?? 0)
  if (surprises > 0 && liquidated === 0) {
    found.push(`${surprises} answers differ from what the run's own orders come to, and nobody else trades here`)
  }
  const expected = settlement.makerFeeAtoms + settlement.takerFeeAtoms
  if (surprises === 0 && liquidated === 0 && String(expected) !== settled.money.feesAtoms) {
    found.push(`the fills' fees come to ${expected} money atoms, and the venue lists ${settled.money.feesAtoms}`)
  }
  return found
}
