/** The questions about a journal, whatever its source: its state at a time, the history of things, one record, a statement. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Ids from "../../domain/Ids.js"
import type { Engine } from "../../engine/Engine.js"
import { behindEnd, Ended, usage } from "../Exit.js"
import * as Format from "./Format.js"
import * as Lookup from "./Lookup.js"
import { differsCode, divergedError, endedBefore, isBefore, lastBefore, type Open, unfoundError, withProgress } from "./Opening.js"
import type { Parsed } from "./Options.js"
import * as StateAt from "./StateAt.js"
import * as StateJson from "./StateJson.js"
import * as Statement from "./Statement.js"
import * as StatementText from "./StatementText.js"
import * as Story from "./Story.js"
import * as Stretch from "./Stretch.js"
import * as Why from "./Why.js"

/** A report as JSON or as text. */
const drawn = (json: boolean, report: () => object, text: () => string): string => json ? JSON.stringify(report()) : text()

/** Prints a report as JSON or as text. */
export const say = (json: boolean, report: () => object, text: () => string): Effect.Effect<void> =>
  Effect.suspend(() => Console.log(drawn(json, report, text)))

/** The account and the market to which a state is narrowed; fails as a wrong command line where one does not exist. */
const narrowedTo = (engine: Engine, { account, market }: Parsed): Either.Either<StateAt.Narrowed, Ended> => {
  const [accountId, marketId] = [Option.getOrUndefined(account), Option.getOrUndefined(market)]
  const found = {
    ...(accountId === undefined ? {} : { account: engine.findAccount(accountId) }),
    ...(marketId === undefined ? {} : { market: Math.max(engine.findMarket(marketId), engine.findSymbol(marketId)) })
  }
  if (found.account !== undefined && found.account < 0) return Either.left(usage(`by then the journal knows no account ${accountId}`))
  if (found.market !== undefined && found.market < 0) return Either.left(usage(`by then the journal knows no market ${marketId}`))
  return Either.right(found)
}

