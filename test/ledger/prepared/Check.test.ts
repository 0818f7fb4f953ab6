/**
 * For which changes that a ledger might try a prepared transaction is refused: money that goes elsewhere, contracts other than the planned
 * ones, and more than was planned. Each is a valid transaction with its own hash, except for one thing.
 */
import { Clock, Effect } from "effect"
import { beforeAll, describe, expect, test } from "vitest"
import * as SimLedger from "../../../sim/world/SimLedger.js"
import * as SimRandom from "../../../sim/world/SimRandom.js"
import { Faucet } from "../../../src/ledger/development/Faucet.js"
import { custody as custodyOf } from "../../../src/ledger/development/Setting.js"
import { Ledger } from "../../../src/ledger/Ledger.js"
import { type Facts, plan, type PlannedCommand } from "../../../src/ledger/Planned.js"
import { check, Mismatch } from "../../../src/ledger/prepared/Check.js"
import * as Hash from "../../../src/ledger/prepared/Hash.js"
import * as Prepared from "../../../src/ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../../../src/ledger/prepared/Wire.js"
import * as Templates from "../../../src/ledger/Templates.js"
import { key } from "../Keys.js"

const usdc = 1_000_000
const owner = key("owner")
const treasury = key("treasury")
const ownerParty = owner.party("owner")
const custody = custodyOf({ environment: "development", userId: "perpetuum", treasury: treasury.party("treasury") })
const maxRecordTimeEpochMs = 1_800_000_000_000
const stranger = key("stranger").party("stranger")

const planned = (facts: Facts): PlannedCommand => plan(custody, facts)
const account = planned({ step: "owner_account_acceptance", accountId: "acc_1", owner: ownerParty, isChange: false })
const offer = planned({ step: "treasury_offer", transferId: "dep_1", owner: ownerParty, amountAtoms: 8 * usdc })
const acceptance = planned({ step: "owner_offer_acceptance", transferId: "dep_1", owner: ownerParty, amountAtoms: 8 * usdc })
const retraction = planned({ step: "treasury_offer_withdrawal", transferId: "dep_1", owner: ownerParty, amountAtoms: 8 * usdc })
const withdrawal = planned({ step: "treasury_withdrawal", transferId: "wdr_1", receiver: ownerParty, amountAtoms: 3 * usdc })

/** Transactions as the ledger prepares them, by step. */
const ledger = { prepared: new Map<PlannedCommand, Prepared.PreparedTransaction>() }

beforeAll(async () => {
  const { layer } = SimLedger.make(SimRandom.make("check"))
  await Effect.runPromise(Effect.provide(
    Effect.gen(function*() {
      const port = yield* Ledger
      const faucet = yield* Faucet
      yield* port.allocateParty(owner.publicKey, "owner", (hash) => Effect.succeed(owner.sign(hash)))
      yield* port.allocateParty(treasury.publicKey, "treasury", (hash) => Effect.succeed(treasury.sign(hash)))
      for (const amount of [7, 2]) yield* faucet.give(ownerParty, amount * usdc)
      yield* faucet.give(custody.treasury, 5 * usdc)
      const prepared = (of: PlannedCommand) =>
        Effect.map(port.prepare(of, maxRecordTimeEpochMs), (preparation) => {
          const decoded = Prepared.decode(preparation.preparedTransaction)
          if (decoded instanceof Malformed) throw new Error(decoded.reason)
          ledger.prepared.set(of, decoded)
          return preparation
        })
      yield* prepared(account)
      const { hash, preparedTransaction, scheme } = yield* prepared(offer)
      yield* port.execute({
        preparedTransaction,
        scheme,
        signature: treasury.sign(hash),
        signedBy: treasury.fingerprint,
        party: custody.treasury,
        submissionId: "first",
        userId: custody.userId,
        deduplicateFromOffset: 0
      })
      yield* Effect.repeat(port.end, { until: ({ offset }) => offset > 5, times: 1_000_000 })
      for (const  of of[acceptance, retraction, withdrawal]) yield* prepared(of)
      expect(yield* Clock.currentTimeMillis).toBeLessThan(maxRecordTimeEpochMs)
    }),
    layer
  ))
})

const judged = (prepared: Prepared.PreparedTransaction, of: PlannedCommand, scheme: Prepared.HashingScheme = 3) => {
  const hash = Hash.hash(prepared, scheme)
  if (hash instanceof Hash.Unhashable) throw new Error(hash.reason)
  return check({ preparedTransaction: Prepared.encode(prepared), hash, scheme, maxRecordTimeEpochMs }, of)
}
const differs = (prepared: Prepared.PreparedTransaction, of: PlannedCommand): string => {
  const result = judged(prepared, of)
  return result instanceof Mismatch ? result.what : "nothing"
}

type Nodes = Prepared.DamlTransaction["nodes"]
const withNodes = (prepared: Prepared.PreparedTransaction, change: (nodes: Nodes) => Nodes): Prepared.PreparedTransaction => ({
  ...prepared,
  transaction: { ...prepared.transaction, nodes: change(prepared.transaction.nodes) }
})

