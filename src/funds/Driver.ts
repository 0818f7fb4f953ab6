/**
 * Drives transfers: one fiber does what the state says is to be done for each, and journals the results. Nothing durable is kept
 * here, so a new process continues from the state. No transfer is worked on twice at a time, a bounded number are at once, and
 * after a failure only after a pause.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import type * as Scope from "effect/Scope"
import { sequenceOf } from "../domain/Ids.js"
import { unattended } from "../domain/Unattended.js"
import type { TransferView } from "../engine/Reads.js"
import { isFromBefore } from "./Ahead.js"
import { waitMs } from "./Backoff.js"
import { warn } from "./Elsewhere.js"
import { note } from "./Journaled.js"
import { type Bound, bind, ofLedger, type Parts } from "./Parts.js"
import { type Memory, newMemory, perform } from "./Performing.js"
import { Reader } from "./Reader.js"
import { behindOthers } from "./Spending.js"
import { type Trouble, Unreachable } from "./Trouble.js"

export interface Options {
  /** Most transfers worked on at a time. */
  readonly atOnce: number
  /** Interval of the checks of the state and the completions, while anything has been submitted, and otherwise. */
  readonly busyMs: number
  readonly idleMs: number
  /** Pause before a transfer that needs an operator is tried again. */
  readonly stoppedMs: number
  /** How long a caller is kept waiting. */
  readonly askedMs: number
}

export const defaults: Options = { atOnce: 16, busyMs: 250, idleMs: 5_000, stoppedMs: 3_600_000, askedMs: 10_000 }

/** The share of the slots for transfers that are not approved yet, so that approved ones need not wait behind all others. */
const beginnersShare = 0.75

/** Most pages of completions read to reach an offset. */
const mostPages = 1_000

/** What is remembered of an open transfer. */
interface Tended {
  readonly memory: Memory
  failures: number
  /** Since when it has been waiting for another attempt, and for how long. */
  waitsSinceEpochMs: number
  waitMs: number
  trouble: Trouble | undefined
  /** The step and transaction in which it was met. */
  troubled: string
  /** What was logged of it last. */
  logged: string | undefined
  /** The attempt in progress. */
  underWay: Fiber.RuntimeFiber<void, Trouble> | undefined
  /** Whether that is waiting for its turn to spend from the treasury. */
  waitsForTurn: boolean
}

/** A transfer that waits for an operator. */
export interface StoppedTransfer {
  readonly transfer: number
  readonly reason: string
}

export class Driver {
  private readonly tended = new Map<number, Tended>()
  private readonly slots: Effect.Semaphore
  /** The slots for transfers that are not approved yet: the others are for approved and submitted ones. */
  private readonly beginners: Effect.Semaphore
  /** Opened whenever something has changed; each of the two loops closes its own before it checks. */
  private readonly workLatch = Effect.unsafeMakeLatch(false)
  private readonly readLatch = Effect.unsafeMakeLatch(false)
  private readonly reading = Effect.unsafeMakeSemaphore(1)
  /** The journal's last sequence when this process began. */
  private readonly beganAtSequence: number
  /** The ledger's end when this process first needed it, or first since the ledger went back. */
  private firstEnd: { readonly offset: number; readonly times: number } | undefined
  private bound: Bound | undefined
  /** Whether any transfer needed the venue's work in the last round. */
  private isBusy = false
  private reader: Reader | undefined
  private readFailures = 0
  /** Why the completions cannot be read, by the last attempt; of the signer it says nothing once that has answered first. */
  trouble: Trouble | undefined = new Unreachable({ whom: "ledger", detail: "not reached yet" })
  /** What the signer failed at in the last attempt of a transfer that needs the venue's work; undefined where it fails none. */
  signerTrouble: Unreachable | undefined
  /** What the ledger did not do in the last attempt of such a transfer for a reason of its own: it answers, and does not do its work. */
  refusal: Unreachable | undefined

  constructor(private readonly parts: Parts, private readonly scope: Scope.Scope, private readonly options: Options = defaults) {
    this.beganAtSequence = parts.reads.sequence
    this.slots = Effect.unsafeMakeSemaphore(options.atOnce)
    this.beginners = Effect.unsafeMakeSemaphore(Math.max(1, Math.floor(options.atOnce * beginnersShare)))
  }

  get unknownCompletions(): number {
    return this.reader?.unknownCompletions ?? 0
  }

