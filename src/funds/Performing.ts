/**
 * Goes on with one transfer as far as the venue can by itself. What is to be done is read off the state, one thing after the other,
 * so that it does not matter who begins, how often, and what crashed in between.
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

/** How long a submission that was taken in is given to be decided, and any other to be answered, before the step is executed again. */
const decidedWithinMs = 5_000
const answeredWithinMs = 1_000
/** Things that are done for a transfer in one go. */
const mostTurns = 16

/** What is remembered of a transfer while it is gone on with, which a new process finds out again. */
export interface Memory {
  /** How far the completions of a transaction were read, and of which. */
  place: Looking.Place | undefined
  hash: string | undefined
  /** When it was last executed from here, by the clock as it is; undefined where it was not. */
  executedAtEpochMs: number | undefined
}

export const newMemory = (): Memory => ({ place: undefined, hash: undefined, executedAtEpochMs: undefined })

/** How it is gone on with. */
export interface Manner {
  /** Whether its owner is there to approve what is prepared. */
  readonly isAsked: boolean
  /** Whether it is its turn to spend of the treasury. */
  readonly hasTurn: boolean
}

/**
 * `on`: the state has moved, or is to be looked at again; `over`: nothing is left for the venue; `waits`: the ledger has to say more;
 * `turn`: it goes on in its turn to spend of the treasury.
 */
type Turn = "on" | "over" | "waits" | "turn"

/** Looks through the completions of a step, on from where the last look at the same transaction ended. */
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

/** Journals that there is no acceptance, where that follows from what was read; whether the state has moved by it. */
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

/** Whether what was read shows that the transaction can take no effect any more: only where what is signed says until when. */
const isPassed = ({ preparation }: StepView, { recordTimeEpochMs }: Looking.Place): boolean =>
  preparation !== null && preparation.hashingScheme >= 3 && recordTimeEpochMs > preparation.maxRecordTimeEpochMs

/** Every submission was refused: it comes to nothing, unless the completions up to now hold an acceptance. */
const scan = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const looked = yield* look(parts, bound, transfer, step, memory)
    if (looked.isAccepted) return "on"
    if (!looked.isWhole) return "waits"
    return (yield* noteScan(parts, transfer, step, looked)) ? "on" : "waits"
  })

/**
 * Whether the last submission is too young to be followed by another. The journal's time stands still ahead of a clock that was set
 * back: what it says was begun later than now is as old as is remembered here, and where nothing is, old enough. Executed too early,
 * the same bytes are refused by the ledger as a duplicate.
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

/** The ledger may have the step. It is looked for; if that says nothing, it is executed once more, or waited for. */
const resolve = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const { preparation } = step
    if (preparation === null) return "over"
    if (yield* Looking.byHash(parts, step)) return "on"
    const looked = yield* look(parts, bound, transfer, step, memory)
    if (looked.isAccepted) return "on"
    if (isPassed(step, looked)) return (yield* noteScan(parts, transfer, step, looked)) ? "on" : "waits"
    // A look may have told of refusals: then it is no longer the same step.
    if (parts.reads.transfer(transfer.number)?.awaits !== "resolution") return "on"
    if (isFresh(step, memory, yield* Clock.currentTimeMillis)) return "waits"
    yield* execute(parts, bound, { transfer, step, preparation }, memory)
    return "waits"
  })

/**
 * What was prepared and never executed: where its time seems over, the ledger is asked whether it is, so that it is prepared anew. What
 * is bound elsewhere is stopped before anybody approves or executes it: here nobody could tell what became of it.
 */
const renew = (parts: Parts, bound: Bound, transfer: TransferView, step: StepView, memory: Memory): Effect.Effect<Turn, Trouble> =>
  Effect.gen(function*() {
    const { preparation } = step
    yield* here(bound, step)
    if (preparation === null || preparation.maxRecordTimeEpochMs >= (yield* Clock.currentTimeMillis)) return "over"
    const looked = yield* look(parts, bound, transfer, step, memory)
    return isPassed(step, looked) && (yield* noteScan(parts, transfer, step, looked)) ? "on" : "over"
  })

const turn = (parts: Parts, bound: Bound, transfer: TransferView, memory: Memory, manner: Manner): Effect.Effect<Turn, Trouble> => {
  const { hasTurn, isAsked } = manner
  const { awaits, stepAtHand: step } = transfer
  if (step === undefined) return Effect.succeed("over")
  switch (awaits) {
    case "party":
      return Effect.as(Preparing.bindParty(parts, bound, transfer), "on")
    case "preparation":
      if (!isAsked && step.name !== "treasury_offer_withdrawal") return Effect.succeed("over")
      return Preparing.needsTurn(step) && !hasTurn
        ? Effect.succeed("turn")
        : Effect.as(Preparing.prepare(parts, bound, transfer, step), "on")
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

/** Goes on with a transfer. Whether something is left to wait for: its turn, or what the ledger has to say. */
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
