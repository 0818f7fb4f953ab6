/** How many holdings a transaction spends when names are long: whatever is prepared fits, and a stated largest amount is correct. */
import { Clock, Effect, Either, Layer, Schema } from "effect"
import { describe, expect, test } from "vitest"
import { setting as plainSetting } from "../../src/ledger/development/Setting.js"
import { Faucet, faucet } from "../../src/ledger/development/Faucet.js"
import * as Holdings from "../../src/ledger/Holdings.js"
import { type Claims, codes, Ledger, type LedgerError, Refused } from "../../src/ledger/Ledger.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { type Facts, plan, templates } from "../../src/ledger/Planned.js"
import { check } from "../../src/ledger/prepared/Check.js"
import * as Prepared from "../../src/ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../../src/ledger/prepared/Wire.js"
import { ContractsResponse } from "../../src/ledger/Shapes.js"
import { templateText } from "../../src/ledger/Templates.js"
import type { Reply, Transport } from "../../src/ledger/Transport.js"
import * as SimLedger from "../../sim/world/SimLedger.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import { key } from "./Keys.js"

const usdc = 1_000_000
const fingerprint = `1220${"0".repeat(64)}`
const named = (length: number): string => `${"n".repeat(length - fingerprint.length - 2)}::${fingerprint}`
const nobody: Claims = { asked: new Set(), underWay: new Set() }
const untilEpochMs = 600_000

/** The answer of a participant without a limit of its own, where the development ledger refuses what is too long. */
const long = (reply: Reply): Reply => {
  const bytes = /^The transaction has (\d+) bytes/.exec((reply.body as { readonly cause?: string }).cause ?? "")?.[1]
  if (bytes === undefined) return reply
  const body = {
    preparedTransaction: Buffer.alloc(Number(bytes)).toString("base64"),
    preparedTransactionHash: Buffer.alloc(32).toString("base64"),
    hashingSchemeVersion: "HASHING_SCHEME_VERSION_V3"
  }
  return { status: 200, body }
}

const refusedAsLong: Reply = {
  status: 400,
  body: { code: "INVALID_ARGUMENT", cause: "no", context: {}, errorCategory: 8, definiteAnswer: true }
}

/** A ledger whose asset's administrator has a name of a given length, and transactions prepared on it. */
class Scene {
  readonly setting
  readonly treasury = key("treasury")
  readonly owner = key("owner")
  private readonly made
  private readonly transport: Transport
  ownersName = "o".repeat(185)
  prepared = 0
  /** How many holdings the participant accepts besides a transaction's first one. */
  mostOthers = Infinity

