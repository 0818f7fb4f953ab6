/** What a key signs to become a party, and what it refuses: anything that would hand the party to somebody else. */
import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { describe, expect, test } from "vitest"
import * as PartyTopology from "../../src/ledger/prepared/PartyTopology.js"
import { fingerprint, partyId } from "../../src/ledger/prepared/Topology.js"

const keyOf = (name: string): Uint8Array => new Uint8Array(createHash("sha256").update(name).digest())
const own = keyOf("own")
const other = keyOf("other")
const party = partyId("owner", own)
const participant = `PAR::venue::${fingerprint(keyOf("participant"))}`

type Transaction = PartyTopology.TopologyTransaction
type Hosts = Extract<Transaction["mapping"], { readonly case: "partyToParticipant" }>["value"]

const signingKey = (publicKey: Uint8Array, format = 3) => ({ format, publicKey, scheme: 0, usage: undefined, keySpec: 1 })
const made = (mapping: Transaction["mapping"]): Transaction => ({ operation: 1, serial: 1, mapping })
const whole = PartyTopology.selfSigned(party, participant, own)
const wholeValue = whole.mapping.value as Hosts
const hosts = (changed: Partial<Hosts> = {}): Transaction => made({ case: "partyToParticipant", value: { ...wholeValue, ...changed } })
const keys = (publicKeys: ReadonlyArray<Uint8Array>, threshold = 1, of = party): Transaction =>
  made({ case: "partyToKey", value: { party: of, threshold, signingKeys: publicKeys.map((each) => signingKey(each)) } })
const delegation = (namespace: string, target: Uint8Array, format = 3): Transaction =>
  made({
    case: "namespaceDelegation",
    value: {
      namespace,
      targetKey: signingKey(target, format),
      isRootDelegation: true,
      canSignAll: {},
      canSignAllButDelegations: undefined,
      canSignSpecific: undefined
    }
  })

const judged = (...transactions: ReadonlyArray<Transaction>) => PartyTopology.partyOf(transactions.map(PartyTopology.encode), own)
const spki = Buffer.concat([PartyTopology.spkiPrefix, own])

describe("is signed:", () => {
  test.each<readonly [string, ReadonlyArray<Transaction>]>([
    ["the party with its key, in one", [whole]],
    ["the party, its key and its namespace, in three", [delegation(fingerprint(own), own), keys([own]), hosts({ signingKeys: undefined })]],
    ["keys in their longer form", [delegation(fingerprint(own), spki, 4), whole]],
    ["participants that confirm or observe", [
      hosts({
        participants: [2, 3].map((permission, index) => ({ participantUid: `${participant}${index}`, permission, onboarding: undefined }))
      })
    ]]
  ])("%s", (_, transactions) => {
    expect(Either.getOrThrow(judged(...transactions))).toBe(party)
  })
})

describe("is not signed:", () => {
  test.each<readonly [string, ReadonlyArray<Transaction>]>([
    ["another key's party", [hosts({ party: partyId("owner", other) })]],
    ["two parties", [keys([own], 1, partyId("second", own)), whole]],
    ["another key beside its own", [hosts({ signingKeys: { keys: [signingKey(own), signingKey(other)], threshold: 1 } })]],
    ["another key in its place", [hosts({ signingKeys: { keys: [signingKey(other)], threshold: 1 } })]],
    ["its key in a form that it has not", [hosts({ signingKeys: { keys: [signingKey(own, 4)], threshold: 1 } })]],
    ["a threshold of none", [hosts({ signingKeys: { keys: [signingKey(own)], threshold: 0 } })]],
    ["another key in a mapping of its own", [keys([other]), whole]],
    ["two keys in a mapping of their own", [keys([own, other]), whole]],
    ["its namespace for another key", [delegation(fingerprint(own), other), whole]],
    ["another namespace for its key", [delegation(fingerprint(other), own), whole]],
    ["a participant that may submit by itself", [
      hosts({ participants: [{ participantUid: participant, permission: 1, onboarding: undefined }] })
    ]],
    ["a participant that may do nobody knows what", [
      hosts({ participants: [{ participantUid: participant, permission: 0, onboarding: undefined }] })
    ]],
    ["no participant", [hosts({ participants: [] })]],
    ["no key anywhere", [hosts({ signingKeys: undefined })]],
    ["a key without a place", [keys([own])]],
    ["the end of a party", [{ ...whole, operation: 2 }]],
    ["a change of one that is there", [{ ...whole, serial: 2 }]]
  ])("%s", (_, transactions) => {
    expect(Either.isLeft(judged(...transactions))).toBe(true)
  })

  test("bytes that are no topology, or have more in them than is known", () => {
    const encoded = PartyTopology.encode(whole)
    for (const bytes of [new Uint8Array(), Uint8Array.of(255, 1), Uint8Array.of(...encoded, 0x18, 1), encoded.slice(0, -1)]) {
      expect(Either.isLeft(PartyTopology.partyOf([bytes], own))).toBe(true)
    }
    expect(Either.isLeft(PartyTopology.partyOf([], own))).toBe(true)
  })
})

describe("what a wallet had its participant make", () => {
  const { publicKey, transactions } = (JSON.parse(fs.readFileSync("fixtures/ledger/hashes.json", "utf8")) as {
    readonly topology: { readonly publicKey: string; readonly transactions: ReadonlyArray<string> }
  }).topology
  const bytes = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"))
  const decoded = transactions.map((each) => PartyTopology.decode(bytes(each)))

  test("is understood to the last field, and comes to the same bytes again", () => {
    const cases = decoded.map((each) => typeof each === "string" ? each : each.mapping.case)
    expect(cases).toStrictEqual(["namespaceDelegation", "partyToKey", "partyToParticipant"])
    const encoded = decoded.map((each) => typeof each === "string" ? each : Buffer.from(PartyTopology.encode(each)).toString("base64"))
    expect(encoded).toStrictEqual(transactions)
  })

  test("is signed by the key that it is of alone", () => {
    const of = (name: string): PartyTopology.TopologyTransaction =>
      decoded.find((each): each is PartyTopology.TopologyTransaction => typeof each !== "string" && each.mapping.case === name)!
    const key = bytes(publicKey)
    const wallets = partyId("alice", key)
    const all = [of("namespaceDelegation"), PartyTopology.selfSigned(wallets, participant, key)].map(PartyTopology.encode)
    expect(Either.getOrThrow(PartyTopology.partyOf(all, key))).toBe(wallets)
    expect(Either.isLeft(PartyTopology.partyOf(all, own))).toBe(true)
    expect(Either.isLeft(PartyTopology.partyOf([...all, PartyTopology.encode(of("partyToKey"))], key))).toBe(true)
  })
})
