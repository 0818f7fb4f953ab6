/**
 * The development ledger under arbitrary input: in any order and at any time, no money is made or lost, a command takes effect once,
 * completions have no gap, record time never falls below what was shown, and the stored inputs lead to the same ledger again.
 */
import { Effect } from "effect"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { controls, DevelopmentLedger } from "../../../src/ledger/development/DevelopmentLedger.js"
import { type Script, Play } from "../../../src/ledger/development/Faults.js"
import * as InMemory from "../../../src/ledger/development/InMemory.js"
import { custody as custodyOf, type Setting, setting } from "../../../src/ledger/development/Setting.js"
import { empty, type Input, keep, restore } from "../../../src/ledger/development/State.js"
import { inMemory } from "../../../src/ledger/development/Store.js"
import { Machine } from "../../../src/ledger/development/Machine.js"
import * as JsonLedger from "../../../src/ledger/JsonLedger.js"
import type { Preparation } from "../../../src/ledger/Ledger.js"
import { plan, type PlannedCommand, type Step, templates } from "../../../src/ledger/Planned.js"
import * as Shapes from "../../../src/ledger/Shapes.js"
import * as Templates from "../../../src/ledger/Templates.js"
import { Lost, type Transport } from "../../../src/ledger/Transport.js"
import * as SimRandom from "../../../sim/world/SimRandom.js"
import { key } from "../Keys.js"

const owner = key("owner")
const treasury = key("treasury")
const ownerParty = owner.party("owner")
const custody = custodyOf({ environment: "development", userId: "perpetuum", treasury: treasury.party("treasury") })
const given = 100

/** A request for a party's contracts at an offset, in pages of two. */
const contractsOf = (party: string, activeAtOffset: number, pageToken: string | null = null) => {
  const [method, path] = Shapes.routes.active_contracts
  const templateId = Templates.templateText(templates(custody).holding)
  const cumulative = [{ identifierFilter: { TemplateFilter: { value: { templateId } } } }]
  return {
    method,
    path,
    body: { eventFormat: { filtersByParty: { [party]: { cumulative } }, verbose: true }, activeAtOffset, maxPageSize: 2, pageToken }
  }
}

/** One action on the ledger. */
type Action =
  | { readonly do: "wait"; readonly forMs: number }
  | { readonly do: "prepare"; readonly step: Step; readonly transfer: number; readonly amount: number; readonly validMs: number }
  | { readonly do: "execute"; readonly which: number; readonly sinceBegin: boolean }
  | { readonly do: "script"; readonly script: Script }

const rule = fc.constantFrom<Script[number]["fault"]>(
  { name: "drop_request" },
  { name: "drop_answer" },
  { name: "complete_twice" },
  { name: "complete_after", afterMs: 20 },
  { name: "complete_unknown" },
  { name: "refuse", code: "A_CODE", cause: "for no reason" },
  { name: "refuse_for_itself", by: "load" },
  { name: "refuse_since_first_won", by: "answer" },
  { name: "refuse_since_first_won", by: "completion" },
  { name: "refuse_indefinite", isDone: true },
  { name: "refuse_indefinite", isDone: false },
  { name: "in_flight" },
  { name: "restart" },
  { name: "pass_maximum", when: "before" },
  { name: "pass_maximum", when: "at" },
  { name: "pass_maximum", when: "after" },
  { name: "prune" }
)

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), forMs: fc.integer({ min: 1, max: 1_500 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("prepare" as const),
      step: fc.constantFrom<Step>("owner_account_acceptance", "treasury_offer", "owner_offer_acceptance", "treasury_offer_withdrawal",
        "treasury_withdrawal"),
      transfer: fc.nat({ max: 2 }),
      amount: fc.integer({ min: 1, max: 60 }),
      validMs: fc.integer({ min: 1, max: 400 })
    })
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("execute" as const), which: fc.nat({ max: 20 }), sinceBegin: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("script" as const),
      script: fc.tuple(rule).map(([fault]) => [{ on: "execute" as const, skip: 0, times: 1, fault }])
    })
  }
)

/** A ledger, its parties, and what has been observed of it. */
class Run {
  epochMs = 1_750_000_000_000
  readonly prepared: Array<Preparation & { readonly planned: PlannedCommand }> = []
  readonly inputs: Array<Input> = []
  readonly ledger: DevelopmentLedger
  readonly port
  private readonly bytes = SimRandom.make("machine").bytes
  private shownRecordTimeMs = 0
  private readonly acceptances = new Map<string, Set<string>>()
  /** The contracts observed for each party, by offset. */
  private readonly active = new Map<number, ReadonlyArray<unknown>>()

