/**
 * The behaviour of every development ledger, however it is reached: whole transfers, deduplication, times, and each fault that it can be
 * set to have. One suite, run over the ledger in memory, with its file, and over HTTP.
 */
import { Clock, Effect, Either } from "effect"
import type { Scope } from "effect"
import * as Context from "effect/Context"
import { describe, expect, test } from "vitest"
import { controls } from "../../src/ledger/development/DevelopmentLedger.js"
import { Faucet } from "../../src/ledger/development/Faucet.js"
import type { Script } from "../../src/ledger/development/Faults.js"
import { custody as custodyOf } from "../../src/ledger/development/Setting.js"
import { codes, type Completion, Ledger, type LedgerError, type Page, type Preparation } from "../../src/ledger/Ledger.js"
import { type Custody, type Facts, plan, type PlannedCommand } from "../../src/ledger/Planned.js"
import { check, Mismatch } from "../../src/ledger/prepared/Check.js"
import type { Transport } from "../../src/ledger/Transport.js"
import { type Key, key } from "../ledger/Keys.js"

/** One way to reach a ledger. */
export interface Reached {
  readonly ledger: Context.Tag.Service<Ledger>
  readonly faucet: Context.Tag.Service<Faucet>
  /** For scripting faults. */
  readonly transport: Transport
}

const minute = 60_000
const usdc = 1_000_000

/** The parties of one test, and their actions. */
class Scene {
  readonly owner: Key
  readonly treasury: Key
  readonly custody: Custody

  constructor(readonly reached: Reached, name: string) {
    this.owner = key(`${name} owner`)
    this.treasury = key(`${name} treasury`)
    this.custody = custodyOf({ environment: "development", userId: "perpetuum", treasury: this.treasury.party("treasury") })
  }

  get ledger() {
    return this.reached.ledger
  }

  get ownerParty(): string {
    return this.owner.party("owner")
  }

  readonly allocate = (of: Key, hint: string) => this.ledger.allocateParty(of.publicKey, hint, (hash) => Effect.sync(() => of.sign(hash)))

  /** Opens both parties, and gives the owner these amounts. */
  readonly begin = (...amounts: ReadonlyArray<number>) =>
    Effect.gen(this, function*() {
      yield* this.allocate(this.owner, "owner")
      yield* this.allocate(this.treasury, "treasury")
      for (const amount of amounts) yield* this.reached.faucet.give(this.ownerParty, amount)
    })

  readonly script = (script: Script) =>
    Effect.flatMap(
      this.reached.transport({ method: "POST", path: controls.script, body: script }),
      ({ body, status }) => status === 200 ? Effect.void : Effect.die(body)
    )

  readonly plan = (facts: Facts): PlannedCommand => plan(this.custody, facts)

  readonly account = () => this.plan({ step: "owner_account_acceptance", accountId: "acc_1", owner: this.ownerParty, isChange: false })
  readonly deposit = (step: "treasury_offer" | "owner_offer_acceptance" | "treasury_offer_withdrawal", amountAtoms: number, id = "dep_1") =>
    this.plan({ step, transferId: id, owner: this.ownerParty, amountAtoms })
  readonly withdrawal = (receiver: string, amountAtoms: number, transferId = "wdr_1") =>
    this.plan({ step: "treasury_withdrawal", transferId, receiver, amountAtoms })

  /** Prepares a command, and expects the result to match the plan. */
  readonly prepare = (planned: PlannedCommand, afterMs = 10 * minute) =>
    Effect.gen(this, function*() {
      const maxRecordTimeEpochMs = (yield* Clock.currentTimeMillis) + afterMs
      const preparation = yield* this.ledger.prepare(planned, maxRecordTimeEpochMs)
      return { ...preparation, planned, maxRecordTimeEpochMs, mismatch: check({ ...preparation, maxRecordTimeEpochMs }, planned) }
    })

  readonly keyOf = (planned: PlannedCommand): Key => planned.actAs === this.custody.treasury ? this.treasury : this.owner

