/** Commands on their way to the writer, and their outcomes on the way back: as callbacks for the hot routes, as Effects for others. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { assert } from "../../domain/Assert.js"
import type * as Market from "../../domain/Market.js"
import type { Header } from "../../operations/Header.js"
import type { Command, EntryOutcome, Operation, Outcome } from "../../operations/Operations.js"
import type { Refused } from "../../operations/Outcome.js"
import type { OrderDecided } from "../../operations/orders/OrderDecided.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Call, Services } from "./Call.js"
import * as Errors from "./Errors.js"
import { marketNotFound } from "./MarketNames.js"
import type { Admitted } from "./Route.js"
import * as Underway from "./Underway.js"

/** Who sends a command, under which key, and with what content: the same fields for every client command. */
type Sender = Exclude<keyof Header, "operation">

type WithoutSender<C> = C extends Header ? Omit<C, Sender> : never

/** A client's command but for its sender. */
export type ClientCommand = WithoutSender<Command>

/**
 * Submits a client's command, which it takes over and completes; `answer` is called with a decision, never with a refusal of the
 * whole. `answer` runs outside the router's own guard, so a defect in it must be kept from the writer.
 */
export const submit = (
  call: Call,
  { fingerprint, idempotencyKey, trader }: Admitted<object>,
  command: ClientCommand,
  answer: (outcome: Outcome) => void
): void => {
  // Not copied: see `Call.headers` for the cost of that.
  const sent = Object.assign(command, {
    principal: trader.principal,
    account: trader.account,
    credential: trader.credential,
    idempotencyKey,
    fingerprint
  }) as Command
  const { metrics, monotonicNanos } = call.services
  metrics.stages.edge.record(monotonicNanos() - call.begunAtNanos)
  call.services.submit(sent, (outcome) =>
    call.safely(() => {
      call.decided(outcome)
      if (!call.failedWhole(outcome)) answer(outcome)
    }), call.request.ticketOf)
}

/**
 * Fails a request that may no longer be made as it is: it does not fit its market's grid, which is only checked where the market is
 * visible, or the account's owner has a passkey by now. Where an equal one was decided before that, its repetition gets that decision
 * again, through `answer`.
 */
export const failUndecided = (
  call: Call,
  { fingerprint, idempotencyKey, trader: { account } }: Admitted<object>,
  operation: Operation,
  failure: Errors.Failure,
  answer: (outcome: Outcome) => void
): void => {
  const { now, state } = call.services
  const outcome = state.remembered({ account, operation, idempotencyKey, fingerprint }, now())
  if (outcome === undefined) return call.failDurably(failure)
  call.whenDurable(() => {
    call.decided(outcome)
    answer(outcome)
  })
}

/** The decision on one entry, which every decided command has for each of its entries. */
export const decidedEntry = (outcome: Outcome, index: number): EntryOutcome => {
  const entry = outcome.entries[index]
  assert(entry !== undefined, "a decided command has an outcome for each entry")
  return entry
}

export const isRefused = (decided: EntryOutcome): decided is Refused => decided._tag === "Refused"

/** The outcome of an entry as that of an order operation. */
export const asOrder = (decided: EntryOutcome): OrderDecided => {
  assert(decided._tag === "OrderDecided", "a command on orders comes to an order")
  return decided
}

/** Answers a refused command of one entry; `market` is the name by which the request gave its market, if it did. */
export const failEntry = (call: Call, decided: Refused, outcome: Outcome, comparison?: Errors.Comparison, market?: string): void => {
  const failure = market !== undefined && decided.refusal === Refusal.marketNotFound
    ? marketNotFound(market, call.endpoint.family)
    : Errors.refused(decided.refusal, comparison)
  call.fail(failure, outcome.atEpochMs)
}

/** Counts a refused entry of a batch, whose answer is not a failure and so is not counted itself. */
const countRefusal = (call: Call, decided: EntryOutcome): void => {
  if (isRefused(decided)) call.services.metrics.refused(Errors.refused(decided.refusal).description.name)
}

/** The texts of a batch's `count` entries in order, separated by commas; refused ones are counted. */
export const entryTexts = (
  call: Call,
  outcome: Outcome,
  count: number,
  text: (decided: EntryOutcome, index: number) => string
): string => {
  let texts = ""
  for (let index = 0; index < count; index++) {
    const decided = decidedEntry(outcome, index)
    countRefusal(call, decided)
    texts += (index === 0 ? "" : ",") + text(decided, index)
  }
  return texts
}

/**
 * Submits an operator's command; fails with the refusal of the whole or of any entry. `market` is the one that a refusal's prices
 * refer to.
 */
export const submitted = (
  { submit }: Services,
  command: Command,
  market?: Market.Parameters,
  refusedAs: (refusal: Refusal) => Errors.Failure = Errors.refused
): Effect.Effect<Outcome, Errors.Failure> =>
  Effect.flatMap(FiberRef.get(Underway.call), (call) =>
    Effect.async<Outcome, Errors.Failure>((resume) => {
      // Judged by the caller's own fiber: a defect in it must be kept from the writer.
      submit(command, (outcome) =>
        resume(Effect.suspend(() => {
          call?.decided(outcome)
          return judged(outcome, market, refusedAs)
        })))
    }))

/** A decision in the form of `submitted`. */
const judged = (
  outcome: Outcome,
  market: Market.Parameters | undefined,
  refusedAs: (refusal: Refusal) => Errors.Failure = Errors.refused
): Effect.Effect<Outcome, Errors.Failure> => {
  if (outcome.refusal !== Refusal.none) return Effect.fail(refusedAs(outcome.refusal))
  const decided = outcome.entries.find(isRefused)
  return decided === undefined ? Effect.succeed(outcome) : Effect.fail({
    ...Errors.refused(decided.refusal, Errors.comparisonOf(decided, market)),
    decidedAtEpochMs: outcome.atEpochMs
  })
}

/** Like `submitted`, for a remembered decision: answered again, as a repetition. */
export const toldAgain = (outcome: Outcome): Effect.Effect<Outcome, Errors.Failure> =>
  Effect.flatMap(FiberRef.get(Underway.call), (call) => {
    call?.decided(outcome)
    return judged(outcome, undefined)
  })
