/**
 * The topology that makes a party of a key, in the form of Canton's topology transactions (protobuf, version 30), and the check that it
 * gives control of the party to nobody else: it must name this key alone, and no participant may submit without it.
 */
import * as Either from "effect/Either"
import { fingerprint } from "./Topology.js"
import * as Wire from "./Wire.js"

/** The version of the messages that can be read. */
const knownVersion = 30
const addOrReplace = 1
const firstSerial = 1
/** Key formats. */
const rawFormat = 3
const spkiFormat = 4
/** The DER prefix before a raw Ed25519 key in its SubjectPublicKeyInfo. */
export const spkiPrefix: Uint8Array = Buffer.from("302a300506032b6570032100", "hex")
/** Key algorithm Curve25519, and key uses: namespace, proof of ownership, and protocol. */
const curve25519 = 1
const usesPacked = Uint8Array.of(1, 5, 4)
/** Permission of a participant that confirms what the party has signed. */
const confirmation = 2
/** Permission of a participant that may submit transactions for the party without its signature. */
const submission = 1

const empty = Wire.message("Empty", {})

const signingKey = Wire.message("SigningPublicKey", {
  format: Wire.plain(2, Wire.int32, 0),
  publicKey: Wire.plain(3, Wire.bytes, new Uint8Array()),
  scheme: Wire.plain(4, Wire.int32, 0),
  /** Repeated enum values, packed. */
  usage: Wire.optional(5, Wire.bytes),
  keySpec: Wire.plain(6, Wire.int32, 0)
})
type SigningKey = typeof signingKey extends Wire.Kind<infer A> ? A : never

const namespaceDelegation = Wire.message("NamespaceDelegation", {
  namespace: Wire.plain(1, Wire.text, ""),
  targetKey: Wire.required(2, signingKey),
  isRootDelegation: Wire.plain(3, Wire.bool, false),
  canSignAll: Wire.optional(4, empty),
  canSignAllButDelegations: Wire.optional(5, empty),
  canSignSpecific: Wire.optional(6, Wire.message("CanSignSpecificMappings", { mappings: Wire.optional(1, Wire.bytes) }))
})
type NamespaceDelegation = typeof namespaceDelegation extends Wire.Kind<infer A> ? A : never

const partyToKey = Wire.message("PartyToKeyMapping", {
  party: Wire.plain(1, Wire.text, ""),
  threshold: Wire.plain(3, Wire.uint32, 0),
  signingKeys: Wire.repeated(4, signingKey)
})
type PartyToKey = typeof partyToKey extends Wire.Kind<infer A> ? A : never

const partyToParticipant = Wire.message("PartyToParticipant", {
  party: Wire.plain(1, Wire.text, ""),
  threshold: Wire.plain(2, Wire.uint32, 0),
  participants: Wire.repeated(
    3,
    Wire.message("HostingParticipant", {
      participantUid: Wire.plain(1, Wire.text, ""),
      permission: Wire.plain(2, Wire.int32, 0),
      onboarding: Wire.optional(3, empty)
    })
  ),
  signingKeys: Wire.optional(
    6,
    Wire.message("SigningKeysWithThreshold", { keys: Wire.repeated(1, signingKey), threshold: Wire.plain(2, Wire.uint32, 0) })
  )
})
type PartyToParticipant = typeof partyToParticipant extends Wire.Kind<infer A> ? A : never

interface Mappings {
  readonly namespaceDelegation: NamespaceDelegation
  readonly partyToParticipant: PartyToParticipant
  readonly partyToKey: PartyToKey
}

const topologyTransaction = Wire.message("TopologyTransaction", {
  operation: Wire.plain(1, Wire.int32, 0),
  serial: Wire.plain(2, Wire.uint32, 0),
  mapping: Wire.required(
    3,
    Wire.alternatives<Mappings>("TopologyMapping", {
      namespaceDelegation: [1, namespaceDelegation],
      partyToParticipant: [9, partyToParticipant],
      partyToKey: [16, partyToKey]
    })
  )
})
export type TopologyTransaction = typeof topologyTransaction extends Wire.Kind<infer A> ? A : never

/** Messages are wrapped together with their version. */
const versioned = Wire.message("UntypedVersionedMessage", {
  data: Wire.plain(1, Wire.bytes, new Uint8Array()),
  version: Wire.plain(2, Wire.int32, 0)
})

