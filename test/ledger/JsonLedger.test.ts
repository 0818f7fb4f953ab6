/** How a participant's possible answers are taken: which are believed, which say nothing, and which are refused. */
import { Effect, Either } from "effect"
import { describe, expect, test } from "vitest"
import { setting } from "../../src/ledger/development/Setting.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import type { Completion, LedgerError } from "../../src/ledger/Ledger.js"
import { plan } from "../../src/ledger/Planned.js"
import { multiHash, partyId } from "../../src/ledger/prepared/Topology.js"
import { Lost, type Question, type Reply, Unsent } from "../../src/ledger/Transport.js"
import { key } from "./Keys.js"

const ledgerOf = (answer: (question: Question) => Reply | Unsent | Lost) => {
  const asked: Array<Question> = []
  const ledger = Effect.runSync(JsonLedger.make((question) => {
    asked.push(question)
    const reply = answer(question)
    return reply instanceof Unsent || reply instanceof Lost ? Effect.fail(reply) : Effect.succeed(reply)
  }, setting))
  return { ledger, asked }
}

const failureOf = async (effect: Effect.Effect<unknown, LedgerError>): Promise<string> => {
  const result = await Effect.runPromise(Effect.either(effect))
  if (Either.isRight(result)) return "none"
  const { _tag } = result.left
  return "code" in result.left && result.left.code !== undefined ? `${_tag} ${result.left.code}` : _tag
}

const submission = {
  preparedTransaction: new Uint8Array(3),
  scheme: 3,
  signature: new Uint8Array(64),
  signedBy: "1220",
  party: "owner",
  submissionId: "first",
  userId: "perpetuum",
  deduplicateFromOffset: 7
} as const

const error = (definiteAnswer: boolean | null | undefined) => ({
  code: "SOME_ERROR",
  cause: "why",
  context: {},
  errorCategory: 9,
  definiteAnswer
})
const synchronizer = setting.synchronizerId
const query = { userId: "perpetuum", parties: ["owner"], beginExclusive: 10, limit: 50 }

describe("of an execution", () => {
  const rows: ReadonlyArray<readonly [name: string, reply: Reply | Unsent | Lost, failure: string]> = [
    ["success means taken", { status: 200, body: {} }, "none"],
    ["a definite answer is believed", { status: 400, body: error(true) }, "Refused SOME_ERROR"],
    ["an answer that is not definite leaves it open", { status: 400, body: error(false) }, "Unknown SOME_ERROR"],
    ["so does one that does not say", { status: 400, body: error(null) }, "Unknown SOME_ERROR"],
    ["and one that cannot say", { status: 503, body: error(undefined) }, "Unknown SOME_ERROR"],
    ["and one of a proxy", { status: 502, body: "Bad Gateway" }, "Unknown"],
    ["and one that is no answer to it", { status: 404, body: { found: false } }, "Unknown"],
    ["and a connection that broke", new Lost("reset"), "Unknown"],
    ["what was never sent is unavailable", new Unsent("refused"), "Unavailable"]
  ]
  for (const [name, reply, failure] of rows) {
    test(name, async () => expect(await failureOf(ledgerOf(() => reply).ledger.execute(submission))).toBe(failure))
  }

  test("what is sent is what the API has", async () => {
    const { asked, ledger } = ledgerOf(() => ({ status: 200, body: {} }))
    await Effect.runPromise(ledger.execute(submission))
    expect(asked).toMatchObject([{
      method: "POST",
      path: "/v2/interactive-submission/execute",
      body: {
        preparedTransaction: "AAAA",
        partySignatures: {
          signatures: [{
            party: "owner",
            signatures: [{ format: "SIGNATURE_FORMAT_CONCAT", signedBy: "1220", signingAlgorithmSpec: "SIGNING_ALGORITHM_SPEC_ED25519" }]
          }]
        },
        submissionId: "first",
        deduplicationPeriod: { DeduplicationOffset: { value: 7 } },
        hashingSchemeVersion: "HASHING_SCHEME_VERSION_V3"
      }
    }])
  })
})

