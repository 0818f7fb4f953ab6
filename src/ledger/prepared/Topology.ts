/**
 * Hashes of party topology: a key's fingerprint, with which the party's id ends, and the hash over the topology transactions, which the key
 * signs when the party is allocated.
 */
import { createHash } from "node:crypto"

/** Canton's hash purposes, which keep hashes of different things apart. */
const purposes = { topologyTransaction: 11, publicKeyFingerprint: 12, topologyTransactions: 55 } as const

/** Multihash prefix of SHA-256: code 0x12, 32 bytes. */
const multihashPrefix = Uint8Array.of(0x12, 0x20)

const int32 = (value: number): Uint8Array => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** A hash for a purpose: 34 bytes. */
const multihash = (purpose: keyof typeof purposes, bytes: Uint8Array): Uint8Array =>
  Uint8Array.from(Buffer.concat([multihashPrefix, createHash("sha256").update(int32(purposes[purpose])).update(bytes).digest()]))

/** The fingerprint of an Ed25519 key (32 bytes), in hexadecimal: `1220` and 64 digits. */
export const fingerprint = (publicKey: Uint8Array): string => Buffer.from(multihash("publicKeyFingerprint", publicKey)).toString("hex")

/** The id of a key's party with a given name. */
export const partyId = (hint: string, publicKey: Uint8Array): string => `${hint}::${fingerprint(publicKey)}`

/** The hash over topology transactions, independent of their order: 34 bytes, which the party's key signs. */
export const multiHash = (transactions: ReadonlyArray<Uint8Array>): Uint8Array => {
  const hashes = transactions.map((transaction) => multihash("topologyTransaction", transaction)).sort((a, b) => Buffer.compare(a, b))
  const sized = hashes.flatMap((hash) => [int32(hash.length), hash])
  return multihash("topologyTransactions", Buffer.concat([int32(hashes.length), ...sized]))
}