  constructor(adminLength: number, answersLong = false) {
    this.setting = { ...plainSetting, token: { ...plainSetting.token, admin: named(adminLength) } }
    const { transport } = SimLedger.make(SimRandom.make("holdings"), [], this.setting)
    this.transport = transport
    const counted: Transport = (question) => {
      if (question.path.endsWith("/prepare")) this.prepared++
      const others = /"others":\[([^\]]*)\]/.exec(JSON.stringify(question.body ?? ""))?.[1]?.match(/"[^"]+"/g)?.length ?? 0
      if (question.path.endsWith("/prepare") && others > this.mostOthers) return Effect.succeed(refusedAsLong)
      return answersLong ? Effect.map(transport(question), long) : transport(question)
    }
    this.made = Layer.merge(Layer.effect(Ledger, JsonLedger.make(counted, this.setting)), Layer.succeed(Faucet, faucet(transport)))
  }

  party(of: "treasury" | "owner"): string {
    return this[of].party(of === "owner" ? this.ownersName : of)
  }

  get custody() {
    const { custodyPackageId, synchronizerId, token } = this.setting
    return { environment: "test", userId: "perpetuum", treasury: this.party("treasury"), custodyPackageId, synchronizerId, token }
  }

  run<A, E>(effect: Effect.Effect<A, E, Ledger | Faucet>): Promise<A> {
    return Effect.runPromise(Effect.orDie(Effect.provide(effect, this.made)) as Effect.Effect<A>)
  }

  /** Gives a party `pieces` holdings of equal amounts. */
  begin(by: "treasury" | "owner", pieces: number, atoms: number): Promise<void> {
    return this.run(Effect.gen(this, function*() {
      const { allocateParty } = yield* Ledger
      const { give } = yield* Faucet
      for (const name of ["treasury", "owner"] as const) {
        yield* allocateParty(this[name].publicKey, name === "owner" ? this.ownersName : name, (hash) =>
          Effect.sync(() => this[name].sign(hash)))
      }
      for (let piece = 0; piece < pieces; piece++) yield* give(this.party(by), atoms)
    }))
  }

  give(by: "treasury" | "owner", atoms: number): Promise<void> {
    return this.run(Effect.flatMap(Faucet, ({ give }) => give(this.party(by), atoms)))
  }

  /** The holdings that a withdrawal spends, or the error of its preparation. */
  withdraw(amountAtoms: number, claims: Claims = nobody): Promise<ReadonlyArray<string> | LedgerError> {
    return this.prepare({ step: "treasury_withdrawal", transferId: "wdr_1", receiver: this.party("owner"), amountAtoms }, claims)
  }

  /** The contracts that the acceptance of an offer spends, including the offer itself, or the error of its preparation. */
  async accept(transferId: string, amountAtoms: number): Promise<ReadonlyArray<string> | LedgerError> {
    const facts = { transferId, owner: this.party("owner"), amountAtoms }
    await this.execute({ step: "treasury_offer", ...facts })
    return this.prepare({ step: "owner_offer_acceptance", ...facts })
  }

  private execute(facts: Facts): Promise<void> {
    return this.run(Effect.gen(this, function*() {
      const ledger = yield* Ledger
      const planned = plan(this.custody, facts)
      const { offset } = yield* ledger.end
      const prepared = yield* ledger.prepare(planned, (yield* Clock.currentTimeMillis) + untilEpochMs)
      yield* ledger.execute({
        ...prepared,
        signature: this.treasury.sign(prepared.hash),
        signedBy: this.treasury.fingerprint,
        party: planned.actAs,
        submissionId: facts.step,
        userId: planned.userId,
        deduplicateFromOffset: offset
      })
      while ((yield* ledger.end).offset === offset) yield* Effect.sleep(2)
    }))
  }

  /** The treasury's holdings, oldest first. */
  async ids(): Promise<ReadonlyArray<string>> {
    const { offset } = await this.run(Effect.flatMap(Ledger, ({ end }) => end))
    const body = {
      eventFormat: {
        filtersByParty: {
          [this.party("treasury")]: {
            cumulative: [{ identifierFilter: { TemplateFilter: { value: { templateId: templateText(templates(this.custody).holding) } } } }]
          }
        },
        verbose: true
      },
      activeAtOffset: offset,
      maxPageSize: 200
    }
    const { body: told } = await Effect.runPromise(this.transport({ method: "POST", path: "/v2/state/active-contracts-page", body }))
    const { activeContracts } = Schema.decodeUnknownSync(ContractsResponse)(told)
    return (activeContracts ?? []).flatMap(({ contractEntry }) =>
      "JsActiveContract" in contractEntry ? [contractEntry.JsActiveContract.createdEvent.contractId] : []
    )
  }

  prepare(facts: Facts, claims?: Claims): Promise<ReadonlyArray<string> | LedgerError> {
    return this.run(Effect.gen(this, function*() {
      const ledger = yield* Ledger
      const planned = plan(this.custody, facts)
      const made = yield* Effect.either(ledger.prepare(planned, untilEpochMs, claims))
      if (Either.isLeft(made)) return made.left
      const mismatch = check({ ...made.right, maxRecordTimeEpochMs: untilEpochMs }, planned)
      if ("_tag" in mismatch) throw new Error(mismatch.text)
      const prepared = Prepared.decode(made.right.preparedTransaction)
      if (prepared instanceof Malformed) throw new Error(prepared.reason)
      return prepared.metadata.inputContracts.map(({ v1 }) => v1.contractId)
    }))
  }
}

const spends = async (scene: Scene, amountAtoms: number, claims?: Claims): Promise<number | string> => {
  const came = await scene.withdraw(amountAtoms, claims)
  return Array.isArray(came) ? came.length : (came as Refused).code
}

