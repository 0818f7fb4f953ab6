/** Ed25519 by the system's cryptography, over raw keys: a key is its 32-byte seed. Signatures are deterministic (RFC 8032). */
import { createPrivateKey, createPublicKey, type KeyObject, sign as signBytes } from "node:crypto"
import { spkiPrefix } from "../ledger/prepared/PartyTopology.js"

export const seedBytes = 32

/** What stands before the seed in PKCS #8. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" })

/** The raw public half of a seed, 32 bytes. */
export const publicKeyOf = (seed: Uint8Array): Uint8Array => {
  const spki = createPublicKey(privateKey(seed)).export({ format: "der", type: "spki" })
  return new Uint8Array(spki.subarray(spkiPrefix.length))
}

/** The signature over a message, 64 bytes. */
export const sign = (seed: Uint8Array, message: Uint8Array): Uint8Array => new Uint8Array(signBytes(null, message, privateKey(seed)))
