/** An operator's tasks for markets. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as Market from "../../domain/Market.js"
import * as Fields from "../../edge/http/Fields.js"
import { PutMarketBody } from "../../edge/operator/MarketBody.js"
import type { Delisting } from "../../edge/markets/Snapshot.js"
import type { MarketPreview } from "../../edge/operator/previewMarket.js"
import { Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import * as Time from "../Time.js"
import { against, asked, isDecimal, looking, refusedCode, sayDone } from "./Against.js"
import * as Operator from "./Operator.js"
import type * as Options from "./Options.js"
import { beSure } from "./Sure.js"

/** Moves a market to another status. */
export const marketStatus = (parsed: Options.Of<typeof Options.marketStatus>) =>
  against(parsed, (target, key) => Operator.setMarketStatus(target, key, parsed.marketId, parsed.status)).pipe(
    Effect.flatMap(sayDone)
  )

const MarketFile = Schema.parseJson(Schema.Struct({ marketId: Fields.Name, ...PutMarketBody.fields }))

const issues = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ message, path }) => path.length === 0 ? message : `${path.join(".")}: ${message}`)
    .join("; ")

/** A market's file: the market's name, and the body of the request that creates or updates it. */
const readMarket = (file: string) =>
  Effect.gen(function*() {
    const text = yield* Effect.try({
      try: () => fs.readFileSync(file, "utf8"),
      catch: (error) => usage(`${file} cannot be read: ${String(error)}`)
    })
    return yield* Schema.decode(MarketFile, { onExcessProperty: "error" })(text).pipe(
      Effect.mapError((error) => usage(`${file} is not a market's parameters, as fixtures/market.json has them: ${issues(error)}`))
    )
  })

/**
 * The market as it is before a change, if that can be read. Not where a key is given: an earlier try under it may have made the change
 * already.
 */
const listedBefore = (
  { key: given }: Pick<Options.Of<typeof Options.remote>, "key">,
  target: Operator.Target,
  key: string,
  marketId: string
) =>
  Option.isSome(given) ? Effect.succeed(undefined) : Effect.map(
    Effect.option(Operator.listMarkets({ ...target, retries: 0 }, key)),
    (listed) => Option.getOrUndefined(listed)?.markets.find((each) => each.marketId === marketId)
  )

/** What becomes of announced parameters where others are put: announced ones take their place, and those that hold at once end them. */
const announcedBecomes = (isAnnounced: boolean): string => isAnnounced ? "replaced" : "withdrawn"

/** Puts a market, and tells what becomes of parameters that had been announced. */
const putAndTell = (parsed: Options.Of<typeof Options.put>, marketId: string, body: PutMarketBody) =>
  Effect.gen(function*() {
    const { before, result } = yield* against(parsed, (target, key) =>
      Effect.all({ before: listedBefore(parsed, target, key, marketId), result: Operator.putMarket(target, key, marketId, body) }))
    yield* sayDone(result)
    if (before?.announced !== undefined) {
      const becomes = announcedBecomes(body.effectiveAtEpochMs !== undefined)
      yield* Console.error(`what was announced of ${marketId} for ${Format.time(before.announced.effectiveAtEpochMs)} is ${becomes}`)
    }
  })

/** Creates or updates a market from a file, or previews the effect. */
export const put = (parsed: Options.Of<typeof Options.put>) =>
  Effect.gen(function*() {
    const { marketId, ...body } = yield* readMarket(parsed.file)
    if (!parsed.dryRun) return yield* putAndTell(parsed, marketId, body)
    const preview = yield* looking(parsed, (target, key) => Operator.previewMarket(target, key, marketId, body))
    yield* Console.log(previewLines(preview, body.effectiveAtEpochMs).join("\n"))
    if (preview.refusal !== null) {
      const { code, safeMessage } = preview.refusal
      const compared = Operator.comparedText(preview.refusal)
      const would = compared.length === 0 ? "" : ` (${compared.join(", ")})`
      return yield* new Ended({ code: refusedCode, text: `would be refused: ${code}: ${safeMessage}${would}` })
    }
  })