  readonly execute = (
    { planned, ...preparation }: Preparation & { readonly planned: PlannedCommand },
    submissionId: string,
    deduplicateFromOffset: number,
    by = this.keyOf(planned)
  ) =>
    this.ledger.execute({
      preparedTransaction: preparation.preparedTransaction,
      scheme: preparation.scheme,
      signature: by.sign(preparation.hash),
      signedBy: by.fingerprint,
      party: planned.actAs,
      submissionId,
      userId: planned.userId,
      deduplicateFromOffset
    })

  readonly page = (beginExclusive: number, limit = 200): Effect.Effect<Page, LedgerError> =>
    this.ledger.completions({ userId: this.custody.userId, parties: [this.ownerParty, this.custody.treasury], beginExclusive, limit })

  /** The completions after an offset, once there are at least `count`. */
  readonly completed = (beginExclusive: number, count = 1): Effect.Effect<ReadonlyArray<Completion>, LedgerError> =>
    this.page(beginExclusive).pipe(
      Effect.map(({ completions }) => completions),
      // A completion follows its decision after a moment; asking again is what moves a clock that nothing else moves.
      Effect.repeat({ until: (completions) => completions.length >= count, times: 5_000 })
    )

  /** Prepares, executes, and waits for the completion. */
  readonly run = (planned: PlannedCommand) =>
    Effect.gen(this, function*() {
      const { offset } = yield* this.ledger.end
      const preparation = yield* this.prepare(planned)
      expect(preparation.mismatch).not.toBeInstanceOf(Mismatch)
      yield* this.execute(preparation, "first", offset)
      const [completion] = yield* this.completed(offset)
      return { preparation, offset, completion: completion! }
    })

  readonly worth = (party: string) => Effect.map(this.ledger.holdings(party), ({ atoms }) => Number(atoms))
}

const failureOf = <A, R>(effect: Effect.Effect<A, LedgerError, R>) =>
  Effect.map(Effect.either(effect), (result) => {
    if (Either.isRight(result)) return "none"
    const { _tag } = result.left
    return "code" in result.left && result.left.code !== undefined ? `${_tag} ${result.left.code}` : _tag
  })

const codeOf = ({ outcome }: Completion): string => outcome._tag === "Accepted" ? "accepted" : outcome.code

/** Registers the suite. `make` gives an empty ledger, and releases it when the scope closes. */
export const ledgerContract = (name: string, make: Effect.Effect<Reached, unknown, Scope.Scope>, clock?: Clock.Clock): void => {
  const over = (sentence: string, body: (scene: Scene) => Effect.Effect<void, unknown>) =>
    test(sentence, () => {
      const effect = Effect.scoped(Effect.flatMap(make, (reached) => body(new Scene(reached, sentence))))
      return Effect.runPromise(clock === undefined ? effect : Effect.withClock(effect, clock))
    })

  describe(name, () => {
    transfers(over)
    refusals(over)
    times(over)
    answersThatFail(over)
    completionsThatDiffer(over)
    preparationsThatLie(over)
  })
}

type Over = (sentence: string, body: (scene: Scene) => Effect.Effect<void, unknown>) => void

