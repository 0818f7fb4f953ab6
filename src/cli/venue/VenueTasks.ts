/** An operator's tasks for the venue as a whole: its status, its halt, its limits, its funds. */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as fs from "node:fs"
import { isRetention } from "../../domain/Retention.js"
import * as Units from "../../domain/Units.js"
import type { MarketSession } from "../../edge/markets/Snapshot.js"
import { Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import { against, asked, isDecimal, looking, noAnswerCode, refusedCode, sayDone } from "./Against.js"
import * as Metrics from "./Metrics.js"
import * as Operator from "./Operator.js"
import type * as Options from "./Options.js"
import * as Reconcile from "./Reconcile.js"
import * as VerifySolvency from "./VerifySolvency.js"
import * as Withdrawals from "./Withdrawals.js"

/** A market's session, and when it changes. */
const sessionText = (session: typeof MarketSession.Type | undefined): string => {
  if (session === undefined) return "always open"
  const { nextCloseEpochMs, nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, state } = session
  const until = state === "closed" ? nextOpenEpochMs : state === "open" ? riskIncreasingOrderCutoffEpochMs : nextCloseEpochMs
  return until === 0 ? state : `${state} until ${Format.time(until)}`
}

interface IndexAge {
  readonly marketId: string
  readonly indexStale: boolean
  readonly indexAgeMs?: number | undefined
}

/** The market whose index has been stale for longest; one that never had a price comes first. */
const oldestStale = (markets: ReadonlyArray<IndexAge>): string => {
  const age = ({ indexAgeMs = Number.POSITIVE_INFINITY }: IndexAge): number => indexAgeMs
  const [oldest] = markets.filter(({ indexStale }) => indexStale).sort((one, other) => age(other) - age(one) || 0)
  if (oldest === undefined) return "none"
  return `${oldest.marketId}, ${oldest.indexAgeMs === undefined ? "never a price" : `${Format.count(oldest.indexAgeMs)} ms`}`
}

/** Prints the venue's status. */
export const status = ({ url }: Options.Of<typeof Options.status>) =>
  Effect.gen(function*() {
    const { metrics, readiness } = yield* asked(Operator.status(url))
    const figures = Either.getOrElse(metrics, () => "")
    const trading = readiness.details["engineHalted"] === true ? "halted" : Metrics.trading(figures)
    yield* Console.log(Format.table(["what", "value"], [
      ["status", readiness.status],
      ["trading", trading],
      ["durable sequence", String(readiness.durableSequence)],
      ...("dependency" in readiness ? [["waits for", String(readiness.dependency)]] : []),
      ...("reason" in readiness ? [["reason", String(readiness.reason)]] : []),
      ...Object.entries(readiness.details).map(([name, value]) => [name, String(value)]),
      ["oldest stale index", oldestStale(readiness.markets)],
      ...Metrics.summarize(figures).map(({ name, value }) => [name, value])
    ]))
    yield* Console.log(Format.table(
      ["market", "status", "session", "index age ms>", "index"],
      readiness.markets.map(({ indexAgeMs, indexHeld, indexStale, marketId, session, status }) => [
        marketId,
        status,
        sessionText(session),
        indexAgeMs === undefined ? "-" : Format.count(indexAgeMs),
        `${session?.state === "closed" ? "-" : indexStale ? "stale" : "fresh"}${indexHeld ? ", a step is held back" : ""}`
      ])
    ))
    if (readiness.status !== "ready") return yield* new Ended({ code: noAnswerCode, text: `the venue is ${readiness.status}` })
    if (trading === "unknown") {
      const why = Either.isLeft(metrics) ? metrics.left.text : "what answers is not a venue's metrics"
      return yield* new Ended({ code: noAnswerCode, text: `whether trading is halted is unknown without /metrics: ${why}` })
    }
  })

/** Moves collected fees into the insurance fund. */
export const fundAdd = (parsed: Options.Of<typeof Options.fundAdd>) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.amount)) return yield* usage(`an amount is a decimal, and not ${parsed.amount}`)
    yield* Effect.flatMap(against(parsed, (target, key) => Operator.addToFund(target, key, parsed.amount)), sayDone)
  })

type Remote = Options.Of<typeof Options.remote>

/** Refuses every trading command until resumed. */
export const halt = (parsed: Remote) => Effect.flatMap(against(parsed, Operator.halt), sayDone)

/** Lifts the halt. */
export const resume = (parsed: Remote) => Effect.flatMap(against(parsed, Operator.resume), sayDone)

/** Stops accepting and approving withdrawals. */
export const stopWithdrawals = (parsed: Remote) =>
  Effect.gen(function*() {
    yield* Effect.flatMap(against(parsed, Operator.stopWithdrawals), sayDone)
    const standing = yield* Effect.option(asked(Operator.withdrawals(parsed.url)))
    const stands = Option.getOrUndefined(standing)
    if (stands === undefined) return yield* Console.error("whether another stop stood before could not be read: see `venue status`")
    yield* Effect.forEach(Withdrawals.ofStop(stands), (text) => Console.log(text))
  })

