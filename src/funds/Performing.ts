/**
 * Works on one transfer as far as the venue can by itself. Each action is derived from the state, one after the other, so that it
 * does not matter who started it, how often, or where it crashed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { TransferView } from "../engine/Reads.js"
import { here } from "./Elsewhere.js"
import * as Executing from "./Executing.js"
import type { StepView } from "./Facts.js"
import { note, settled } from "./Journaled.js"
import * as Looking from "./Looking.js"
import type { Bound, Parts } from "./Parts.js"
import * as Preparing from "./Preparing.js"
import type { Trouble } from "./Trouble.js"

/**
 * How long an accepted submission may take to be decided, and any other to be answered, before the step is submitted again, in ms.
 */
const decidedWithinMs = 5_000
const answeredWithinMs = 1_000
/** Most actions for a transfer in one attempt. */
const mostTurns = 16

/** What is remembered of a transfer in progress; a new process finds it out again. */
export interface Memory {
  /** How far the completions of a transaction have been read, and of which one. */
  place: Looking.Place | undefined
  hash: string | undefined
  /** When this process last submitted it, by the current clock; undefined where it has not. */
  executedAtEpochMs: number | undefined
}

export const newMemory = (): Memory => ({ place: undefined, hash: undefined, executedAtEpochMs: undefined })

/** The circumstances of an attempt. */
export interface Manner {
  /** Whether the owner is present to approve what is prepared. */
  readonly isAsked: boolean
  /** Whether it is its turn to spend of the treasury. */
  readonly hasTurn: boolean
  /** The offset up to which completions have been read, where they had to be read first; otherwise undefined. */
  readonly readThrough: number | undefined
}

/**
 * `on`: the state has changed or has to be checked again; `over`: nothing is left for the venue; `waits`: the ledger has to report
 * more; `turn`: it continues in its turn to spend from the treasury.
 */
type Turn = "on" | "over" | "waits" | "turn"

/** Searches the completions of a step from where the last search for the same transaction ended. */
const look = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory) => {
  const hash = step.preparation?.hash
  if (memory.hash !== hash) {
    memory.hash = hash
    memory.place = undefined
  }
  return Effect.tap(Looking.through(parts, bound, transfer, step, memory.place), (looked) =>
    Effect.sync(() => {
      memory.place = looked
    }))
}

/**
 * Journals that there is no acceptance, where a search in one go proves it. What several searches have read in turn proves nothing: a
 * participant restored in between tells what came behind the one place at an offset before it.
 */
const prove = (
  parts: Parts,
  bound: Bound,
  transfer: TransferView,
  step: StepView,
  looked: Looking.Looked,
  isProof: (looked: Looking.Looked) => boolean
): Effect.Effect<"on" | "waits", Trouble> =>
  Effect.gen(function*() {
    const whole = looked.isInOneGo ? looked : yield* Looking.through(parts, bound, transfer, step, undefined, Infinity)
    if (whole.isAccepted) return "on"
    return isProof(whole) && (yield* noteScan(parts, transfer, step, whole)) ? "on" : "waits"
  })

/** Journals that a search has found no acceptance. Returns whether the state has changed. */
const noteScan = (
  { submit }: Parts,
  { number }: TransferView,
  { name, preparation }: StepView,
  { recordTimeEpochMs, throughOffset }: Looking.Place
): Effect.Effect<boolean, Trouble> =>
  Effect.map(
    note({ submit }, "NoteScan", { transfer: number, step: name, hash: preparation?.hash ?? "", throughOffset, recordTimeEpochMs }),
    (noted) => noted === "noted"
  )

/** Whether the search shows that the transaction can no longer take effect, which requires that the time limit is signed. */
const isPassed = ({ preparation }: StepView, { recordTimeEpochMs }: Looking.Place): boolean =>
  preparation !== null && preparation.hashingScheme >= 3 && recordTimeEpochMs > preparation.maxRecordTimeEpochMs

/** Every submission was refused: the step fails, unless the completions so far contain an acceptance. */
const scan = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const looked = yield* look(parts, bound, transfer, step, memory)
    if (looked.isAccepted) return "on"
    if (!looked.isWhole) return "waits"
    return yield* prove(parts, bound, transfer, step, looked, ({ isWhole }) => isWhole)
  })

/**
 * Whether the last submission is too recent for another one. After the clock was set back, the journal's time stands still ahead of
 * it: a submission with a future time is as old as this process remembers or, failing that, old enough. If it is submitted too
 * early, the ledger refuses the same bytes as a duplicate.
 */