const transfers = (over: Over): void => {
  over("tells who executes, and allocates the same party for the same key and name", (scene) =>
    Effect.gen(function*() {
      expect(yield* scene.ledger.participantId).toMatch(/^PAR::development::1220/)
      const { partyId } = yield* scene.allocate(scene.owner, "owner")
      expect(partyId).toBe(scene.ownerParty)
      expect(yield* scene.allocate(scene.owner, "owner")).toStrictEqual({ partyId })
      const stranger = key("stranger")
      const signedByAnother = scene.ledger.allocateParty(scene.treasury.publicKey, "treasury",
        (hash) => Effect.sync(() => stranger.sign(hash)))
      expect(yield* failureOf(signedByAnother)).toBe("Refused INVALID_ARGUMENT")
    }))

  over("takes a first deposit in three steps, each of them as planned, and keeps the change with the owner",
    (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(7 * usdc, 2 * usdc, 1)
        const before = yield* scene.ledger.end
        for (
          const planned of [scene.account(), scene.deposit("treasury_offer", 8 * usdc), scene.deposit("owner_offer_acceptance", 8 * usdc)]
        ) {
          const { completion, offset, preparation } = yield* scene.run(planned)
          expect(preparation.scheme).toBe(3)
          expect(codeOf(completion)).toBe("accepted")
          expect(completion).toMatchObject({ commandId: planned.commandId, submissionId: "first", actAs: [planned.actAs] })
          expect(completion.offset).toBeGreaterThan(offset)
          expect(yield* scene.ledger.completionByHash(preparation.hash)).toStrictEqual(completion)
        }
        expect(yield* scene.worth(scene.custody.treasury)).toBe(8 * usdc)
        expect(yield* scene.worth(scene.ownerParty)).toBe(usdc + 1)
        const { completions, throughOffset } = yield* scene.page(before.offset)
        expect(completions.map(({ offset }) => offset)).toStrictEqual(completions.map(({ offset }) => offset).toSorted((a, b) => a - b))
        expect(throughOffset).toBe((yield* scene.ledger.end).offset)
      }))

  over("pays a withdrawal out to another party", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin()
      const friend = key(`${scene.ownerParty} friend`)
      const { partyId } = yield* scene.allocate(friend, "friend")
      yield* scene.reached.faucet.give(scene.custody.treasury, 5 * usdc)
      const { completion } = yield* scene.run(scene.withdrawal(partyId, 3 * usdc))
      expect(codeOf(completion)).toBe("accepted")
      expect(yield* scene.worth(partyId)).toBe(3 * usdc)
      expect(yield* scene.worth(scene.custody.treasury)).toBe(2 * usdc)
      expect(yield* failureOf(scene.prepare(scene.withdrawal(key("nobody").party("nobody"), 1)))).toBe("Refused UNKNOWN_INFORMEES")
      expect(yield* failureOf(scene.prepare(scene.withdrawal(partyId, 3 * usdc)))).toBe("Refused CONTRACT_NOT_FOUND")
    }))

  over("withdraws an offer, which nobody can accept any more", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.run(scene.deposit("treasury_offer", usdc))
      const accepting = yield* scene.prepare(scene.deposit("owner_offer_acceptance", usdc))
      const { completion } = yield* scene.run(scene.deposit("treasury_offer_withdrawal", usdc))
      expect(codeOf(completion)).toBe("accepted")
      const { offset } = yield* scene.ledger.end
      expect(yield* failureOf(scene.execute(accepting, "late", offset))).toBe("Refused CONTRACT_NOT_FOUND")
      expect(yield* failureOf(scene.prepare(scene.deposit("owner_offer_acceptance", usdc)))).toBe("Refused CONTRACT_NOT_FOUND")
      expect(yield* scene.worth(scene.ownerParty)).toBe(5 * usdc)
    }))

  over("tells completions in pages without a gap, and the record time where there are no more", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(9 * usdc)
      const { offset } = yield* scene.ledger.end
      for (const id of ["dep_a", "dep_b", "dep_c"]) yield* scene.run(scene.deposit("treasury_offer", usdc, id))
      const first = yield* scene.page(offset, 2)
      expect(first.completions).toHaveLength(2)
      expect(first.throughOffset).toBe(first.completions[1]!.offset)
      expect(first.recordTimeEpochMs).toBe(undefined)
      const second = yield* scene.page(first.throughOffset, 2)
      expect(second.completions).toHaveLength(1)
      expect(second.recordTimeEpochMs).toBeGreaterThanOrEqual(second.completions[0]!.recordTimeEpochMs!)
      expect(yield* failureOf(scene.page(1_000_000))).toBe("Refused OFFSET_AFTER_LEDGER_END")
    }))
}