  constructor() {
    const store = inMemory()
    this.ledger = new DevelopmentLedger(setting, {
      ...store,
      append: (input) => {
        this.inputs.push(input)
        store.append(input)
      }
    })
    const transport: Transport = (question) =>
      Effect.suspend(() => {
        const handled = this.ledger.handle(question, { epochMs: this.epochMs, bytes: this.bytes })
        return handled.reply === undefined
          ? Effect.fail(new Lost("no answer"))
          : Effect.succeed({ status: handled.reply.status, body: JSON.parse(JSON.stringify(handled.reply.body)) as unknown })
      })
    this.port = Effect.runSync(JsonLedger.make(transport, setting))
    for (const [of, hint] of [[owner, "owner"], [treasury, "treasury"]] as const) {
      Effect.runSync(this.port.allocateParty(of.publicKey, hint, (hash) => Effect.succeed(of.sign(hash))))
      this.control(controls.faucet, { party: of.party(hint), amountAtoms: given })
    }
  }

  /** The contracts of both parties at an offset, or the error code if refused. */
  private activeAt(activeAtOffset: number): ReadonlyArray<unknown> {
    return [ownerParty, custody.treasury].flatMap((party) => {
      const found: Array<unknown> = []
      let pageToken: string | null = null
      do {
        const question = contractsOf(party, activeAtOffset, pageToken)
        const { reply } = this.ledger.handle(question, { epochMs: this.epochMs, bytes: this.bytes })
        if (reply!.status !== 200) return [(reply!.body as { readonly code: string }).code]
        const page = reply!.body as { readonly activeContracts: ReadonlyArray<unknown>; readonly nextPageToken: string | null }
        found.push(...page.activeContracts)
        pageToken = page.nextPageToken
      } while (pageToken !== null)
      return found
    })
  }

  /** What was active at an offset is reported unchanged until it is pruned, whatever happened since. */
  remembers(): void {
    const machine = new Machine(setting, empty())
    for (const input of this.inputs) machine.apply(input)
    const { knownFromOffset, offset } = machine.state
    for (const [at, before] of this.active) {
      const pruned = "PARTICIPANT_PRUNED_DATA_ACCESSED"
      expect(this.activeAt(at)).toStrictEqual(at < knownFromOffset ? [pruned, pruned] : before)
    }
    expect(this.activeAt(offset + 1)).toStrictEqual(["OFFSET_AFTER_LEDGER_END", "OFFSET_AFTER_LEDGER_END"])
  }

  control(path: string, body: unknown): void {
    const { reply } = this.ledger.handle({ method: "POST", path, body }, { epochMs: this.epochMs, bytes: this.bytes })
    expect(reply?.status).toBe(200)
  }

  private planned({ amount, step, transfer }: Extract<Action, { readonly do: "prepare" }>): PlannedCommand {
    const transferId = `transfer_${transfer}`
    if (step === "owner_account_acceptance") return plan(custody, { step, accountId: "acc_1", owner: ownerParty, isChange: false })
    return step === "treasury_withdrawal"
      ? plan(custody, { step, transferId, receiver: ownerParty, amountAtoms: amount })
      : plan(custody, { step, transferId, owner: ownerParty, amountAtoms: amount })
  }

  act(one: Action): void {
    this.epochMs++
    switch (one.do) {
      case "wait":
        this.epochMs += one.forMs
        return
      case "script":
        return this.control(controls.script, one.script)
      case "prepare": {
        const planned = this.planned(one)
        const result = Effect.runSync(Effect.option(this.port.prepare(planned, this.epochMs + one.validMs)))
        if (result._tag === "Some") this.prepared.push({ ...result.value, planned })
        return
      }
      case "execute": {
        const chosen = this.prepared[one.which % Math.max(1, this.prepared.length)]
        if (chosen === undefined) return
        const of = chosen.planned.actAs === ownerParty ? owner : treasury
        Effect.runSync(Effect.ignore(this.port.execute({
          preparedTransaction: chosen.preparedTransaction,
          scheme: chosen.scheme,
          signature: of.sign(chosen.hash),
          signedBy: of.fingerprint,
          party: chosen.planned.actAs,
          submissionId: `submission_${this.epochMs}`,
          userId: custody.userId,
          deduplicateFromOffset: one.sinceBegin ? 0 : this.ledger.offset
        })))
      }
    }
  }