  get offsetLag(): number {
    return this.reader?.lag ?? 0
  }

  /** The venue's party on the ledger; undefined until it is known. */
  get treasury(): string | undefined {
    return this.bound?.custody.treasury
  }

  /** The signer's key of that party; undefined until it is known. */
  get treasuryKeyId(): string | undefined {
    return this.bound?.treasuryKeyId
  }

  /** Has the transfers tried now for which the signer has failed: they may wait for a quarter of an hour otherwise. */
  readonly signerIsBack: Effect.Effect<void> = Effect.suspend(() => {
    for (const tended of this.tended.values()) if (isOfSigner(tended.trouble)) tended.waitMs = 0
    return this.wake
  })

  /** Transfers that wait for an operator. One that has gone on since, by what the ledger has told, does not wait any more. */
  get stopped(): ReadonlyArray<StoppedTransfer> {
    return [...this.tended].flatMap(([transfer, { trouble, troubled }]) =>
      trouble?._tag === "Stopped" && troubled === this.atHand(transfer) ? [{ transfer, reason: trouble.reason }] : []
    )
  }

  /** The step at hand of a transfer, with its transaction. */
  private atHand(number: number): string {
    const step = this.parts.reads.transfer(number)?.stepAtHand
    return `${step?.name} ${step?.preparation?.hash}`
  }

  /** The participant, user and key with which the venue acts on the ledger: determined once, and shared by all. */
  readonly binding: Effect.Effect<Bound, Trouble> = Effect.suspend(() =>
    this.bound !== undefined ? Effect.succeed(this.bound) : Effect.flatMap(bind(this.parts), (bound) => {
      if (this.bound !== undefined) return Effect.succeed(this.bound)
      this.bound = bound
      return Effect.as(warn(this.parts.reads, bound), bound)
    })
  )

  /** Triggers a check of the state and the completions now. */
  readonly wake: Effect.Effect<void> = Effect.suspend(() => Effect.zipRight(this.workLatch.open, this.readLatch.open))

  private tend(number: number): Tended {
    const known = this.tended.get(number)
    if (known !== undefined) return known
    const tended: Tended = {
      memory: newMemory(),
      failures: 0,
      waitsSinceEpochMs: 0,
      waitMs: 0,
      trouble: undefined,
      troubled: "",
      logged: undefined,
      underWay: undefined,
      waitsForTurn: false
    }
    this.tended.set(number, tended)
    return tended
  }