const refusals = (over: Over): void => {
  over("refuses a command that succeeded since the given offset, and has it as the first one's", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      const { completion, offset, preparation } = yield* scene.run(scene.deposit("treasury_offer", usdc))
      expect(yield* failureOf(scene.execute(preparation, "again", offset))).toBe(`Unknown ${codes.duplicate}`)
      expect(yield* failureOf(scene.execute(preparation, "beyond", 1_000_000))).toBe(`Unknown ${codes.period}`)
      expect((yield* scene.page(offset)).completions).toStrictEqual([completion])
    }))

  over("refuses a second submission while the first is undecided", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 86_400_000 } }])
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account())
      yield* scene.execute(preparation, "first", offset)
      expect(yield* failureOf(scene.execute(preparation, "second", offset))).toBe(`Unknown ${codes.inFlight}`)
    }))

  over("refuses what spends a holding that another submission spends, while that is undecided", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.reached.faucet.give(scene.custody.treasury, 5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 86_400_000 } }])
      const { offset } = yield* scene.ledger.end
      const first = yield* scene.prepare(scene.withdrawal(scene.ownerParty, usdc))
      const second = yield* scene.prepare(scene.withdrawal(scene.ownerParty, usdc, "wdr_2"))
      yield* scene.execute(first, "first", offset)
      expect(yield* failureOf(scene.execute(second, "second", offset))).toBe("Refused LOCAL_VERDICT_LOCKED_CONTRACTS")
      expect(yield* failureOf(scene.execute(first, "third", offset))).toBe(`Unknown ${codes.inFlight}`)
    }))

  over("takes nothing that the acting party's key has not signed, or that is not what the command comes to",
    (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(5 * usdc)
        const { offset } = yield* scene.ledger.end
        const preparation = yield* scene.prepare(scene.deposit("treasury_offer", usdc))
        expect(yield* failureOf(scene.execute(preparation, "forged", offset, scene.owner))).toBe("Refused INVALID_ARGUMENT")
        for (const part of ["party", "synchronizer", "template", "choice", "hidden_node", "extra_input", "second_root"] as const) {
          yield* scene.script([{ on: "prepare", skip: 0, times: 1, fault: { name: "other_bytes", part } }])
          const other = yield* scene.prepare(scene.deposit("treasury_offer", usdc))
          expect(yield* failureOf(scene.execute(other, "other", offset))).toMatch(/^Refused (?:INVALID_ARGUMENT|UNKNOWN_INFORMEES)$/)
        }
        expect((yield* scene.page(offset)).completions).toStrictEqual([])
      }))
}

const times = (over: Over): void => {
  over("rejects what is put in order after its maximum record time, and shows that the time has passed", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account(), -10 * minute)
      yield* scene.execute(preparation, "late", offset)
      const [completion] = yield* scene.completed(offset)
      expect(codeOf(completion!)).toBe("NOT_SEQUENCED_TIMEOUT")
      const { recordTimeEpochMs } = yield* scene.page(offset)
      expect(recordTimeEpochMs).toBeGreaterThan(preparation.maxRecordTimeEpochMs)
      // The same command within its time is another submission, and no duplicate.
      expect(codeOf((yield* scene.run(scene.account())).completion)).toBe("accepted")
    }))

  for (const [when, expected] of [["before", "NOT_SEQUENCED_TIMEOUT"], ["at", "accepted"], ["after", "accepted"]] as const) {
    over(`lets the maximum pass ${when} a submission is in order: ${expected}, and no scan before it shows the time as passed`, (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(5 * usdc)
        yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "pass_maximum", when } }])
        const { offset } = yield* scene.ledger.end
        const preparation = yield* scene.prepare(scene.account(), 300)
        yield* scene.execute(preparation, "first", offset)
        const page = yield* scene.page(offset).pipe(
          Effect.tap(({ completions, recordTimeEpochMs }) =>
            Effect.sync(() => {
              if (completions.length === 0)
                expect(recordTimeEpochMs).toBeLessThanOrEqual(preparation.maxRecordTimeEpochMs)
            })
          ),
          Effect.repeat({ until: ({ completions }) => completions.length > 0, times: 100_000 })
        )
        expect(page.completions.map(codeOf)).toStrictEqual([expected])
      }))
  }
}