/** The bytes of a topology transaction, as a ledger would generate them. */
export const encode = (transaction: TopologyTransaction): Uint8Array =>
  Wire.encode(versioned, { data: Wire.encode(topologyTransaction, transaction), version: knownVersion })

/** The single transaction that makes a key a party at a participant: the key authorizes it by itself. */
export const selfSigned = (party: string, participantUid: string, publicKey: Uint8Array): TopologyTransaction => ({
  operation: addOrReplace,
  serial: firstSerial,
  mapping: {
    case: "partyToParticipant",
    value: {
      party,
      threshold: 1,
      participants: [{ participantUid, permission: confirmation, onboarding: undefined }],
      signingKeys: { keys: [{ format: rawFormat, publicKey, scheme: 0, usage: usesPacked, keySpec: curve25519 }], threshold: 1 }
    }
  }
})

/** A topology transaction, decoded completely, or why the bytes are not one. */
export const decode = (encoded: Uint8Array): TopologyTransaction | string => {
  const message = Wire.decode(versioned, encoded)
  if (message instanceof Wire.Malformed) return message.reason
  if (message.version !== knownVersion) return `it is of version ${message.version}`
  const transaction = Wire.decode(topologyTransaction, message.data)
  return transaction instanceof Wire.Malformed ? transaction.reason : transaction
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const isKey = ({ format, publicKey: encoded }: SigningKey, publicKey: Uint8Array): boolean =>
  (format === rawFormat && isEqual(encoded, publicKey))
  || (format === spkiFormat && isEqual(encoded, Buffer.concat([spkiPrefix, publicKey])))

/** Whether a set of keys with its threshold consists of this key alone. */
const isOnly = (keys: ReadonlyArray<SigningKey>, threshold: number, publicKey: Uint8Array): boolean =>
  keys.length === 1 && threshold === 1 && isKey(keys[0]!, publicKey)

const otherKey = "it lets another key sign for the party"

/** Why one transaction would not leave control of the party to the key alone; undefined where it does. */
const faultOf = ({ mapping, operation, serial }: TopologyTransaction, namespace: string, publicKey: Uint8Array): string | undefined => {
  if (operation !== addOrReplace || serial !== firstSerial) return "it makes no new party"
  switch (mapping.case) {
    case "namespaceDelegation":
      return mapping.value.namespace === namespace && isKey(mapping.value.targetKey, publicKey)
        ? undefined
        : "it delegates the party's namespace to another key"
    case "partyToKey":
      return isOnly(mapping.value.signingKeys, mapping.value.threshold, publicKey) ? undefined : otherKey
    case "partyToParticipant": {
      const { participants, signingKeys } = mapping.value
      if (participants.length === 0 || participants.some(({ permission }) => permission <= 0)) {
        return "it does not say who hosts the party"
      }
      if (participants.some(({ permission }) => permission === submission)) {
        return "it lets a participant submit without the party's signature"
      }
      return signingKeys === undefined || isOnly(signingKeys.keys, signingKeys.threshold, publicKey) ? undefined : otherKey
    }
  }
}

const partyIn = ({ mapping }: TopologyTransaction): ReadonlyArray<string> =>
  mapping.case === "namespaceDelegation" ? [] : [mapping.value.party]

const tellsKey = ({ mapping }: TopologyTransaction): boolean =>
  mapping.case === "partyToKey" || (mapping.case === "partyToParticipant" && mapping.value.signingKeys !== undefined)

/** The party that a topology creates for a key, or what is wrong with the topology. */
export const partyOf = (encoded: ReadonlyArray<Uint8Array>, publicKey: Uint8Array): Either.Either<string, string> => {
  const namespace = fingerprint(publicKey)
  const transactions: Array<TopologyTransaction> = []
  for (const each of encoded) {
    const transaction = decode(each)
    if (typeof transaction === "string") return Either.left(transaction)
    const fault = faultOf(transaction, namespace, publicKey)
    if (fault !== undefined) return Either.left(fault)
    transactions.push(transaction)
  }
  const parties = new Set(transactions.flatMap(partyIn))
  const [party] = parties
  const isOwn = parties.size === 1 && party !== undefined && party.endsWith(`::${namespace}`)
  if (!isOwn) return Either.left("it is not of the key's own party")
  const isWhole = transactions.some(tellsKey) && transactions.some(({ mapping }) => mapping.case === "partyToParticipant")
  return isWhole ? Either.right(party) : Either.left("it does not say where the party is hosted, or which key is its own")
}