  /** Works on a transfer in the background; one that is being worked on already is waited for. */
  private start(number: number, isAsked: boolean): Effect.Effect<Fiber.RuntimeFiber<void, Trouble>> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowEpochMs) => {
      const tended = this.tend(number)
      if (tended.underWay !== undefined) return Effect.succeed(tended.underWay)
      const performed = (hasTurn: boolean, isCaughtUp: boolean) =>
        Effect.flatMap(this.binding, (bound) => {
          const readThrough = isCaughtUp ? this.reader?.offset : undefined
          return perform(this.parts, bound, number, tended.memory, { isAsked, hasTurn, readThrough })
        })
      const begun = (isCaughtUp: boolean) =>
        performed(false, isCaughtUp).pipe(
          this.slots.withPermits(1),
          this.begins(number, nowEpochMs) ? this.beginners.withPermits(1) : identity
        )
      // Waiting takes no slot, neither for what is to be read first nor for a turn to spend from the treasury: slots are for work that
      // can proceed.
      const work = this.readFirst(number).pipe(
        Effect.flatMap((isCaughtUp) =>
          Effect.flatMap(begun(isCaughtUp), (came) =>
            came === "turn" ? this.inTurn(tended, performed(true, isCaughtUp)) : Effect.succeed(came))
        ),
        Effect.map((came) => came === "turn" ? "waits" : came),
        Effect.onExit((exit) => this.done(number, tended, exit)),
        Effect.asVoid
      )
      return Effect.map(Effect.forkIn(Effect.interruptible(work), this.scope), (fiber) => {
        tended.underWay = fiber
        fiber.addObserver(() => {
          tended.underWay = undefined
        })
        return fiber
      })
    })
  }

  /**
   * Whether a transfer's next action precedes its approval: there can be many of these, as many as owners request. A prepared
   * transaction that can still be approved needs nothing from the ledger; if it queued here, its approval would have to wait in the
   * same queue.
   */
  private begins(number: number, nowEpochMs: number): boolean {
    const transfer = this.parts.reads.transfer(number)
    if (transfer?.awaits !== "approval") return transfer?.awaits === "party" || transfer?.awaits === "preparation"
    return (transfer.stepAtHand?.preparation?.maxRecordTimeEpochMs ?? 0) < nowEpochMs
  }

  /**
   * Works on a transfer in its turn to spend from the treasury. It may take any slot: only one has the turn, and in the queue of
   * transfers not approved yet, one withdrawal would be prepared only each time the whole queue was.
   */
  private inTurn<A>(tended: Tended, work: Effect.Effect<A, Trouble>): Effect.Effect<A, Trouble> {
    const waits = (isSo: boolean) =>
      Effect.sync(() => {
        tended.waitsForTurn = isSo
      })
    const inTurn = Effect.flatMap(this.binding, ({ spending }) => spending.inTurn(Effect.zipRight(waits(false), work), this.slots))
    return Effect.ensuring(Effect.zipRight(waits(true), inTurn), waits(false))
  }

  /** Notes the result of an attempt, and when the next one is due. */
  private done(number: number, tended: Tended, exit: Exit.Exit<"over" | "waits", Trouble>): Effect.Effect<void> {
    return Effect.gen(this, function*() {
      const now = yield* Clock.currentTimeMillis
      const trouble = Exit.isSuccess(exit) ? undefined : troubleOf(exit.cause)
      if (Exit.isSuccess(exit) && exit.value === "over") tended.failures = 0
      else tended.failures++
      // Transfer numbers are multiples of the ordinals per record, so the record's sequence is used to spread them.
      const backoffMs = tended.failures === 0 ? 0 : waitMs(tended.failures, sequenceOf(number))
      tended.waitsSinceEpochMs = now
      // Whether they work again is seen by the next attempt alone where the signer fails at signing only, or the venue lacks a right for
      // this step. A ledger that has too much to do is asked ever more rarely.
      const tryMs = isOfSigner(trouble) || lacksRight(trouble) ? Math.min(backoffMs, longestRefusedMs) : backoffMs
      const isDeclined = trouble?._tag === "Stopped" && trouble.reason === "ledger_declines"
      tended.waitMs = trouble?._tag === "Stopped" && !isDeclined ? this.options.stoppedMs : tryMs
      const wasStopped = tended.trouble?._tag === "Stopped" && tended.troubled === this.atHand(number)
      // What was logged is logged again where it comes back.
      if (trouble === undefined) tended.logged = undefined
      const isNew = trouble !== undefined && tended.logged !== gist(trouble)
      // What the ledger declines is tried again soon, and is only worth a line once that has not helped.
      const isToTell = isDeclined ? isNew && tended.failures >= loggedFrom : trouble?._tag === "Stopped" && !wasStopped
      // Where completions cannot be read either, the log has said so, once for all transfers.
      const isRefused = refusalOf(trouble, tended.failures) !== undefined && this.trouble?._tag !== "Unreachable"
      if (trouble !== undefined && (isToTell || (isRefused && isNew))) {
        tended.logged = gist(trouble)
        const transfer = `transfer ${this.parts.reads.transfer(number)?.id}`
        yield* trouble._tag === "Stopped"
          ? Effect.logError(`${transfer} waits for an operator: ${trouble.message}`)
          : Effect.logWarning(`${transfer} does not go on: ${trouble.message}`)
      }
      tended.trouble = trouble
      tended.troubled = this.atHand(number)
      if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) yield* Effect.logError("a transfer met a defect", exit.cause)
      yield* this.wake
    })
  }

  /**
   * Works on a transfer whose owner is present, and waits a while for the result; fails with what prevents it. Unfinished work
   * continues. An attempt in progress is waited for first: if it ends with a refusal, that is the answer, since another attempt
   * would take as long again.
   */
  ask(number: number): Effect.Effect<void, Trouble> {
    return Effect.gen(this, function*() {
      const before = this.tended.get(number)?.underWay
      if (before !== undefined) {
        yield* Effect.catchAllCause(this.awaited(number, before), (cause) => {
          const trouble = troubleOf(cause)
          return trouble._tag === "Declined" ? trouble : Effect.void
        })
      }
      yield* this.awaited(number, yield* this.start(number, true))
    })
  }

  /** An attempt interrupted by the venue's stop is no defect for its callers: the next process continues the transfer. */
  private awaited(number: number, fiber: Fiber.RuntimeFiber<void, Trouble>): Effect.Effect<void, Trouble> {
    const ended = Effect.flatMap(Fiber.await(fiber), (exit) => Exit.isInterrupted(exit) ? venueStops() : exit)
    return Effect.flatten(Effect.timeoutTo(ended, {
      duration: this.options.askedMs,
      onSuccess: () => Effect.void,
      onTimeout: () => this.tended.get(number)?.waitsForTurn === true ? behindOthers() : Effect.void
    }))
  }

  /** Starts everything that is due. */
  private readonly round: Effect.Effect<void> = Effect.gen(this, function*() {
    const now = yield* Clock.currentTimeMillis
    this.forget()
    const toDrive = this.parts.reads.transfersToDrive()
    this.isBusy = toDrive.length > 0
    const troubled = toDrive.flatMap(({ number }) => this.tended.get(number) ?? [])
    this.signerTrouble = troubled.map(({ trouble }) => trouble).find(isOfSigner)
    this.refusal = troubled.map(({ failures, trouble }) => refusalOf(trouble, failures)).find((refusal) => refusal !== undefined)
    let begun = 0
    for (const transfer of toDrive) {
      const { number } = transfer
      yield* this.withheld(transfer)
      if (begun >= this.options.atOnce) break
      const tended = this.tend(number)
      if (tended.underWay !== undefined || isWaiting(tended, now)) continue
      begun++
      yield* this.start(number, false)
    }
  })

  /**
   * Ends a withdrawal that was approved but never executed, and will not be begun: whoever approved it may have had no right to. It
   * needs neither the ledger nor the signer.
   */
  private withheld({ id, number, stepAtHand: step }: TransferView): Effect.Effect<void> {
    const { reads, submit } = this.parts
    const guard = reads.withheldFor(number)
    if (guard === undefined || step === undefined) return Effect.void
    const ended = note({ submit }, "RejectStep", { transfer: number, step: step.name, stage: "approval", guard })
    // Logged only on success: while the disk is full it is tried several times a second.
    return Effect.ignore(Effect.flatMap(ended, (noted) =>
      noted === "noted"
        ? Effect.logWarning(`${id}: it was approved, and before it was executed ${sinceWithheld[guard]}`)
        : Effect.void))
  }

  /** Drops what is remembered of finished transfers. */
  private forget(): void {
    for (const [number, { underWay }] of this.tended) {
      if (underWay === undefined && this.parts.reads.transfer(number)?.stepAtHand === undefined) this.tended.delete(number)
    }
  }

  /** Waits until something changes, or until the next check is due. */
  private readonly pause = (latch: Effect.Latch): Effect.Effect<void> =>
    Effect.suspend(() => Effect.raceFirst(Effect.sleep(this.isBusy ? this.options.busyMs : this.options.idleMs), latch.await))

  private readonly work: Effect.Effect<never> = Effect.forever(
    Effect.zipRight(Effect.zipRight(this.workLatch.close, unattended("the driver of the ledger", this.round)), this.pause(this.workLatch))
  )

  /** Reads a page of completions. Returns whether there may be more at once. */
  private readonly page: Effect.Effect<boolean, Trouble> = Effect.gen(this, function*() {
    const bound = yield* this.binding
    const reader = this.reader ??= new Reader(this.parts, bound, this.beganAtSequence)
    const before = this.parts.reads.sequence
    const more = yield* reader.page(yield* Clock.currentTimeMillis)
    // A transfer may be waiting for what was noted.
    if (this.parts.reads.sequence !== before) yield* this.workLatch.open
    return more
  }).pipe(this.reading.withPermits(1))

  /**
   * Whether the ledger has done a step that this journal has not prepared is known once its completions have been read. Returns whether
   * they have been read for a transfer. Where the ledger does not tell any, the transfer goes on without: others are worked on then,
   * too.
   */
  private readFirst(number: number): Effect.Effect<boolean, Trouble> {
    const isUnprepared = this.parts.reads.transfer(number)?.stepAtHand?.binding === null
    return isUnprepared && isFromBefore(number, this.beganAtSequence)
      ? Effect.catchTag(Effect.as(this.caughtUp, true), "Stopped", () => Effect.succeed(false))
      : Effect.succeed(false)
  }

  /** Completes when everything has been read that the ledger had done when this process first asked. */
  private readonly caughtUp: Effect.Effect<void, Trouble> = Effect.gen(this, function*() {
    const times = this.bound?.offsets.times ?? 0
    if (this.firstEnd?.times !== times) {
      this.firstEnd = { offset: (yield* Effect.mapError(this.parts.ledger.end, ofLedger)).offset, times }
    }
    const { offset } = this.firstEnd
    if ((this.reader?.offset ?? 0) < offset) yield* this.readThrough(offset)
  })

  /** Continues reading until an offset has been reached. */
  readThrough(offset: number): Effect.Effect<void, Trouble> {
    return Effect.gen(this, function*() {
      for (let pages = 0; pages < mostPages; pages++) {
        const more = yield* this.page
        if ((this.reader?.offset ?? 0) >= offset) return
        if (!more) yield* Effect.sleep(this.options.busyMs)
      }
      return yield* new Unreachable({ whom: "ledger", detail: `it does not tell its completions up to ${offset}` })
    })
  }

  private readonly look: Effect.Effect<void> = Effect.matchCauseEffect(this.page, {
    onSuccess: (more) =>
      Effect.suspend(() => {
        this.readFailures = 0
        this.trouble = undefined
        return more ? Effect.void : this.pause(this.readLatch)
      }),
    onFailure: (cause) =>
      Effect.gen(this, function*() {
        const trouble = troubleOf(cause)
        if (Cause.isDie(cause)) yield* Effect.logError("the reader of completions met a defect", cause)
        if (this.trouble?.message !== trouble.message) yield* Effect.logWarning(`completions cannot be read: ${trouble.message}`)
        this.trouble = trouble
        yield* Effect.sleep(waitMs(++this.readFailures))
      })
  })

  /** Works on all transfers, and reads their completions: two loops for the life of the venue, each in a fiber of its own. */
  get loops(): ReadonlyArray<Effect.Effect<never>> {
    return [this.work, Effect.forever(Effect.zipRight(this.readLatch.close, this.look))]
  }
}