const outcomeTexts = {
  created: () => "would make a new market, in draft",
  at_once: () => "would hold at once",
  announced: (atEpochMs: number) => `would be announced for ${Format.time(atEpochMs)}, and hold from then on`,
  refused: () => "would be refused"
} as const satisfies Record<(typeof MarketPreview.Type)["outcome"], (atEpochMs: number) => string>

const valueText = (value: unknown): string => value === null ? "-" : typeof value === "string" ? value : JSON.stringify(value)

/** What an operator should know before parameters are changed. */
const previewLines = (preview: typeof MarketPreview.Type, effectiveAtEpochMs = 0): ReadonlyArray<string> => {
  const { differences, marketId, openInterest, openOrders, outcome, underInitialMargin, underMaintenanceMargin } = preview
  return [
    `${marketId}: ${outcomeTexts[outcome](effectiveAtEpochMs)} (at sequence ${preview.journalSequence}; nothing is changed)`,
    ...(differences.length === 0
      ? ["no parameter would be another"]
      : [
        Format.table(["parameter", "from", "to"], differences.map(({ from, parameter, to }) => [parameter, valueText(from), valueText(to)]))
      ]),
    ...(preview.withdrawsAnnounced ? [`what is announced would be ${announcedBecomes(outcome === "announced")}`] : []),
    Format.table(["whom it touches", "value"], [
      ["open interest", openInterest],
      ["open orders", String(openOrders)],
      ["accounts under their initial margin", String(underInitialMargin)],
      ["accounts that would be liquidated", String(underMaintenanceMargin)]
    ])
  ]
}

const marketsOf = (parsed: Options.Of<typeof Options.remote>) => looking(parsed, Operator.listMarkets)

const delistingText = ({ effectiveAtEpochMs, finalPrice, state }: typeof Delisting.Type): string =>
  `${state} ${Format.time(effectiveAtEpochMs)}${finalPrice === undefined ? "" : `, final price ${finalPrice}`}`

/** Lists the markets. */
export const list = (parsed: Options.Of<typeof Options.marketList>) =>
  Effect.gen(function*() {
    const { markets } = yield* marketsOf(parsed)
    yield* Console.log(Format.table(
      ["market", "type", "status", "leverage>", "initial bps>", "maker bps>", "taker bps>", "to come"],
      markets.map(({ announced, delisting, marketId, parameters, status }) => [
        marketId,
        parameters.marketType,
        status,
        `${parameters.maxLeverageX}x`,
        String(parameters.initialMarginBps),
        String(parameters.makerFeeBps),
        String(parameters.takerFeeBps),
        [
          ...(announced === undefined ? [] : [`parameters at ${Format.time(announced.effectiveAtEpochMs)}`]),
          ...(delisting === undefined ? [] : [`delisting ${delistingText(delisting)}`])
        ].join(", ")
      ])
    ))
  })

/** Shows a market, as text or as a file for `put`. */
export const show = (parsed: Options.Of<typeof Options.marketShow>) =>
  Effect.gen(function*() {
    const { markets } = yield* marketsOf(parsed)
    const found = markets.find(({ marketId }) => marketId === parsed.marketId)
    if (found === undefined) {
      const text = `there is no market ${parsed.marketId}; venue market list tells which there are`
      return yield* new Ended({ code: refusedCode, text })
    }
    const { announced, delisting, marketId, parameters, status } = found
    if (parsed.json) return yield* Console.log(JSON.stringify({ marketId, ...parameters }, undefined, 2))
    const toCome = new Map<string, unknown>(Object.entries(announced ?? {}))
    // What is announced stands beside what holds now, where it is another value.
    const row = (name: string, value: unknown) => {
      const [now, then] = [valueText(value), valueText(toCome.get(name) ?? value)]
      return announced === undefined ? [name, now] : [name, now, now === then ? "" : then]
    }
    yield* Console.log(Format.table(
      ["parameter", "value", ...(announced === undefined ? [] : [`announced for ${Format.time(announced.effectiveAtEpochMs)}`])],
      [
        row("marketId", marketId),
        row("status", status),
        ...(delisting === undefined ? [] : [row("delisting", delistingText(delisting))]),
        ...Object.entries(parameters).map(([name, value]) => row(name, value))
      ]
    ))
  })