describe.each([81, 111, 180, 255])("of an asset whose administrator's name has %i characters", (length) => {
  test("a withdrawal from many holdings sweeps six, and has room", async () => {
    const scene = new Scene(length)
    await scene.begin("treasury", 60, 1)
    await scene.give("treasury", 25 * usdc)
    expect(await spends(scene, 10 * usdc)).toBe(6)
    expect(scene.prepared).toBe(1)
  })

  test.each([false, true])("what is told of an amount in too many pieces can be paid, and more cannot (a long answer: %s)",
    async (answersLong) => {
      const scene = new Scene(length, answersLong)
      await scene.begin("treasury", 40, usdc)
      const refused = await scene.withdraw(39 * usdc)
      expect(refused).toMatchObject({ code: codes.pieces })
      const largest = Number((refused as Refused).context["largestAtoms"])
      expect(largest).toBeGreaterThanOrEqual(6 * usdc)
      expect(largest).toBeLessThanOrEqual(12 * usdc)
      expect(await spends(scene, largest)).toBe(largest / usdc)
      expect(await spends(scene, largest - 1)).toBe(largest / usdc)
      // One more holding does not fit into the transaction, or exceeds the number allowed.
      expect(await scene.withdraw(largest + usdc - 1)).toMatchObject({ code: codes.pieces, context: { largestAtoms: String(largest) } })
    })

  test("so is what is told of a deposit", async () => {
    const scene = new Scene(length)
    await scene.begin("owner", 20, usdc)
    const refused = await scene.accept("dep_1", 19 * usdc)
    expect(refused).toMatchObject({ code: codes.pieces })
    const largest = Number((refused as Refused).context["largestAtoms"])
    expect(largest).toBeGreaterThanOrEqual(3 * usdc)
    expect(await scene.accept("dep_2", largest)).toHaveLength(largest / usdc + 1)
  })
})

test("what is told of a deposit of one holding more than one transaction spends is as much as can be paid", async () => {
  const scene = new Scene(81)
  scene.ownersName = "owner"
  await scene.begin("owner", 13, usdc)
  expect(await scene.accept("dep_1", 13 * usdc)).toMatchObject({ code: codes.pieces, context: { largestAtoms: String(12 * usdc) } })
  expect(await scene.accept("dep_2", 12 * usdc)).toHaveLength(13)
})

test.each([111, 180, 255])("and what is told of it with a name of %i characters can be paid", async (length) => {
  const scene = new Scene(length)
  await scene.begin("owner", 13, usdc)
  const refused = await scene.accept("dep_1", 13 * usdc)
  expect(refused).toMatchObject({ code: codes.pieces })
  const largest = Number((refused as Refused).context["largestAtoms"])
  expect(await scene.accept("dep_2", largest)).toHaveLength(largest / usdc + 1)
})

describe("what others spend", () => {
  test("is left alone, and that it is in the way is told apart from there being too many pieces", async () => {
    const scene = new Scene(255)
    await scene.begin("treasury", 8, usdc)
    const all = await scene.ids()
    const underWay = new Set(all.slice(0, 3))
    expect(await spends(scene, 5 * usdc, { asked: new Set(), underWay })).toBe(5)
    expect(await spends(scene, 6 * usdc, { asked: new Set(), underWay })).toBe(codes.inUse)
    expect(await spends(scene, 8 * usdc, { asked: new Set(), underWay })).toBe(codes.pieces)
    expect(await spends(scene, 9 * usdc, { asked: new Set(), underWay })).toBe("CONTRACT_NOT_FOUND")
  })

  test("is not swept where it was asked for alone, and is where fewer would have no room otherwise", async () => {
    const scene = new Scene(255)
    await scene.begin("treasury", 10, usdc)
    const before = await scene.ids()
    await scene.give("treasury", 9 * usdc)
    const large = (await scene.ids()).filter((id) => !before.includes(id))
    const claims = { asked: new Set(large), underWay: new Set<string>() }
    expect(await spends(scene, 5 * usdc, claims)).toBe(5)
    expect(await scene.withdraw(9 * usdc, claims)).toStrictEqual(large)
  })
})

test("a participant that refuses what is long is asked for fewer, and one that refuses anything is believed", async () => {
  const scene = new Scene(81)
  await scene.begin("treasury", 40, usdc)
  scene.mostOthers = 2
  expect(await spends(scene, usdc)).toBe(1)
  expect(await scene.withdraw(20 * usdc)).toMatchObject({ code: codes.pieces, context: { largestAtoms: String(3 * usdc) } })
  expect(await spends(scene, 3 * usdc)).toBe(3)
  scene.mostOthers = -1
  expect(await spends(scene, usdc)).toBe("INVALID_ARGUMENT")
  expect(await spends(scene, 3 * usdc)).toBe("INVALID_ARGUMENT")
})

test.each([[32, 1], [33, 6]])("of %i holdings that a treasury has, a withdrawal of the value of one spends %i", (pieces, spent) => {
  const least = Array.from({ length: pieces }, (_, at) => ({ contractId: String(at), atoms: 5n }))
  expect(Holdings.choicesOf(least, 5n, nobody)[0]).toHaveLength(spent)
})