const stateAt = <R>(open: Open<R>, text: string, parsed: Parsed) =>
  Effect.gen(function*() {
    const moment = yield* Either.mapLeft(StateAt.parseMoment(text), (why) => StateAt.notTaken("--at", why))
    const subject = yield* open
    const { capacity, journal } = subject
    const last = journal.opened.nextSequence - 1
    if (moment._tag === "Sequence" && moment.sequence > last) return yield* behindEnd(last)
    const before = yield* lastBefore(subject)
    if (before !== undefined && StateAt.isEarlier(moment, before)) return yield* endedBefore(subject)
    const { json, limit } = parsed
    const report = (engine: Engine) =>
      Either.map(narrowedTo(engine, parsed),
        (narrowed) => drawn(json, () => StateJson.report(engine, limit, narrowed), () => StateAt.draw(engine, limit, narrowed)))
    yield* Console.log(yield* yield* withProgress(subject, (block) => StateAt.drawAt(journal, capacity, moment, report, { block })))
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

/** The subject of a history, and how a report names it. */
interface Asked {
  readonly subject: Story.Subject
  /** Its kind in a report. */
  readonly report: "order" | "account" | "market" | "transfer" | "request"
  /** Its ids, in the form that clients know. */
  readonly ids: ReadonlyArray<string>
}

/** The numbers of orders or of a transfer, which tell in which records these began. */
const numbersOf = (subject: Story.Subject): ReadonlyArray<number> => {
  switch (subject._tag) {
    case "Order":
      return [subject.orderNumber]
    case "Orders":
      return subject.orderNumbers
    case "Transfer":
      return [subject.number]
    default:
      return []
  }
}

const story = <R>(open: Open<R>, { ids, report, subject }: Asked, bounds: Story.Bounds, json: boolean) =>
  Effect.gen(function*() {
    const opened = yield* open
    const { capacity, firstSequence, journal } = opened
    const told = yield* withProgress(opened, (block) => Story.tell(journal, capacity, subject, bounds, { block }))
    if (!told.known) {
      return yield* numbersOf(subject).some((number) => isBefore(opened, number))
        ? endedBefore(opened)
        : usage(`the journal knows no ${report} ${ids.join(", ")}`)
    }
    yield* say(json, () => storyReport(report, ids, told, firstSequence), () =>
      [
        ...(firstSequence > 1 ? [`(what happened up to sequence ${firstSequence - 1} is not replayed here)`] : []),
        ...told.lines.flatMap(drawLine),
        ...notes(told)
      ].join("\n"))
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

const storyReport = (report: Asked["report"], ids: Asked["ids"], told: Story.Story, firstSequence: number): object => ({
  report,
  ids,
  replayedFrom: firstSequence,
  lines: told.lines.map(({ atEpochMs, sequence, text, why }) => ({
    sequence,
    at: Format.time(atEpochMs),
    atEpochMs,
    text,
    ...(why === undefined ? {} : { why })
  })),
  more: told.more,
  feedSamples: told.feedSamples
})

const drawLine = ({ atEpochMs, sequence, text, why = [] }: Story.Line): ReadonlyArray<string> => {
  const heading = `${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}  `
  return [heading + text, ...why.flatMap(Why.draw).map((line) => " ".repeat(heading.length) + line)]
}

const notes = ({ feedSamples, lines, more }: Story.Story): ReadonlyArray<string> => [
  ...(lines.length === 0 ? ["nothing in these sequences"] : []),
  ...(more > 0 ? [`... and ${Format.count(more)} more lines (--limit, --from)`] : []),
  ...(feedSamples > 0 ? [`(${Format.count(feedSamples)} samples of the index feed are left out)`] : [])
]

const order = <R>(open: Open<R>, text: string, parsed: Parsed, bounds: Story.Bounds) =>
  Effect.gen(function*() {
    const opened = yield* open
    const named = yield* withProgress(opened,
      (block) => Lookup.find(opened.journal, opened.capacity, text, Option.getOrUndefined(parsed.account), { block })).pipe(
        Effect.catchTags({ ReplayDiverged: divergedError, Unfound: (error) => unfoundError(opened, error) })
      )
    const ids = named.orderNumbers.map(Ids.orderId)
    if (named.by === "name" && !parsed.json) yield* Console.log(`(${text} of ${named.accountId} names ${ids.join(", ")})`)
    const [only, ...others] = named.orderNumbers
    const subject: Story.Subject = only !== undefined && others.length === 0
      ? { _tag: "Order", orderNumber: only }
      : { _tag: "Orders", orderNumbers: named.orderNumbers }
    yield* story(Effect.succeed(opened), { subject, report: "order", ids }, bounds, parsed.json)
  })

const request = <R>(open: Open<R>, id: string, parsed: Parsed, bounds: Story.Bounds) =>
  Effect.gen(function*() {
    const named = Ids.parseRequestId(id)
    if (named === undefined) return yield* usage(`${id} is not a request's id (req_..., as an answer's x-request-id tells it)`)
    const { sequence } = named
    if (sequence === undefined) {
      return yield* usage(
        `${id} names no record: nothing was decided with that answer (a read, a request that was malformed, not let in or not `
          + "taken), or a version before 0.6.0 gave it. Defects are logged under such an id"
      )
    }
    const opened = yield* open
    const last = opened.journal.opened.nextSequence - 1
    if (opened.others !== undefined && sequence < opened.firstSequence) return yield* endedBefore(opened)
    if (sequence < opened.firstSequence || sequence > last) {
      return yield* usage(`${id} is of record ${sequence}, and what is replayed here are records ${opened.firstSequence} to ${last}`)
    }
    const own = { ...bounds, from: sequence, to: sequence }
    yield* story(Effect.succeed(opened), { subject: { _tag: "Everything" }, report: "request", ids: [id] }, own, parsed.json)
  })

const statement = <R>(open: Open<R>, accountId: string, stretch: Stretch.Stretch, json: boolean) =>
  Effect.gen(function*() {
    const opened = yield* open
    const { capacity, firstSequence, journal } = opened
    const told = yield* withProgress(opened, (block) => Statement.draw(journal, capacity, accountId, stretch, { block }))
    if (!told.known) return yield* usage(`by then the journal knows no account ${accountId}`)
    if (told.isCut) return yield* usage(`that are more than ${Format.count(Statement.mostLines)} lines: ask for fewer (--from, --to)`)
    if (firstSequence > 1 && !Stretch.isBegun(stretch)) {
      yield* Console.error(
        `what happened up to sequence ${firstSequence - 1} is not replayed here: the opening balance is the one behind it`
      )
    }
    yield* say(json, () => StatementText.report(told), () => StatementText.csv(told))
    if (!Statement.addsUp(told)) {
      const where = told.brokenAt === undefined ? "" : ` behind record ${told.brokenAt}`
      return yield* new Ended({ code: differsCode, text: `the statement does not add up${where}: that is a fault of the venue` })
    }
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

/** An option that is used without the option it belongs to. */
const misplaced = (parsed: Parsed): string | undefined => {
  const [at, byOrder, byRequest, account, market] = [parsed.at, parsed.order, parsed.request, parsed.account, parsed.market].map(
    Option.isSome
  )
  if (parsed.why && (at === true || !(byOrder === true || byRequest === true || account === true))) {
    return "--why belongs to --order, --request and --account"
  }
  if (parsed.format === "json" && Option.isNone(parsed.statement)) return "--format belongs to --statement; every report takes --json"
  return market === true && (byOrder === true || byRequest === true) ? "--market narrows --at, and no order or request" : undefined
}

/**
 * Opens what is replayed for a range of its records: one behind all of them is taken for a mistake, as is a state behind them, and one
 * that asks for what is before them is refused. Without a beginning it has what there is. A range by time may be of a time without records.
 */
const reaching = <R>(open: Open<R>, stretch: Stretch.Stretch): Open<R> =>
  Effect.gen(function*() {
    const subject = yield* open
    const last = subject.journal.opened.nextSequence - 1
    if (stretch.from > Math.max(last, 1)) return yield* behindEnd(last)
    const before = yield* lastBefore(subject)
    return before !== undefined && Stretch.asksBefore(stretch, before) ? yield* endedBefore(subject) : subject
  })

/** Answers the questions on the command line, whatever the journal's source. */
export const questions = <R>(open: Open<R>, parsed: Parsed) => {
  const wrong = misplaced(parsed)
  if (wrong !== undefined) return [usage(wrong)]
  const parsedStretch = Stretch.parse(Option.getOrUndefined(parsed.from), Option.getOrUndefined(parsed.to))
  if (Either.isLeft(parsedStretch)) return [parsedStretch.left]
  const stretch = parsedStretch.right
  if (Stretch.isBackward(stretch)) return [Stretch.backward]
  const bounds: Story.Bounds = { ...stretch, limit: parsed.limit, why: parsed.why }
  const { json } = parsed
  const reached = reaching(open, stretch)
  const isNarrowing = Option.isSome(parsed.at)
  return [
    ...Option.toArray(parsed.at).map((text) => stateAt(open, text, parsed)),
    ...Option.toArray(parsed.order).map((text) => order(reached, text, parsed, bounds)),
    ...Option.toArray(parsed.request).map((id) => request(open, id, parsed, bounds)),
    ...Option.toArray(parsed.statement).map((accountId) => statement(reached, accountId, stretch, json || parsed.format === "json")),
    ...(isNarrowing || Option.isSome(parsed.order) ? [] : Option.toArray(parsed.account)).map((accountId) =>
      story(reached, { subject: { _tag: "Account", accountId }, report: "account", ids: [accountId] }, bounds, json)
    ),
    ...(isNarrowing ? [] : Option.toArray(parsed.market)).map((marketId) =>
      story(reached, { subject: { _tag: "Market", marketId }, report: "market", ids: [marketId] }, bounds, json)
    ),
    ...Option.toArray(parsed.deposit).map((id) => {
      const number = Ids.parseDepositId(id) ?? Ids.parseWithdrawalId(id) ?? Ids.parsePartyChangeId(id)
      return number === undefined
        ? usage(`${id} is not the id of a deposit, a withdrawal or a change of ledger party`)
        : story(reached, { subject: { _tag: "Transfer", number }, report: "transfer", ids: [id] }, bounds, json)
    })
  ]
}