  /** Checks what must hold of the ledger at any time. */
  observe(): void {
    const { port } = this
    const held = [ownerParty, custody.treasury].map((party) => Effect.runSync(port.holdings(party)).atoms)
    expect(held.reduce((sum, atoms) => sum + atoms, 0n)).toBe(BigInt(2 * given))
    if (!this.active.has(this.ledger.offset)) this.active.set(this.ledger.offset, this.activeAt(this.ledger.offset))
    const query = { userId: custody.userId, parties: [ownerParty, custody.treasury], beginExclusive: 0, limit: 200 }
    const page = Effect.runSync(Effect.option(port.completions(query)))
    // Pruned completions are not reported any more.
    if (page._tag === "None") return
    const { completions, recordTimeEpochMs, throughOffset } = page.value
    expect(recordTimeEpochMs).toBeGreaterThanOrEqual(this.shownRecordTimeMs)
    for (const { commandId, offset, outcome, recordTimeEpochMs: at, submissionId } of completions) {
      expect(offset).toBeLessThanOrEqual(throughOffset)
      if (outcome._tag === "Rejected" || submissionId === "") continue
      const known = this.acceptances.get(commandId) ?? new Set()
      // A completion reported for the first time has a record time no earlier than any shown before.
      if (!known.has(outcome.updateId) && known.size === 0) expect(at).toBeGreaterThanOrEqual(this.shownRecordTimeMs)
      this.acceptances.set(commandId, known.add(outcome.updateId))
    }
    this.shownRecordTimeMs = recordTimeEpochMs!
  }

  /** The stored inputs lead to the same state, with or without a whole state stored on the way. */
  replay(): void {
    const one = new Machine(setting, empty())
    let other = new Machine(setting, empty())
    this.inputs.forEach((input, index) => {
      one.apply(input)
      other.apply(input)
      if (index % 3 === 0) other = new Machine(setting, restore(JSON.parse(JSON.stringify(keep(other.state))) as ReturnType<typeof keep>))
    })
    expect(keep(other.state)).toStrictEqual(keep(one.state))
    expect(one.state.offset).toBe(this.ledger.offset)
  }
}

test("whatever happens, money is neither made nor lost, record times are kept, and inputs come to the same again", () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 1, maxLength: 40 }), (actions) => {
      const run = new Run()
      for (const one of actions) {
        run.act(one)
        run.observe()
      }
      run.remembers()
      run.replay()
    }),
    { numRuns: 60 }
  )
})

describe("what is kept is bounded", () => {
  const bounded = (most: Partial<Setting["most"]>) => {
    const small = { ...setting, most: { ...setting.most, ...most } }
    const ledger = new DevelopmentLedger(small, inMemory())
    const random = SimRandom.make("bounds")
    const transport = InMemory.transport(ledger, (count) => random.bytes(count))
    return { ledger, transport, port: Effect.runSync(JsonLedger.make(transport, small)) }
  }
  const allocate = (port: ReturnType<typeof bounded>["port"], of = owner, hint = "owner") =>
    Effect.runPromise(Effect.either(port.allocateParty(of.publicKey, hint, (hash) => Effect.succeed(of.sign(hash)))))

  test("parties, with a clear answer to one more", async () => {
    const { port } = bounded({ parties: 1 })
    expect(await allocate(port)).toMatchObject({ _tag: "Right" })
    expect(await allocate(port)).toMatchObject({ _tag: "Right" })
    expect(await allocate(port, treasury, "treasury")).toMatchObject({
      _tag: "Left",
      left: { _tag: "Refused", code: "PARTICIPANT_BACKPRESSURE" }
    })
  })

  test("contracts, with a clear answer to one more", async () => {
    const { port, transport } = bounded({ contracts: 1 })
    await allocate(port)
    const mint = () => Effect.runPromise(transport({ method: "POST", path: controls.faucet, body: { party: ownerParty, amountAtoms: 1 } }))
    expect(await mint()).toMatchObject({ status: 200 })
    expect(await mint()).toMatchObject({ status: 503, body: { code: "PARTICIPANT_BACKPRESSURE" } })
  })

  test("completions: the oldest are pruned", async () => {
    const machine = new Machine({ ...setting, most: { ...setting.most, completions: 2 } }, empty())
    for (const number of [1, 2, 3, 4]) {
      machine.apply({ _tag: "Invented", atMicros: number * 1_000, userId: "perpetuum", party: ownerParty, commandId: `cmd_${number}` })
    }
    expect(machine.state.completions.map(({ commandId }) => commandId)).toStrictEqual(["cmd_3", "cmd_4"])
    expect(machine.state.prunedThrough).toBe(2)
  })

  test("contracts that have ended: what was active before the oldest of them went is told no more", async () => {
    const { ledger, port, transport } = bounded({ ended: 1 })
    const statusAt = async (offset: number) => (await Effect.runPromise(transport(contractsOf(custody.treasury, offset)))).status
    await allocate(port)
    await allocate(port, treasury, "treasury")
    const execute = (step: "treasury_offer" | "treasury_offer_withdrawal", transferId: string) =>
      Effect.runPromise(Effect.gen(function*() {
        const planned = plan(custody, { step, transferId, owner: ownerParty, amountAtoms: 1 })
        const { hash, preparedTransaction, scheme } = yield* port.prepare(planned, 1_900_000_000_000)
        const to = { party: custody.treasury, userId: custody.userId, submissionId: `${step}_${transferId}`, deduplicateFromOffset: 0 }
        const before = ledger.offset
        yield* port.execute({ preparedTransaction, scheme, signature: treasury.sign(hash), signedBy: treasury.fingerprint, ...to })
        while ((yield* port.end).offset === before) yield* Effect.sleep(2)
        return ledger.offset
      }))
    await execute("treasury_offer", "one")
    const first = await execute("treasury_offer_withdrawal", "one")
    await execute("treasury_offer", "two")
    expect(await statusAt(0)).toBe(200)
    await execute("treasury_offer_withdrawal", "two")
    expect([await statusAt(first - 1), await statusAt(first)]).toStrictEqual([400, 200])
  })

  test("submissions that are undecided, with a clear answer to one more", async () => {
    const { port, transport } = bounded({ undecided: 1 })
    await allocate(port)
    await allocate(port, treasury, "treasury")
    await Effect.runPromise(transport({
      method: "POST",
      path: controls.script,
      body: [{ on: "execute", times: 9, fault: { name: "complete_after", afterMs: 86_400_000 } }]
    }))
    const submit = (account: string) =>
      Effect.runPromise(Effect.either(Effect.gen(function*() {
        const planned = plan(custody, { step: "owner_account_acceptance", accountId: account, owner: ownerParty, isChange: false })
        const { hash, preparedTransaction, scheme } = yield* port.prepare(planned, 1_900_000_000_000)
        const signature = owner.sign(hash)
        const to = { party: ownerParty, userId: custody.userId, submissionId: account, deduplicateFromOffset: 0 }
        yield* port.execute({ preparedTransaction, scheme, signature, signedBy: owner.fingerprint, ...to })
      })))
    expect(await submit("acc_1")).toMatchObject({ _tag: "Right" })
    expect(await submit("acc_2")).toMatchObject({ _tag: "Left", left: { _tag: "Refused", code: "PARTICIPANT_BACKPRESSURE" } })
  })
})

