/** A whole run on a venue that answers: market and accounts, the tape, the cancelling of everything, the settlement. */
import * as Units from "../../src/domain/Units.js"
import * as Capture from "./Capture.js"
import * as Market from "./Market.js"
import { Player } from "./Player.js"
import * as Report from "./Report.js"
import * as Settlement from "./Settlement.js"
import { Unexpected, Venue } from "./Venue.js"

export interface Options {
  readonly url: URL
  readonly operatorToken: string
  readonly files: ReadonlyArray<string>
  readonly marketId: string
  readonly takers: number
  /** Tape seconds in a second; Infinity: as fast as the venue answers. */
  readonly speed: number
  /** Tape time to play, seconds; Infinity: all of it. */
  readonly limitSeconds: number
  /** Requests under way at once, at most. */
  readonly inFlight: number
  /** Whether nobody else trades in the market: then every answer has to be what the run's own orders come to. */
  readonly alone: boolean
  /** Called when the tape begins and after every book step. */
  readonly observe: (player: Player) => void
}

/** A name that no other run has, for keys and client order ids: it is in the venue's memory for a day and more. */
const runName = (): string => `tape-${Date.now().toString(36)}-${process.pid.toString(36)}`

const message = (error: unknown): string => error instanceof Error ? error.message : String(error)

const deposited = (collateral: string): bigint => BigInt(Units.parseDecimal(collateral, Units.moneyScale))

/** A venue that was never there is no connection to wait for. */
const answering = async (url: URL): Promise<void> => {
  try {
    await fetch(new URL("/healthz", url))
  } catch {
    throw new Unexpected(`no venue answers at ${url.origin}`)
  }
}

/** Plays the files and reports; what went wrong during the tape is a problem in the report, not a throw. */
export const run = async (options: Options): Promise<Report.Report> => {
  await answering(options.url)
  const venue = new Venue(options.url, options.operatorToken, runName(), options.inFlight)
  try {
    const terms = await Market.prepare(venue, options.marketId)
    const [maker] = await Market.openAccounts(venue, 1, Market.makerCollateral)
    const takers = await Market.openAccounts(venue, options.takers, Market.takerCollateral)
    const player = new Player(venue, terms, maker!, takers, options)
    options.observe(player)
    try {
      await player.play(Capture.merge(options.files))
    } catch (error) {
      player.problems.push(`the tape ended early: ${message(error)}`)
    }
    const wallMs = player.elapsedMs
    const settled = await end(venue, player)
    const { surprises } = player.counts
    if (options.alone && surprises > 0) {
      player.problems.push(`${surprises} answers differ from what the run's own orders come to, and nobody else trades here`)
    }
    // With other accounts in between, neither positions nor money of this run's accounts have to add up by themselves.
    const shared = !options.alone && surprises > 0
    return Report.make({
      files: options.files,
      speed: options.speed,
      wallMs,
      venue,
      player,
      money: settled?.money,
      problems: [...player.problems, ...(shared ? [] : settled?.problems ?? [])]
    })
  } finally {
    venue.close()
  }
}

/** Leaves nothing open behind, and adds up. */
const end = async (venue: Venue, player: Player) => {
  try {
    await player.cancelEverything()
    const accounts = [player.maker, ...player.takers]
    const depositedAtoms = deposited(Market.makerCollateral) + BigInt(player.takers.length) * deposited(Market.takerCollateral)
    return await Settlement.settle(venue, accounts, depositedAtoms, player.settlement)
  } catch (error) {
    player.problems.push(`the end of the run failed: ${message(error)}`)
    return undefined
  }
}