/**
 * The longest pause, in ms, before a transfer is tried again for which the signer has failed, or which the ledger refused for want of a
 * right. Until then the venue reports that the signer or the ledger does not work, although it may have begun to.
 */
const longestRefusedMs = 60_000

/**
 * Failures in a row after which the venue reports that the ledger declines the venue's own step, or that it does not do its work for a step
 * without saying why.
 */
const loggedFrom = 4

/**
 * A trouble if it means that the ledger answers and does not do its work; undefined for any other. Where the ledger says so the first time
 * is enough, otherwise it has to have lasted for some attempts.
 */
const refusalOf = (trouble: Trouble | undefined, failures: number): Unreachable | undefined => {
  if (trouble?._tag !== "Unreachable" || trouble.nature === undefined) return undefined
  return trouble.nature !== "undone" || failures >= loggedFrom ? trouble : undefined
}

const lacksRight = (trouble: Trouble | undefined): boolean => trouble?._tag === "Unreachable" && trouble.nature === "right"

/** What a trouble says, without the number by which the ledger's own log names it: that is another one in each attempt. */
const gist = ({ message }: Trouble): string => message.replaceAll(/[0-9a-f]{32,}/gu, "")

const isOfSigner = (trouble: Trouble | undefined): trouble is Unreachable => trouble?._tag === "Unreachable" && trouble.whom === "signer"

/** What happened between a withdrawal's approval and its execution, so that it ends instead. */
const sinceWithheld = {
  account_disabled: "its account was disabled",
  passkey_removed: "the passkey that approved it was removed"
} as const

/** Whether a pause is not over. One that begins in the future was started before the clock was set back, and counts as over. */
const isWaiting = ({ waitMs: forMs, waitsSinceEpochMs }: Tended, nowEpochMs: number): boolean =>
  nowEpochMs >= waitsSinceEpochMs && nowEpochMs < waitsSinceEpochMs + forMs

/** Nothing but the venue's stop interrupts an attempt. */
const venueStops = (): Unreachable => new Unreachable({ whom: "venue", detail: "it stops" })

const troubleOf = (cause: Cause.Cause<Trouble>): Trouble => {
  const failure = Cause.failureOption(cause)
  if (failure._tag === "Some") return failure.value
  return Cause.isDie(cause)
    ? new Unreachable({ whom: "venue", detail: "it met a defect, which is in its log" })
    : venueStops()
}