/** The transaction with the holdings in its create nodes changed by `change`. */
const withHoldings = (of: PlannedCommand, change: (holding: Templates.Holding, index: number) => Templates.Holding) => {
  let index = 0
  return withNodes(ledger.prepared.get(of)!, (nodes) =>
    nodes.map((node) => {
      if (node.v1.case !== "create") return node
      const holding = change(Templates.holding.read(node.v1.value.argument)!, index++)
      const argument = Templates.holding.write(node.v1.value.templateId, holding)
      return { ...node, v1: { case: "create", value: { ...node.v1.value, argument, ...Templates.stakesOf.holding(holding) } } }
    }))
}

const withExercises = (of: PlannedCommand, change: (exercise: Prepared.Exercise, nodeId: string) => Prepared.Exercise) =>
  withNodes(ledger.prepared.get(of)!, (nodes) =>
    nodes.map((node) =>
      node.v1.case === "exercise" ? { ...node, v1: { case: "exercise", value: change(node.v1.value, node.nodeId) } } : node
    ))

const withMetadata = (of: PlannedCommand, metadata: Partial<Prepared.Metadata>): Prepared.PreparedTransaction => ({
  ...ledger.prepared.get(of)!,
  metadata: { ...ledger.prepared.get(of)!.metadata, ...metadata }
})

describe("a transaction that is as planned", () => {
  test("is given back, unless its hash is by the scheme that does not cover the maximum record time", () => {
    for (const [of, prepared] of ledger.prepared) {
      expect(judged(prepared, of)).toStrictEqual(prepared)
      expect(judged(prepared, of, 2)).toMatchObject({ what: "hashing scheme", found: "2" })
    }
    expect(ledger.prepared.size).toBe(5)
  })

  test("may name the synchronizer with its protocol version and serial, and nothing else behind it", () => {
    const named = (suffix: string) => withMetadata(offer, { synchronizerId: `${custody.synchronizerId}${suffix}` })
    expect(differs(named("::35-0"), offer)).toBe("nothing")
    for (const suffix of ["::35", "::0-1", "::35-0::36-0", "35-0", "::x-0"]) expect(differs(named(suffix), offer)).toBe("synchronizer")
  })

  test("is no other one of the venue's", () => {
    for (const [of, prepared] of ledger.prepared) {
      for (const other of ledger.prepared.keys()) expect(differs(prepared, other) === "nothing").toBe(of === other)
    }
  })
})