/**
 * Withdraws an announced delisting. Where none is, the venue accepts that and does nothing. Whoever asks for it may have mistaken the
 * market, and is told, unless an earlier try under the same key may have withdrawn it.
 */
const withdraw = (parsed: Options.Of<typeof Options.delist>) =>
  Effect.gen(function*() {
    const { marketId } = parsed
    const { before, result } = yield* against(parsed, (target, key) =>
      Effect.all({ before: listedBefore(parsed, target, key, marketId), result: Operator.withdrawDelisting(target, key, marketId) }))
    yield* sayDone(result)
    if (before !== undefined && before.delisting === undefined) {
      yield* Console.error(`no delisting of ${marketId} was announced, so there was nothing to withdraw`)
    }
  })

/** A refusal to delist, with its reason where the market is in draft: the venue's own words are of moves between statuses. */
const whyNotDelisted = (parsed: Options.Of<typeof Options.delist>, target: Operator.Target, key: string, refused: Operator.Refused) =>
  Effect.map(listedBefore({ key: Option.none() }, target, key, parsed.marketId), (market) =>
    market === undefined || Market.isListed(market.status) ? refused : new Operator.Refused({
      status: refused.status,
      code: refused.code,
      text: `${refused.text}\n${market.marketId} is in ${market.status}: only a listed market is delisted, and nobody sees this one`
    }))

/** Delists a market, or withdraws an announced delisting. */
export const delist = (parsed: Options.Of<typeof Options.delist>) =>
  Effect.gen(function*() {
    const at = Option.getOrUndefined(parsed.at)
    if (parsed.withdraw && at !== undefined) return yield* usage("delist takes --at or --withdraw, and not both")
    if (parsed.withdraw) return yield* withdraw(parsed)
    const atEpochMs = at === undefined ? undefined : yield* Either.mapLeft(Time.parse(at), (why) => usage(`--at: ${why}`))
    // Zero would stand for at once.
    if (atEpochMs !== undefined && atEpochMs <= 0) return yield* usage(`--at: ${at} is not ahead`)
    if (atEpochMs === undefined && !parsed.yes) {
      yield* beSure(`Delist ${parsed.marketId} at once and close every position in it, for good?`, "delists", "nothing was done")
    }
    yield* Effect.flatMap(
      against(parsed, (target, key) =>
        Operator.delist(target, key, parsed.marketId, atEpochMs).pipe(
          Effect.catchTag("Refused", (refused) => Effect.flatMap(whyNotDelisted(parsed, target, key, refused), Effect.fail))
        )),
      sayDone
    )
  })

const overwritten = (feed: string): string =>
  `the venue's own index feed (INDEX_FEED is ${feed}) goes on, and its next price takes this one's place, mostly within a second: `
  + "a venue that is started with INDEX_FEED=push has only prices that are published"

/** Publishes an index price. */
export const index = (parsed: Options.Of<typeof Options.index>) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.price)) return yield* usage(`a price is a decimal, and not ${parsed.price}`)
    yield* against(parsed, (target, key) => Operator.setIndexPrice(target, key, parsed.marketId, parsed.price)).pipe(
      Effect.flatMap(sayDone)
    )
    // The price is set, whether or not the venue says which feed it uses.
    const feed = yield* Effect.option(asked(Operator.indexFeed(parsed.url)))
    if (Option.isSome(feed) && feed.value !== undefined && feed.value !== "push") yield* Console.error(overwritten(String(feed.value)))
  })