describe("a script", () => {
  test("befalls the questions that it says, and then no more", () => {
    const play = new Play([
      { on: "execute", step: "treasury_offer", skip: 1, times: 2, fault: { name: "drop_answer" } },
      { on: "execute", skip: 0, times: 1, fault: { name: "refuse_since_first_won", by: "answer" } },
      { on: "ledger_end", skip: 0, times: 1, fault: { name: "drop_request" } }
    ])
    expect(play.next("execute", "treasury_offer", false)).toBe(undefined)
    expect(play.next("execute", "owner_offer_acceptance", false)).toBe(undefined)
    expect(play.next("execute", "owner_offer_acceptance", true)).toStrictEqual({ name: "refuse_since_first_won", by: "answer" })
    expect(play.next("execute", "treasury_offer", true)).toStrictEqual({ name: "drop_answer" })
    expect(play.left).toHaveLength(2)
    expect(play.next("execute", "treasury_offer", true)).toStrictEqual({ name: "drop_answer" })
    expect(play.next("execute", "treasury_offer", true)).toBe(undefined)
    expect(play.next("ledger_end", undefined, false)).toStrictEqual({ name: "drop_request" })
    expect(play.left).toStrictEqual([])
  })

  test("is refused where it says what cannot be, and shown where it is asked for", () => {
    const ledger = new DevelopmentLedger(setting, inMemory())
    const to = (method: "GET" | "POST", body?: unknown) =>
      ledger.handle({ method, path: controls.script, body }, { epochMs: 1, bytes: (count) => new Uint8Array(count) }).reply
    for (
      const body of [
        [{ on: "prepare", fault: { name: "complete_twice" } }],
        [{ on: "ledger_end", step: "treasury_offer", fault: { name: "drop_answer" } }],
        [{ on: "execute", fault: { name: "explode" } }],
        [{ on: "execute", fault: { name: "answer_late", afterMs: -1 } }],
        Array.from({ length: 1_001 }, () => ({ on: "execute", fault: { name: "drop_answer" } })),
        { on: "execute" }
      ]
    ) expect(to("POST", body)).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } })
    expect(to("POST", [{ on: "execute", fault: { name: "drop_answer" } }])).toMatchObject({ status: 200 })
    expect(to("GET")).toStrictEqual({ status: 200, body: [{ on: "execute", skip: 0, times: 1, fault: { name: "drop_answer" } }] })
  })
})