export const isFresh = ({ submissions }: StepView, { executedAtEpochMs }: Memory, nowEpochMs: number): boolean => {
  const last = submissions.at(-1)
  if (last === undefined) return false
  const isTaken = last.outcome === "accepted" || last.outcome === "duplicate"
  const sinceEpochMs = last.begunAtEpochMs <= nowEpochMs ? last.begunAtEpochMs : executedAtEpochMs
  if (sinceEpochMs === undefined || sinceEpochMs > nowEpochMs) return false
  return nowEpochMs < sinceEpochMs + (isTaken ? decidedWithinMs : answeredWithinMs)
}

const execute = (parts: Parts, bound: Bound, prepared: Executing.Prepared, memory: Memory): Effect.Effect<void, Trouble> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowEpochMs) => {
    memory.executedAtEpochMs = nowEpochMs
    return Executing.execute(parts, bound, prepared)
  })

/** The ledger may have the step. It is searched for; without a result it is submitted again or waited for. */
const resolve = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const { preparation } = step
    if (preparation === null) return "over"
    if (yield* Looking.byHash(parts, bound, step)) return "on"
    const looked = yield* look(parts, bound, transfer, step, memory)
    if (looked.isAccepted) return "on"
    if (isPassed(step, looked)) return yield* prove(parts, bound, transfer, step, looked, (again) => isPassed(step, again))
    // The search may have found refusals, which change the step's phase.
    if (parts.reads.transfer(transfer.number)?.awaits !== "resolution") return "on"
    if (isFresh(step, memory, yield* Clock.currentTimeMillis)) return "waits"
    yield* execute(parts, bound, { transfer, step, preparation }, memory)
    return "waits"
  })

/**
 * Handles a prepared step that was never submitted: once its time seems over, the ledger is asked, so that it can be prepared
 * again. A step bound elsewhere is stopped before it is approved or submitted, since its result could not be determined here.
 */
const renew = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const { preparation } = step
    yield* here(bound, step)
    if (preparation === null || preparation.maxRecordTimeEpochMs >= (yield* Clock.currentTimeMillis)) return "over"
    const looked = yield* look(parts, bound, transfer, step, memory)
    if (!isPassed(step, looked)) return "over"
    return (yield* prove(parts, bound, transfer, step, looked, (again) => isPassed(step, again))) === "on" ? "on" : "over"
  })

const turn = (parts: Parts, bound: Bound, transfer: TransferView, memory: Memory, manner: Manner): Effect.Effect<Turn, Trouble> => {
  const { hasTurn, isAsked, readThrough } = manner
  const { awaits, stepAtHand: step } = transfer
  if (step === undefined) return Effect.succeed("over")
  switch (awaits) {
    case "party":
      return Effect.as(Preparing.bindParty(parts, bound, transfer), "on")
    case "preparation":
      if (!isAsked && step.name !== "treasury_offer_withdrawal") return Effect.succeed("over")
      return Preparing.needsTurn(step) && !hasTurn
        ? Effect.succeed("turn")
        : Effect.as(Preparing.prepare(parts, bound, transfer, step, readThrough), "on")
    case "approval":
      return isAsked ? renew(parts, bound, transfer, step, memory) : Effect.succeed("over")
    case "submission":
      return Effect.gen(function*() {
        if (step.preparation === null) return "over"
        if ((yield* renew(parts, bound, transfer, step, memory)) === "on") return "on"
        yield* execute(parts, bound, { transfer, step, preparation: step.preparation }, memory)
        return "waits"
      })
    case "resolution":
      return resolve(parts, bound, transfer, step, memory)
    case "scan":
      return scan(parts, bound, transfer, step, memory)
    case "nothing":
      return Effect.succeed("over")
  }
}

/** Works on a transfer. Returns whether something is left to wait for: its turn, or the ledger. */
export const perform = (
  parts: Parts,
  bound: Bound,
  number: number,
  memory: Memory,
  manner: Manner
): Effect.Effect<Exclude<Turn, "on">, Trouble> =>
  Effect.gen(function*() {
    for (let turns = 0; turns < mostTurns; turns++) {
      const transfer = parts.reads.transfer(number)
      if (transfer === undefined) return "over"
      yield* settled(parts)
      const came = yield* turn(parts, bound, transfer, memory, manner)
      if (came !== "on") return came
    }
    return "waits"
  })