const answersThatFail = (over: Over): void => {
  over("loses a request before it is taken: nothing came of it, and it can be sent again", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "drop_request" } }])
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account())
      expect(yield* failureOf(scene.execute(preparation, "first", offset))).toBe("Unknown")
      expect(yield* scene.ledger.completionByHash(preparation.hash)).toBe(undefined)
      yield* scene.execute(preparation, "second", offset)
      const [completion] = yield* scene.completed(offset)
      expect(completion).toMatchObject({ submissionId: "second", outcome: { _tag: "Accepted" } })
    }))

  over("loses an answer after the request was taken: it is decided all the same", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "drop_answer" } }])
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account())
      expect(yield* failureOf(scene.execute(preparation, "first", offset))).toBe("Unknown")
      const [completion] = yield* scene.completed(offset)
      expect(completion).toMatchObject({ submissionId: "first", outcome: { _tag: "Accepted" } })
    }))

  over("answers late, refuses for certain, and refuses without a definite answer whether it was taken or not",
    (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(5 * usdc)
        yield* scene.script([
          { on: "ledger_end", skip: 0, times: 1, fault: { name: "answer_late", afterMs: 5 } },
          { on: "execute", skip: 0, times: 1, fault: { name: "refuse", code: "NO_SYNCHRONIZER", cause: "none is connected" } },
          { on: "execute", skip: 0, times: 1, fault: { name: "in_flight" } },
          { on: "execute", skip: 0, times: 1, fault: { name: "refuse_indefinite", isDone: false } },
          { on: "execute", skip: 0, times: 1, fault: { name: "refuse_indefinite", isDone: true } }
        ])
        const { offset } = yield* scene.ledger.end
        const preparation = yield* scene.prepare(scene.account())
        expect(yield* failureOf(scene.execute(preparation, "1", offset))).toBe("Refused NO_SYNCHRONIZER")
        expect(yield* failureOf(scene.execute(preparation, "2", offset))).toBe(`Unknown ${codes.inFlight}`)
        expect(yield* failureOf(scene.execute(preparation, "3", offset))).toBe("Unknown REQUEST_TIME_OUT")
        expect((yield* scene.page(offset)).completions).toStrictEqual([])
        expect(yield* failureOf(scene.execute(preparation, "4", offset))).toBe("Unknown REQUEST_TIME_OUT")
        expect(yield* scene.completed(offset)).toMatchObject([{ submissionId: "4", outcome: { _tag: "Accepted" } }])
      }))

  for (
    const [by, code, isRight] of [["load", "PARTICIPANT_BACKPRESSURE", false], ["right", "PERMISSION_DENIED", true], ["token",
      "UNAUTHENTICATED", true]] as const
  ) {
    over(`turns an execution away for its ${by}, which blames nothing that was submitted`, (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(5 * usdc)
        yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "refuse_for_itself", by } }])
        const { offset } = yield* scene.ledger.end
        const preparation = yield* scene.prepare(scene.account())
        const failure = yield* Effect.flip(scene.execute(preparation, "1", offset))
        expect(failure).toMatchObject({ _tag: "Refused", code, isOfLedger: true, lacksRight: isRight })
        yield* scene.execute(preparation, "2", offset)
        expect(yield* scene.completed(offset)).toMatchObject([{ submissionId: "2", outcome: { _tag: "Accepted" } }])
      }))
  }

  over("starts again without an answer, and has lost nothing", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      const { completion, offset } = yield* scene.run(scene.deposit("treasury_offer", usdc))
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "restart" } }])
      const preparation = yield* scene.prepare(scene.deposit("owner_offer_acceptance", usdc))
      expect(yield* failureOf(scene.execute(preparation, "first", offset))).toBe("Unknown")
      expect((yield* scene.page(offset)).completions).toStrictEqual([completion])
      yield* scene.execute(preparation, "second", offset)
      expect((yield* scene.completed(offset, 2)).map(codeOf)).toStrictEqual(["accepted", "accepted"])
      expect(yield* scene.worth(scene.custody.treasury)).toBe(usdc)
    }))
}