describe("a transaction is refused", () => {
  test("that pays the treasury out of the treasury, though it is as planned", () => {
    const toItself = planned({ ...withdrawal.facts, receiver: custody.treasury } as Facts)
    expect(differs(ledger.prepared.get(withdrawal)!, toItself)).toBe("whom the treasury deals with")
  })

  test("with another hash, and with bytes that are none", () => {
    const preparedTransaction = Prepared.encode(ledger.prepared.get(offer)!)
    const claimed = { preparedTransaction, hash: new Uint8Array(32), scheme: 3, maxRecordTimeEpochMs } as const
    expect(check(claimed, offer)).toMatchObject({ what: "hash" })
    const cut = check({ ...claimed, preparedTransaction: preparedTransaction.subarray(1) }, offer)
    expect(cut instanceof Mismatch && cut.text).toMatch(/^transaction is .*, not one that is understood$/)
    const { metadata, transaction } = ledger.prepared.get(offer)!
    const rootless = Prepared.encode({ metadata, transaction: { ...transaction, roots: [] } })
    expect(check({ ...claimed, preparedTransaction: rootless }, offer)).toMatchObject({ found: "node 0 is under no root" })
  })

  test("whose times are others", () => {
    expect(differs(withMetadata(offer, { maxRecordTime: undefined }), offer)).toBe("maximum record time")
    expect(differs(withMetadata(offer, { minLedgerEffectiveTime: 1n }), offer)).toBe("least ledger time")
    expect(differs(withMetadata(offer, { maxLedgerEffectiveTime: 1n }), offer)).toBe("greatest ledger time")
  })

  test("that two parties act in", () => {
    const submitterInfo = { actAs: [custody.treasury, stranger], commandId: offer.commandId }
    expect(differs(withMetadata(offer, { submitterInfo }), offer)).toBe("acting parties")
  })

  test("that gives the receiver less, or somebody else the change", () => {
    const less = withHoldings(acceptance, (holding, index) => ({ ...holding, amountAtoms: holding.amountAtoms + (index === 0 ? -1n : 1n) }))
    expect(differs(less, acceptance)).toBe("amountAtoms of the created holding")
    const change = withHoldings(acceptance, (holding, index) => index === 1 ? { ...holding, owner: stranger } : holding)
    expect(differs(change, acceptance)).toBe("owner of the created holding")
    const receiver = withHoldings(withdrawal, (holding, index) => index === 0 ? { ...holding, owner: stranger } : holding)
    expect(differs(receiver, withdrawal)).toBe("owner of the created holding")
    const worthless = withHoldings(acceptance, (holding) => ({ ...holding, instrument: "USDX" }))
    expect(differs(worthless, acceptance)).toBe("instrument of the created holding")
  })

  test("that makes no change, or a holding more", () => {
    const without = withNodes(ledger.prepared.get(withdrawal)!, (nodes) =>
      nodes.slice(0, -1).map((node) =>
        node.v1.case === "exercise"
          ? { ...node, v1: { case: "exercise", value: { ...node.v1.value, children: node.v1.value.children.slice(0, -1) } } }
          : node
      ))
    expect(differs(without, withdrawal)).toBe("number of created holdings")
  })

  test("that exercises another choice, by others, or before others' eyes", () => {
    const changed = (change: Partial<Prepared.Exercise>) =>
      differs(withExercises(withdrawal, (exercise, nodeId) => nodeId === "0" ? { ...exercise, ...change } : exercise), withdrawal)
    expect(changed({ choiceId: "Archive" })).toBe("choice")
    expect(changed({ actingParties: [stranger] })).toBe("parties that exercise Holding_Transfer")
    expect(changed({ consuming: false })).toBe("consuming of Holding_Transfer")
    expect(changed({ choiceObservers: [stranger] })).toBe("observers of Holding_Transfer")
    expect(changed({ packageName: "perpetuum-token-2" })).toBe("package of the transfer")
    expect(changed({ interfaceId: { packageId: "a", moduleName: "b", entityName: "c" } })).toBe("interface")
    const elsewhere = { ...withdrawal.template, packageId: "ff" }
    expect(changed({ templateId: elsewhere })).toBe("template of the transfer")
    expect(changed({ chosenValue: { case: "unit", value: {} } })).toBe("transfer")
  })

  test("on contracts that are not what they should be", () => {
    const inputs = (of: PlannedCommand, change: (create: Prepared.Create) => Prepared.Create) =>
      withMetadata(of, {
        inputContracts: ledger.prepared.get(of)!.metadata.inputContracts.map((input) => ({ ...input, v1: change(input.v1) }))
      })
    const otherOffer = inputs(retraction, (create) => {
      const value = Templates.custodyOffer.read(create.argument)!
      return { ...create, argument: Templates.custodyOffer.write(create.templateId, { ...value, reference: "dep_2" }) }
    })
    expect(differs(otherOffer, retraction)).toBe("reference of the offer")
    expect(differs(inputs(retraction, (create) => ({ ...create, signatories: [stranger] })), retraction)).toBe("signatories of the offer")
    expect(differs(inputs(retraction, (create) => ({ ...create, stakeholders: [custody.treasury] })), retraction)).toBe(
      "stakeholders of the offer"
    )
    expect(differs(withMetadata(retraction, { inputContracts: [] }), retraction)).toBe("input contract of the offer")
    const [first] = ledger.prepared.get(retraction)!.metadata.inputContracts
    expect(differs(withMetadata(retraction, { inputContracts: [first!, first!] }), retraction)).toBe("number of different input contracts")
    // The ledger would refuse to spend other people's holdings, but such a transaction must not be signed here either.
    const others = inputs(withdrawal, (create) => {
      const value = { ...Templates.holding.read(create.argument)!, owner: stranger }
      return { ...create, argument: Templates.holding.write(create.templateId, value), ...Templates.stakesOf.holding(value) }
    })
    expect(differs(others, withdrawal)).toBe("owner of the spent holding")
    const poor = inputs(withdrawal, (create) => {
      const value = { ...Templates.holding.read(create.argument)!, amountAtoms: 1n }
      return { ...create, argument: Templates.holding.write(create.templateId, value) }
    })
    expect(differs(poor, withdrawal)).toBe("amount that is spent")
  })

  test("that accepts an offer with other holdings than it says", () => {
    const said = withExercises(acceptance, (exercise, nodeId) => {
      if (nodeId !== "0") return exercise
      const { holdings } = Templates.offerAcceptance.read(exercise.chosenValue)!
      const type = { ...acceptance.template, entityName: Templates.choices.acceptOffer }
      return { ...exercise, chosenValue: Templates.offerAcceptance.write(type, { holdings: holdings.slice(1) }) }
    })
    expect(differs(said, acceptance)).toBe("holdings that are given")
  })
})

describe("amounts", () => {
  test("are written with ten decimals, and read back to the atom", () => {
    for (const [atoms, text] of [[1n, "0.0000010000"], [8_000_000n, "8.0000000000"], [12_345_678n, "12.3456780000"]] as const) {
      expect(Templates.numericText(atoms)).toBe(text)
      expect(Templates.atomsOf(text)).toBe(atoms)
    }
    expect(Templates.atomsOf("8")).toBe(8_000_000n)
    for (const none of ["", "-1.0", "+1", "01", "1.", ".5", "1e3", "0.0000001", "1.00000000000", `1${"0".repeat(28)}`]) {
      expect(Templates.atomsOf(none)).toBe(undefined)
    }
  })
})