describe("of a preparation", () => {
  const planned = plan({ ...setting, environment: "development", userId: "perpetuum", treasury: "treasury" }, {
    step: "treasury_offer",
    transferId: "dep_1",
    owner: "owner",
    amountAtoms: 1
  })
  const refusal = (code: string, errorCategory: number | null | undefined, definiteAnswer: boolean | null = true) => ({
    ...error(definiteAnswer),
    code,
    errorCategory
  })
  /** Whom a failure blames: the request, which will fail again, or the ledger's load, its state or the venue's rights there. */
  const rows: ReadonlyArray<readonly [name: string, reply: Reply, blames: "request" | "ledger" | "rights" | "Unknown"]> = [
    ["the payer lacks a contract", { status: 404, body: refusal("CONTRACT_NOT_FOUND", 11) }, "request"],
    ["the request is no good", { status: 400, body: refusal("INVALID_ARGUMENT", 8) }, "request"],
    ["nor in this state", { status: 400, body: refusal("DAML_INTERPRETATION_ERROR", 9, false) }, "request"],
    ["without a category", { status: 400, body: refusal("SOME_ERROR", undefined, null) }, "request"],
    ["the participant has too much to do", { status: 409, body: refusal("PARTICIPANT_BACKPRESSURE", 2, false) }, "ledger"],
    ["and is sure of it", { status: 503, body: refusal("PARTICIPANT_BACKPRESSURE", 2) }, "ledger"],
    ["it has too many requests", { status: 429, body: refusal("RESOURCE_EXHAUSTED", null) }, "ledger"],
    ["it took too long", { status: 408, body: refusal("REQUEST_TIME_OUT", null) }, "ledger"],
    ["nobody has said who he is", { status: 401, body: refusal("NA", 6, null) }, "rights"],
    ["the user has no right", { status: 403, body: refusal("NA", 7, null) }, "rights"],
    ["the user has no right, as a proxy says", { status: 403, body: refusal("NA", null, null) }, "rights"],
    ["the user has no right, by its category alone", { status: 400, body: refusal("NA", 7) }, "rights"],
    ["a read beyond the end", { status: 400, body: refusal("OFFSET_AFTER_LEDGER_END", 12) }, "ledger"],
    ["a defect", { status: 400, body: refusal("LEDGER_API_INTERNAL_ERROR", 4) }, "ledger"],
    ["it does not support it", { status: 501, body: refusal("UNSUPPORTED_OPERATION", 14) }, "ledger"],
    ["what was read is pruned", { status: 400, body: refusal("PARTICIPANT_PRUNED_DATA_ACCESSED", 9, false) }, "ledger"],
    ["it is not up, and not sure of anything", { status: 503, body: refusal("SERVER_IS_SHUTTING_DOWN", 1, null) }, "Unknown"],
    ["it is broken", { status: 500, body: refusal("SOME_ERROR", 9, null) }, "Unknown"]
  ]
  test.each(rows)("%s", async (_, reply, blames) => {
    const failure = await Effect.runPromise(Effect.flip(ledgerOf(() => reply).ledger.prepare(planned, 1)))
    const told = failure._tag !== "Refused"
      ? failure._tag
      : failure.isOfLedger !== true
      ? "request"
      : failure.lacksRight === true
      ? "rights"
      : "ledger"
    expect(told).toBe(blames)
  })
})

const completion = (offset: number, more: object = {}) => ({
  completionResponse: {
    Completion: {
      value: { commandId: "cmd", submissionId: "first", userId: "perpetuum", actAs: ["owner"], offset, updateId: "1220", ...more }
    }
  }
})
const checkpoint = (offset: number, recordTime: string, synchronizerId = synchronizer) => ({
  completionResponse: { OffsetCheckpoint: { value: { offset, synchronizerTimes: [{ synchronizerId, recordTime }] } } }
})

