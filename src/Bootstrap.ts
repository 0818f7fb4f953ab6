/**
 * What a new journal begins with: the venue's opening, then the markets of the markets file, each listed and
 * opened. Later starts only add markets that the file has and the journal does not: an operator's changes
 * stand.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Command } from "./domain/Command.js"
import * as Market from "./domain/Market.js"
import type { Outcome } from "./domain/Outcome.js"
import { describe } from "./domain/Refusal.js"
import { rulesVersion } from "./engine/Engine.js"
import type { Reads } from "./engine/Reads.js"
import type { Submit } from "./sequencer/Submit.js"
import type * as Context from "effect/Context"

/** One market of the markets file. */
export const ListedMarket = Schema.Struct({
  parameters: Market.Parameters,
  /** Where the synthetic index of a development venue starts, price atoms. */
  developmentIndexPriceAtoms: Schema.Int.pipe(Schema.between(1, 2 ** 31 - 1))
})
export type ListedMarket = typeof ListedMarket.Type

/** The markets file: a JSON array. */
const MarketsFile = Schema.parseJson(Schema.Array(ListedMarket).pipe(Schema.minItems(1), Schema.maxItems(1024)))

/** The markets file breaks a rule. */
export class MarketsFileInvalid extends Schema.TaggedError<MarketsFileInvalid>()("MarketsFileInvalid", { reason: Schema.String }) {
  override get message() {
    return `the markets file (MARKETS_FILE) is invalid: ${this.reason}`
  }
}

/** The text of a markets file, decoded and held to the rules of markets. */
export const parseMarkets = (text: string): Effect.Effect<ReadonlyArray<ListedMarket>, MarketsFileInvalid> =>
  Schema.decode(MarketsFile, { onExcessProperty: "error" })(text).pipe(
    Effect.mapError((error) => new MarketsFileInvalid({ reason: error.message })),
    Effect.filterOrElse(
      (markets) => markets.every((market) => Market.fault(market.parameters) === undefined),
      (markets) => {
        const broken = markets.find((market) => Market.fault(market.parameters) !== undefined)!
        return Effect.fail(
          new MarketsFileInvalid({ reason: `${broken.parameters.marketId}: ${Market.fault(broken.parameters)}` })
        )
      }
    )
  )

/** The journal belongs to another environment than the one configured. */
export class WrongEnvironment extends Schema.TaggedError<WrongEnvironment>()("WrongEnvironment", {
  journal: Schema.String,
  configured: Schema.String
}) {
  override get message() {
    return `this data directory belongs to a ${this.journal} venue, and VENUE_ENVIRONMENT is ${this.configured}`
  }
}

/** The journal was written under rules this version does not know. */
export class UnknownRules extends Schema.TaggedError<UnknownRules>()("UnknownRules", { rules: Schema.Number }) {
  override get message() {
    return `this journal is under rules version ${this.rules}; this program knows up to ${rulesVersion}`
  }
}

/** Submits all of `commands` before any is decided. */
const submitAll = (
  submit: Context.Tag.Service<typeof Submit>,
  commands: ReadonlyArray<Command>
): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.async((resume) => {
    const outcomes: Array<Outcome> = []
    let open = commands.length
    if (open === 0) resume(Effect.succeed(outcomes))
    commands.forEach((command, index) =>
      submit.submit(command, (outcome) => {
        outcomes[index] = outcome
        if (--open === 0) resume(Effect.succeed(outcomes))
      })
    )
  })

/** Brings a journal to where requests can be taken. */
export const run = (
  reads: Reads,
  submit: Context.Tag.Service<typeof Submit>,
  environment: string,
  markets: ReadonlyArray<ListedMarket>
): Effect.Effect<void, WrongEnvironment | UnknownRules | MarketsFileInvalid> =>
  Effect.gen(function*() {
    if (reads.sequence > 0 && reads.environment !== environment) {
      return yield* new WrongEnvironment({ journal: reads.environment, configured: environment })
    }
    if (reads.rules > rulesVersion) return yield* new UnknownRules({ rules: reads.rules })
    if (reads.sequence === 0) yield* done(submit, [{ kind: "OpenVenue", environment, rules: rulesVersion }])
    // One market after the other, each from where a start that was killed had left it.
    for (const { parameters } of markets) yield* done(submit, missing(reads, parameters))
  })

/** What a market of the file lacks until it is open. One that ever was open is an operator's from then on. */
const missing = (reads: Reads, parameters: Market.Parameters): ReadonlyArray<Command> => {
  const known = reads.findMarket(parameters.marketId)
  const market = known < 0 ? reads.marketCount : known
  const key = `bootstrap/${parameters.marketId}`
  const put: Command = { kind: "PutMarket", idempotencyKey: key, parameters }
  const list: Command = { kind: "SetMarketStatus", idempotencyKey: `${key}/backfilling`, market, status: "backfilling" }
  const open: Command = { kind: "SetMarketStatus", idempotencyKey: `${key}/open`, market, status: "open" }
  if (known < 0) return [put, list, open]
  const { status } = reads.market(known)
  return status === "draft" ? [list, open] : status === "backfilling" ? [open] : []
}

/** Submits, and fails where one is refused. */
const done = (
  submit: Context.Tag.Service<typeof Submit>,
  commands: ReadonlyArray<Command>
): Effect.Effect<void, MarketsFileInvalid> =>
  Effect.flatMap(submitAll(submit, commands), (outcomes) => {
    const refusal = outcomes
      .map((outcome) => outcome.refusal === 0 ? outcome.entries[0]!.refusal : outcome.refusal)
      .find((code) => code !== 0)
    return refusal === undefined ? Effect.void : Effect.fail(new MarketsFileInvalid({ reason: describe(refusal).safeMessage }))
  })