const completionsThatDiffer = (over: Over): void => {
  over("tells a completion twice, the second time of another update, and moves nothing twice", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.run(scene.deposit("treasury_offer", usdc))
      yield* scene.script([{ on: "execute", step: "owner_offer_acceptance", skip: 0, times: 1, fault: { name: "complete_twice" } }])
      const { offset } = yield* scene.run(scene.deposit("owner_offer_acceptance", usdc))
      const told = yield* scene.completed(offset, 2)
      expect(told.map(codeOf)).toStrictEqual(["accepted", "accepted"])
      expect(new Set(told.map(({ outcome }) => outcome._tag === "Accepted" && outcome.updateId)).size).toBe(2)
      expect(yield* scene.worth(scene.custody.treasury)).toBe(usdc)
    }))

  over("tells a completion of a command that nobody gave", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "complete_unknown" } }])
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account())
      yield* scene.execute(preparation, "first", offset)
      const told = yield* scene.completed(offset, 2)
      expect(told.map(({ commandId }) => commandId === preparation.planned.commandId)).toStrictEqual([false, true])
    }))

  over("completes minutes later, and shows no record time behind it until then", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "complete_after", afterMs: 5 * minute } }])
      const { offset } = yield* scene.ledger.end
      const preparation = yield* scene.prepare(scene.account(), 1_000)
      yield* scene.execute(preparation, "first", offset)
      const { completions, recordTimeEpochMs } = yield* scene.page(offset)
      expect(completions).toStrictEqual([])
      expect(recordTimeEpochMs).toBeLessThanOrEqual(preparation.maxRecordTimeEpochMs)
    }))

  for (const by of ["answer", "completion"] as const) {
    over(`refuses a resubmission for certain because the first one won, by its ${by}`, (scene) =>
      Effect.gen(function*() {
        yield* scene.begin(5 * usdc)
        yield* scene.script([{ on: "execute", skip: 0, times: 1, fault: { name: "refuse_since_first_won", by } }])
        const { offset, preparation } = yield* scene.run(scene.account())
        const failure = yield* failureOf(scene.execute(preparation, "second", offset))
        expect(failure).toBe(by === "answer" ? "Refused LOCAL_VERDICT_INACTIVE_CONTRACTS" : "none")
        const told = yield* scene.completed(offset, by === "answer" ? 1 : 2)
        expect(told.map(codeOf)).toStrictEqual(by === "answer" ? ["accepted"] : ["accepted", "LOCAL_VERDICT_INACTIVE_CONTRACTS"])
        expect((yield* scene.ledger.completionByHash(preparation.hash))?.submissionId).toBe("first")
      }))
  }

  over("prunes completions: neither can they be read, nor does deduplication reach behind them", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      const { offset, preparation } = yield* scene.run(scene.account())
      yield* scene.script([{ on: "completions", skip: 0, times: 1, fault: { name: "prune" } }])
      expect(yield* failureOf(scene.page(offset))).toBe(`Refused ${codes.pruned}`)
      expect(yield* failureOf(scene.execute(preparation, "second", offset))).toBe(`Unknown ${codes.period}`)
      const { offset: end } = yield* scene.ledger.end
      expect((yield* scene.page(end)).completions).toStrictEqual([])
    }))
}

const preparationsThatLie = (over: Over): void => {
  over("gives another hash than the bytes have", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc)
      yield* scene.script([{ on: "prepare", skip: 0, times: 1, fault: { name: "other_hash" } }])
      expect((yield* scene.prepare(scene.account())).mismatch).toMatchObject({ _tag: "Mismatch", what: "hash" })
    }))

  const parts = ["party", "command", "synchronizer", "maximum", "template", "choice", "amount", "receiver", "second_root", "hidden_node",
    "extra_input"] as const
  over("gives other bytes with the hash that they have, at every step", (scene) =>
    Effect.gen(function*() {
      yield* scene.begin(5 * usdc, 2 * usdc)
      yield* scene.reached.faucet.give(scene.custody.treasury, 5 * usdc)
      yield* scene.run(scene.deposit("treasury_offer", 6 * usdc))
      const steps = [
        scene.account(),
        scene.deposit("treasury_offer", 6 * usdc, "dep_2"),
        scene.deposit("owner_offer_acceptance", 6 * usdc),
        scene.deposit("treasury_offer_withdrawal", 6 * usdc),
        scene.withdrawal(scene.ownerParty, usdc)
      ]
      for (const planned of steps) {
        for (const part of parts) {
          // An account contract contains no amount.
          if (part === "amount" && planned.facts.step === "owner_account_acceptance") continue
          yield* scene.script([{ on: "prepare", step: planned.facts.step, skip: 0, times: 1, fault: { name: "other_bytes", part } }])
          const { mismatch } = yield* scene.prepare(planned)
          expect(mismatch, `${part} of ${planned.facts.step}`).toBeInstanceOf(Mismatch)
          expect(mismatch, `${part} of ${planned.facts.step}`).not.toMatchObject({ what: "hash" })
        }
        expect((yield* scene.prepare(planned)).mismatch).not.toBeInstanceOf(Mismatch)
      }
    }))
}