describe("of completions", () => {
  const pageOf = (...elements: ReadonlyArray<unknown>) => ledgerOf(() => ({ status: 200, body: elements })).ledger.completions(query)

  test("accepted and rejected ones are told apart, with the ledger's name of the error", async () => {
    const page = await Effect.runPromise(pageOf(
      completion(11, {
        status: { code: 0, message: "" },
        synchronizerTime: { synchronizerId: synchronizer, recordTime: "2026-01-01T00:00:00.123999Z" }
      }),
      completion(12, { updateId: null, submissionId: null, status: { code: 6, message: "DUPLICATE_COMMAND(10,abc): it was there" } }),
      completion(13, { status: { code: 13, message: "boom" } }),
      completion(14)
    ))
    const outcomes = page.completions.map(({ outcome }: Completion) => outcome._tag === "Accepted" ? "accepted" : outcome.code)
    expect(outcomes).toStrictEqual(["accepted", "DUPLICATE_COMMAND", "UNKNOWN", "accepted"])
    expect(page.completions[0]!.recordTimeEpochMs).toBe(Date.parse("2026-01-01T00:00:00.123Z"))
    expect(page).toMatchObject({ throughOffset: 14, recordTimeEpochMs: undefined })
  })

  test("a checkpoint of the synchronizer says how far its time has come, another's says nothing", async () => {
    const time = Date.parse("2026-01-01T00:00:01Z")
    expect(await Effect.runPromise(pageOf(completion(11), checkpoint(15, "2026-01-01T00:00:01.0004Z")))).toMatchObject({
      throughOffset: 15,
      recordTimeEpochMs: time
    })
    expect(await Effect.runPromise(pageOf(checkpoint(15, "2026-01-01T00:00:01Z", "other")))).toMatchObject({
      throughOffset: 15,
      recordTimeEpochMs: undefined
    })
    expect(await Effect.runPromise(pageOf(checkpoint(15, "soon")))).toMatchObject({ recordTimeEpochMs: undefined })
    expect(await Effect.runPromise(pageOf({ completionResponse: { Empty: {} } }))).toMatchObject({ throughOffset: 10, completions: [] })
  })

  test("offsets that go back could hide a gap, and are not read", async () => {
    expect(await failureOf(pageOf(completion(12), completion(11)))).toBe("Unknown")
    expect(await failureOf(pageOf(completion(10)))).toBe("Unknown")
    expect(await failureOf(pageOf(completion(12), completion(12)))).toBe("Unknown")
    expect(await failureOf(pageOf({ completionResponse: { Surprise: {} } }))).toBe("Unknown")
    expect(await failureOf(ledgerOf(() => ({ status: 200, body: { completions: [] } })).ledger.completions(query))).toBe("Unknown")
  })

  test("at most 200 are asked for at a time, and pruned ones are told as such", async () => {
    const { asked, ledger } = ledgerOf(() => ({ status: 400, body: { ...error(false), code: "PARTICIPANT_PRUNED_DATA_ACCESSED" } }))
    expect(await failureOf(ledger.completions({ ...query, limit: 100_000 }))).toBe("Refused PARTICIPANT_PRUNED_DATA_ACCESSED")
    expect(asked[0]!.query).toMatchObject({ limit: "200" })
  })

  test("a participant that cannot look one up by its hash says nothing by it", async () => {
    for (const status of [404, 405, 501]) {
      expect(await Effect.runPromise(ledgerOf(() => ({ status, body: "" })).ledger.completionByHash(new Uint8Array(32)))).toBe(undefined)
    }
    expect(await failureOf(ledgerOf(() => ({ status: 500, body: "" })).ledger.completionByHash(new Uint8Array(32)))).toBe("Unknown")
  })
})

describe("of a party's allocation", () => {
  const owner = key("owner")
  const topology = [Uint8Array.of(1, 2, 3)]
  const generated = {
    partyId: partyId("owner", owner.publicKey),
    publicKeyFingerprint: owner.fingerprint,
    topologyTransactions: topology.map((bytes) => Buffer.from(bytes).toString("base64")),
    multiHash: Buffer.from(multiHash(topology)).toString("base64")
  }
  const allocating = (body: object, allocated = generated.partyId) => {
    let isSigned = false
    const { ledger } = ledgerOf(({ path }) => ({ status: 200, body: path.endsWith("allocate") ? { partyId: allocated } : body }))
    const sign = (hash: Uint8Array) =>
      Effect.sync(() => {
        isSigned = true
        return owner.sign(hash)
      })
    return failureOf(ledger.allocateParty(owner.publicKey, "owner", sign)).then((failure) => ({ failure, isSigned }))
  }

  test("nothing is signed but the hash of the topology of that key and name", async () => {
    expect(await allocating(generated)).toStrictEqual({ failure: "none", isSigned: true })
    const other = Buffer.from(multiHash([Uint8Array.of(4)])).toString("base64")
    expect(await allocating({ ...generated, multiHash: other })).toStrictEqual({ failure: "Refused TOPOLOGY_MISMATCH", isSigned: false })
    expect(await allocating({ ...generated, partyId: partyId("other", owner.publicKey) })).toMatchObject({ isSigned: false })
    expect(await allocating({ ...generated, topologyTransactions: [] })).toMatchObject({ isSigned: false })
    expect(await allocating(generated, "other")).toStrictEqual({ failure: "Unknown", isSigned: true })
  })
})

