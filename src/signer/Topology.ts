/**
 * What makes a party on a Canton ledger, as far as its own key signs it. A topology is signed only where it hands the party to nobody
 * else: all of it names this key alone as the party's, and no participant may submit without it.
 */
import * as Either from "effect/Either"
import { fingerprintOf, purposedHash, spkiPrefix } from "./Ed25519.js"
import { bytesAt, type Fields, fieldsOf, integerAt, messageAt, messagesAt, textAt } from "./Protobuf.js"

/** Purposes of hashes, as the ledger numbers them. */
const transactionPurpose = 11
const combinedPurpose = 55

/** The version of the messages that are read. */
const knownVersion = 30
const addOrReplace = 1
const firstSerial = 1
/** Formats of keys. */
const rawFormat = 3
const spkiFormat = 4
/** A participant that may submit acts for the party without its signature. */
const submission = 1

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

/** The one hash that stands for several transactions, in whatever order they come. */
export const multiHashOf = (transactions: ReadonlyArray<Uint8Array>): Uint8Array => {
  const hashes = transactions.map((each) => purposedHash(transactionPurpose, each)).sort(Buffer.compare)
  const number = (value: number): Buffer => {
    const encoded = Buffer.alloc(4)
    encoded.writeUInt32BE(value)
    return encoded
  }
  return purposedHash(combinedPurpose, Buffer.concat([number(hashes.length), ...hashes.flatMap((each) => [number(each.length), each])]))
}

/** Whether a `SigningPublicKey` is this raw key. */
const isKey = (signingKey: Fields, publicKey: Uint8Array): boolean => {
  const format = integerAt(signingKey, 2)
  const encoded = bytesAt(signingKey, 3)
  if (encoded === undefined) return false
  return isEqual(encoded, publicKey)
    ? format === rawFormat
    : format === spkiFormat && isEqual(encoded, Buffer.concat([spkiPrefix, publicKey]))
}

/** Whether keys with a threshold are this key alone. */
const isOnly = (keys: ReadonlyArray<Fields>, threshold: number, publicKey: Uint8Array): boolean =>
  keys.length === 1 && threshold === 1 && isKey(keys[0]!, publicKey)

/** What one transaction comes to: the party that it is about, and whether it says where it is hosted and by which key it signs. */
interface Mapping {
  readonly party: string | undefined
  readonly hosts: boolean
  readonly keys: boolean
}

const ofNamespace = (delegation: Fields, namespace: string, publicKey: Uint8Array): Mapping | string => {
  const target = messageAt(delegation, 2)
  return textAt(delegation, 1) === namespace && target !== undefined && isKey(target, publicKey)
    ? { party: undefined, hosts: false, keys: false }
    : "it delegates the party's namespace to another key"
}

const ofKeys = (mapping: Fields, publicKey: Uint8Array): Mapping | string =>
  isOnly(messagesAt(mapping, 4), integerAt(mapping, 3), publicKey)
    ? { party: textAt(mapping, 1), hosts: false, keys: true }
    : "it lets another key sign for the party"

const ofHosts = (mapping: Fields, publicKey: Uint8Array): Mapping | string => {
  const hosts = messagesAt(mapping, 3)
  const permissions = hosts.map((host) => integerAt(host, 2))
  if (hosts.length === 0 || permissions.some((each) => each === 0)) return "it names no participant, or not what it may do"
  if (permissions.includes(submission)) return "it lets a participant submit without the party's signature"
  const keys = messageAt(mapping, 6)
  if (keys !== undefined && !isOnly(messagesAt(keys, 1), integerAt(keys, 2), publicKey)) return "it lets another key sign for the party"
  return { party: textAt(mapping, 1), hosts: true, keys: keys !== undefined }
}

const mappingOf = (transaction: Uint8Array, namespace: string, publicKey: Uint8Array): Mapping | string => {
  const versioned = fieldsOf(transaction)
  const data = versioned === undefined || integerAt(versioned, 2) !== knownVersion ? undefined : bytesAt(versioned, 1)
  const body = data === undefined ? undefined : fieldsOf(data)
  const mapping = body === undefined ? undefined : messageAt(body, 3)
  if (body === undefined || mapping === undefined) return "it is no topology transaction that can be read"
  if (integerAt(body, 1) !== addOrReplace || integerAt(body, 2) !== firstSerial) return "it makes no new party"
  if (mapping.length !== 1) return "it is not exactly one mapping"
  const inner = fieldsOf(mapping[0]!.bytes ?? new Uint8Array(0))
  if (inner === undefined) return "it is no mapping that can be read"
  switch (mapping[0]!.number) {
    case 1:
      return ofNamespace(inner, namespace, publicKey)
    case 9:
      return ofHosts(inner, publicKey)
    case 16:
      return ofKeys(inner, publicKey)
    default:
      return "it is of another kind than a party needs"
  }
}

/** The party that a topology makes for a key, or what is wrong with it. */
export const partyOf = (transactions: ReadonlyArray<Uint8Array>, publicKey: Uint8Array): Either.Either<string, string> => {
  const namespace = fingerprintOf(publicKey)
  const mappings: Array<Mapping> = []
  for (const transaction of transactions) {
    const mapping = mappingOf(transaction, namespace, publicKey)
    if (typeof mapping === "string") return Either.left(mapping)
    mappings.push(mapping)
  }
  const parties = new Set(mappings.flatMap(({ party }) => party ?? []))
  const [party] = parties
  if (parties.size !== 1 || party === undefined || !party.endsWith(`::${namespace}`)) return Either.left("it is of another party than the key's own")
  if (!mappings.some(({ hosts }) => hosts) || !mappings.some(({ keys }) => keys)) {
    return Either.left("it does not say where the party is hosted, or which key is its own")
  }
  return Either.right(party)
}