/** Allows withdrawals again, if what that accepts is what the operator says: the venue compares its books with the ledger for that. */
export const allowWithdrawals = (parsed: Options.Of<typeof Options.allow>) =>
  Effect.gen(function*() {
    const accept = Option.getOrUndefined(parsed.accept)
    const atoms = accept === undefined ? undefined : Units.parseDecimal(accept, Units.moneyScale)
    if (typeof atoms === "string" || (atoms ?? 0) < 0) return yield* usage(`--accept is USDC as a decimal, like 40.0, and not ${accept}`)
    const before = yield* looking(parsed, ({ url }) => Operator.withdrawals(url))
    if (before === undefined) {
      return yield* new Ended({ code: noAnswerCode, text: "the venue does not tell yet how withdrawals stand: nothing was changed" })
    }
    const refusal = Withdrawals.refusalOf(before, atoms)
    if (refusal !== undefined) return yield* new Ended({ code: refusedCode, text: refusal })
    // A stop that came in between would be lifted unseen, and its shortfall accepted.
    if (before.withdrawals === "open")
      return yield* Console.log(
        `nothing was changed: ${Withdrawals.ofAllow(before, before, undefined).text}`
      )
    const allowed = against(parsed, (target, key) => Effect.mapError(Operator.allowWithdrawals(target, key, accept), Withdrawals.advised))
    yield* Effect.flatMap(allowed, sayDone)
    const after = Option.getOrUndefined(yield* Effect.option(asked(Operator.withdrawals(parsed.url))))
    if (after === undefined) return yield* Console.error("what is accepted as lacking could not be read: see `venue status`")
    const { isMore, text } = Withdrawals.ofAllow(before, after, atoms)
    if (isMore) return yield* new Ended({ code: refusedCode, text })
    yield* Console.log(text)
  })

const durations: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90m`, `12h` or `2d` as milliseconds. */
const durationOf = (text: string): number => {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? []
  return Number(count) * (durations[unit] ?? Number.NaN)
}

/** Shows the venue's limits, or sets how long decisions are remembered. */
export const limits = (parsed: Options.Of<typeof Options.limits>) =>
  Effect.gen(function*() {
    const retention = Option.getOrUndefined(parsed.retention)
    if (retention !== undefined) {
      const retentionMs = durationOf(retention)
      if (!isRetention(retentionMs)) return yield* usage(`--retention is from 10m to 30d, like 90m, 12h or 2d, and not ${retention}`)
      yield* Effect.flatMap(against(parsed, (target, key) => Operator.setRetention(target, key, retentionMs)), sayDone)
    }
    const told = yield* asked(Operator.limits(parsed.url))
    yield* Console.log(Format.table(["what", "value"], Object.entries(told).map(([name, value]) => [name, String(value)])))
  })

/** Compares the treasury's holdings with the venue's liabilities. */
export const reconcile = (parsed: Options.Of<typeof Options.remote>) =>
  Effect.gen(function*() {
    const report = yield* looking(parsed, Operator.reconcile)
    yield* Console.log(Reconcile.lines(report).join("\n"))
    if (report.unattributedAtoms !== "0") {
      const what = report.unattributedAtoms.startsWith("-") ? "less" : "more"
      return yield* new Ended({ code: refusedCode, text: `the ledger holds ${what} than the journal says` })
    }
  })

/** A file's JSON. */
const jsonOf = (file: string): Effect.Effect<unknown, Ended> =>
  Effect.try({
    try: () => JSON.parse(fs.readFileSync(file, "utf8")) as unknown,
    catch: (error) => usage(`${file} cannot be read as JSON: ${String(error)}`)
  })

/** Verifies that an account's balance is included in the venue's published solvency. */
export const verifySolvency = (parsed: Options.Of<typeof Options.verifySolvency>) =>
  Effect.gen(function*() {
    const file = Option.getOrUndefined(parsed.published)
    const url = Option.getOrUndefined(parsed.url)?.replace(/\/+$/, "")
    const proof = yield* jsonOf(parsed.proof)
    const published = file !== undefined && url === undefined
      ? yield* jsonOf(file)
      : url !== undefined && file === undefined
      ? yield* asked(Operator.solvency(url, VerifySolvency.sequenceOf(proof)))
      : yield* usage("verify-solvency takes --published or --url")
    const { holds, lines } = VerifySolvency.told(proof, published, {
      accountId: Option.getOrUndefined(parsed.account),
      acceptsCredits: parsed.testMoney,
      ofAnyAge: parsed.anyAge,
      nowEpochMs: yield* Clock.currentTimeMillis
    })
    yield* Console.log(lines.join("\n"))
    if (!holds) return yield* new Ended({ code: refusedCode, text: "not all of it holds" })
  })
