/** The results of a run, as plain data and as text. */
import * as Units from "../../src/domain/Units.js"
import { quantityScale } from "./Capture.js"
import type { Summary } from "./Latencies.js"
import { type Player, unexplainedSamples } from "./Player.js"
import type { Risk } from "./Risk.js"
import type { Money } from "./Settlement.js"
import type { TouchReport } from "./Touch.js"
import type { Venue } from "./Venue.js"

export interface Report {
  readonly version: "tape-report/v1"
  readonly files: ReadonlyArray<string>
  readonly marketId: string
  readonly speed: number | "max"
  readonly tapeSeconds: number
  readonly wallSeconds: number
  readonly messages: number
  readonly bookSteps: number
  readonly gaps: number
  readonly spotTrades: number
  readonly indexPrices: number
  readonly orders: {
    readonly maker: number
    readonly makerCancels: number
    readonly taker: number
    readonly takerFilledWhole: number
    readonly takerFilledPartly: number
    readonly takerNotFilled: number
    readonly tradesBeforeBook: number
  }
  readonly fills: { readonly count: number; readonly size: string; readonly notional: string; readonly recordedSize: string }
  /** Why takers were not completely filled. */
  readonly unfilled: Readonly<Record<string, number>>
  /** By operation and rejection guard (or code). */
  readonly refusals: Readonly<Record<string, number>>
  readonly latencies: Readonly<Record<string, Summary>>
  /** Where the speed is bounded: how late steps and trades were. */
  readonly behind: Readonly<Record<string, Summary>>
  readonly touch: { readonly afterStep: TouchReport; readonly beforeNextStep: TouchReport }
  readonly connectionsLost: number
  readonly askedAgain: number
  /**
   * Answers that were affected by other accounts' orders or a liquidation, and how often the maker's orders were listed again because of
   * them.
   */
  readonly surprises: number
  readonly relisted: number
  readonly money: Money | null
  /** For a run with a leverage. */
  readonly risk: Risk | null
  /** Empty when everything adds up. */
  readonly problems: ReadonlyArray<string>
}

export interface Parts {
  readonly files: ReadonlyArray<string>
  readonly speed: number
  readonly wallMs: number
  readonly venue: Venue
  readonly player: Player
  readonly money: Money | undefined
  readonly risk: Risk | undefined
  readonly problems: ReadonlyArray<string>
}

/** Errors that only the whole run reveals. */
const faults = ({ player, venue }: Parts): ReadonlyArray<string> => {
  const found: Array<string> = []
  const unexplained = unexplainedSamples(player)
  if (unexplained > 0) found.push(`${unexplained} samples of the best bid and ask differ, and nothing explains it`)
  // A command repeated after a refusal is decided after later ones, so that the order of answers is no error then.
  if (player.counts.outOfOrder > 0 && venue.askedAgain === 0) {
    found.push(`${player.counts.outOfOrder} commands were decided before one that was sent earlier on the same connection`)
  }
  return found
}

export const make = (parts: Parts): Report => {
  const { player, venue } = parts
  const { counts, settlement } = player
  return {
    version: "tape-report/v1",
    files: parts.files,
    marketId: player.terms.marketId,
    speed: parts.speed === Infinity ? "max" : parts.speed,
    tapeSeconds: player.playedUs / 1e6,
    wallSeconds: parts.wallMs / 1000,
    messages: counts.messages,
    bookSteps: counts.bookSteps,
    gaps: player.book.gaps,
    spotTrades: counts.spotTrades,
    indexPrices: player.index.sent,
    orders: {
      maker: counts.makerOrders,
      makerCancels: counts.makerCancels,
      taker: counts.takerOrders,
      takerFilledWhole: counts.filledWhole,
      takerFilledPartly: counts.filledPartly,
      takerNotFilled: counts.notFilled,
      tradesBeforeBook: counts.tradesBeforeBook
    },
    fills: {
      count: settlement.count,
      size: Units.formatDecimal(player.volume.filledAtoms, quantityScale),
      notional: money(settlement.notionalAtoms),
      recordedSize: Units.formatDecimal(player.volume.sentAtoms, quantityScale)
    },
    unfilled: Object.fromEntries(player.unfilled),
    refusals: Object.fromEntries(player.refusals),
    latencies: venue.latencies.summaries(),
    behind: player.behind.summaries(),
    touch: { afterStep: player.afterStep.report(), beforeNextStep: player.beforeStep.report() },
    connectionsLost: venue.connectionsLost,
    askedAgain: venue.askedAgain,
    surprises: counts.surprises,
    relisted: counts.relisted,
    money: parts.money ?? null,
    risk: parts.risk ?? null,
    problems: [...parts.problems, ...faults(parts)]
  }
}