describe("of the rest", () => {
  test("the participant is asked its name until it has told it, and no more", async () => {
    let isUp = false
    const { asked, ledger } = ledgerOf(() => isUp ? { status: 200, body: { participantId: "PAR::one" } } : new Unsent("down"))
    expect(await failureOf(ledger.participantId)).toBe("Unavailable")
    isUp = true
    expect(await Effect.runPromise(ledger.participantId)).toBe("PAR::one")
    expect(await Effect.runPromise(ledger.participantId)).toBe("PAR::one")
    expect(asked).toHaveLength(2)
  })

  test("the end may say no record time, and an empty ledger no offset", async () => {
    expect(await Effect.runPromise(ledgerOf(() => ({ status: 200, body: { offset: 12 } })).ledger.end)).toStrictEqual({
      offset: 12,
      recordTimeEpochMs: undefined
    })
    expect(await Effect.runPromise(ledgerOf(() => ({ status: 200, body: {} })).ledger.end)).toStrictEqual({
      offset: 0,
      recordTimeEpochMs: undefined
    })
    expect(await failureOf(ledgerOf(() => ({ status: 200, body: { offset: -1 } })).ledger.end)).toBe("Unknown")
  })

  test("holdings are read at the new end where the ledger has forgotten the one before, three times at most", async () => {
    let offset = 6
    const over = (prunedThrough: number) =>
      ledgerOf(({ body, path }) => {
        if (path.endsWith("ledger-end")) return { status: 200, body: { offset: ++offset } }
        const isKnown = (body as { readonly activeAtOffset: number }).activeAtOffset >= prunedThrough
        const pruned = { code: "PARTICIPANT_PRUNED_DATA_ACCESSED", cause: "pruned", context: {}, definiteAnswer: true }
        return isKnown ? { status: 200, body: { activeContracts: [] } } : { status: 400, body: pruned }
      }).ledger
    expect(await Effect.runPromise(over(9).holdings("owner"))).toStrictEqual({ atoms: 0n, pieces: 0, seen: 0, offset: 9 })
    offset = 6
    expect(await failureOf(over(10).holdings("owner"))).toBe("Refused PARTICIPANT_PRUNED_DATA_ACCESSED")
  })

  test("holdings are counted over all pages, those of another asset are not, and one that cannot be read is told", async () => {
    const holding = (amount: string, instrument = "USDC") => ({
      contractEntry: {
        JsActiveContract: {
          createdEvent: {
            contractId: amount,
            templateId: "t",
            createArgument: { admin: setting.token.admin, owner: "owner", instrument, amount }
          }
        }
      }
    })
    const pages = [
      { activeContracts: [holding("1.5000000000"), holding("7.0", "USDX")], nextPageToken: "1" },
      { activeContracts: [holding("0.000001"), { contractEntry: { JsIncompleteAssigned: {} } }], nextPageToken: "" }
    ]
    const over = (broken: boolean) =>
      ledgerOf(({ body, path }) => {
        if (path.endsWith("ledger-end")) return { status: 200, body: { offset: 9 } }
        const page = (body as { readonly pageToken?: string }).pageToken === "1" ? pages[1] : pages[0]
        return { status: 200, body: broken ? { activeContracts: [holding("1e3")] } : page }
      }).ledger
    expect(await Effect.runPromise(over(false).holdings("owner"))).toStrictEqual({ atoms: 1_500_001n, pieces: 2, seen: 3, offset: 9 })
    expect(await failureOf(over(true).holdings("owner"))).toBe("Unknown")
    const endless = ledgerOf(({ path }) =>
      path.endsWith("ledger-end")
        ? { status: 200, body: { offset: 9 } }
        : { status: 200, body: { activeContracts: [], nextPageToken: "x" } }
    )
    expect(await failureOf(endless.ledger.holdings("owner"))).toBe("Unknown")
    expect(endless.asked).toHaveLength(501)
  })

  describe("of a party with many contracts", () => {
    const page = (count: number, amount: string, instrument = "USDC") =>
      Array.from({ length: count }, (_, index) => ({
        contractEntry: {
          JsActiveContract: {
            createdEvent: {
              contractId: `${index}`,
              templateId: "t",
              createArgument: { admin: setting.token.admin, owner: "owner", instrument, amount }
            }
          }
        }
      }))
    /** Pages of one kind, followed by a page with a single holding. */
    const behind = (pages: number, amount: string, instrument?: string) =>
      ledgerOf(({ body, path }) => {
        if (path.endsWith("ledger-end")) return { status: 200, body: { offset: 9 } }
        const at = Number((body as { readonly pageToken?: string }).pageToken ?? 0)
        return at < pages
          ? { status: 200, body: { activeContracts: page(200, amount, instrument), nextPageToken: String(at + 1) } }
          : { status: 200, body: { activeContracts: page(1, "7.0"), nextPageToken: null } }
      }).ledger
    const told = (pages: number, amount: string, instrument?: string) =>
      Effect.runPromise(Effect.either(behind(pages, amount, instrument).holdings("owner")))

    test("those of other assets, and what is finer than an atom, leave as many that can be read", async () => {
      expect(await told(499, "1.0", "USDX")).toMatchObject({ right: { atoms: 7_000_000n, pieces: 1, seen: 99_801 } })
      expect(await told(60, "0.0000015")).toMatchObject({ right: { atoms: 7_012_000n, pieces: 1, seen: 12_001 } })
      expect(await told(49, "0.000001")).toMatchObject({ right: { atoms: 7_009_800n, pieces: 9_801, seen: 9_801 } })
    })

    test("more than can be read are told apart: of the asset, and of all", async () => {
      expect(await told(51, "0.000001")).toMatchObject({
        left: { cause: expect.stringContaining("more than 10000 holdings of the asset") }
      })
      expect(await told(500, "1.0", "USDX")).toMatchObject({ left: { cause: expect.stringContaining("more than 100000 contracts of") } })
    })
  })
})