/** USDC of money atoms, which over a whole run may exceed the safe integers. */
const money = (atoms: bigint): string => {
  if (atoms < 0n) return `-${money(-atoms)}`
  const digits = String(atoms).padStart(Units.moneyScale + 1, "0")
  return `${digits.slice(0, -Units.moneyScale)}.${digits.slice(-Units.moneyScale)}`
}

const usdc = (atoms: string): string => money(BigInt(atoms))

const liquidations = (risk: Risk): ReadonlyArray<string> => [
  `liquidated at ${risk.leverage} times their money (${usdc(risk.collateralAtoms[0])} to ${usdc(risk.collateralAtoms[1])} USDC): `
  + `${risk.liquidatedAccounts} accounts in ${risk.parts} parts, ${risk.partsFilled} of them filled; `
  + `${risk.takeovers} takeovers, ${risk.deleveragings} deleveragings, ${risk.exhausted} times nobody was left`,
  `insurance fund ${usdc(risk.fund.equityBeforeAtoms)} before, ${
    usdc(risk.fund.equityAtoms)
  } after with ${risk.fund.openPositions} positions; `
  + `liquidation fees ${usdc(risk.liquidationFeesAtoms)}`,
  `funding: ${risk.funding.charged} of ${risk.funding.intervals} intervals were charged; the accounts paid ${usdc(risk.funding.paidAtoms)} `
  + `and received ${usdc(risk.funding.receivedAtoms)}`
]

const percent = (part: number, whole: number): string => whole === 0 ? "-" : `${(100 * part / whole).toFixed(2)} %`

const listed = (counts: Readonly<Record<string, number>>, whole?: number): ReadonlyArray<string> =>
  Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `    ${String(count).padStart(7)}  ${name}${whole === undefined ? "" : ` (${percent(count, whole)})`}`)

const touch = (title: string, { pricesEqual, reasons, samples, sizesEqual }: TouchReport): ReadonlyArray<string> => [
  `  ${title}: equal ${pricesEqual} of ${samples} times (${percent(pricesEqual, samples)}), `
  + `sizes too ${sizesEqual} (${percent(sizesEqual, samples)})`,
  ...listed(reasons, samples)
]

const table = (rows: Readonly<Record<string, Summary>>): ReadonlyArray<string> =>
  Object.entries(rows).map(([name, { count, maxMs, p50Ms, p99Ms }]) =>
    `  ${name.padEnd(20)} ${String(count).padStart(7)}  p50 ${p50Ms.toFixed(2).padStart(8)} ms  p99 ${p99Ms.toFixed(2).padStart(8)} ms`
    + `  max ${maxMs.toFixed(1).padStart(8)} ms`
  )

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> => lines.length === 0 ? [] : [title, ...lines]

/** The report as text, ending in a newline. */
export const text = (report: Report): string => {
  const { fills, money: settled, orders } = report
  return [
    `${report.tapeSeconds.toFixed(1)} s of tape in ${report.wallSeconds.toFixed(1)} s at speed ${report.speed} in ${report.marketId}: `
    + `${report.messages} messages, ${report.bookSteps} book steps, ${report.indexPrices} index prices of ${report.spotTrades} spot trades`,
    `maker orders ${orders.maker}, cancelled ${orders.makerCancels}; taker orders ${orders.taker}: `
    + `${orders.takerFilledWhole} filled, ${orders.takerFilledPartly} partly, ${orders.takerNotFilled} not`,
    `fills ${fills.count}: ${fills.size} of ${fills.recordedSize} recorded `
    + `(${percent(Number(fills.size), Number(fills.recordedSize))}), notional ${fills.notional} USDC`,
    ...section("takers that did not get all", listed(report.unfilled, orders.taker)),
    ...(Object.keys(report.refusals).length === 0
      ? ["nothing was refused"]
      : section("refused, by operation and reason", listed(report.refusals))),
    "best bid and ask of venue and recording",
    ...touch("when a book step is acknowledged", report.touch.afterStep),
    ...touch("before the next step, against the newest quote", report.touch.beforeNextStep),
    ...section("latency", table(report.latencies)),
    ...section("behind the tape", table(report.behind)),
    `connections lost ${report.connectionsLost}, asked again ${report.askedAgain}, `
    + `answers changed by others ${report.surprises}, gaps in the recording ${report.gaps}, `
    + `trades before the first book ${orders.tradesBeforeBook}`,
    ...(report.risk === null ? [] : liquidations(report.risk)),
    ...(settled === null ? [] : [
      `positions sum to ${settled.positionsSumAtoms} over ${settled.openPositions} open ones; `
      + `put in ${usdc(settled.depositedAtoms)}, equity ${usdc(settled.equityAtoms)} with what the fund gained, `
      + `fees ${usdc(settled.feesAtoms)}, missing ${settled.missingAtoms} money atoms`
    ]),
    ...report.problems.map((problem) => `PROBLEM: ${problem}`),
    report.problems.length === 0 ? "everything adds up" : `${report.problems.length} problems`
  ].map((line) => `${line}\n`).join("")
}
