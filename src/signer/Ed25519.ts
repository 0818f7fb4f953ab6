/** Ed25519 by the system's cryptography, over raw keys: a key is its 32-byte seed. Signatures are deterministic (RFC 8032). */
import { createPrivateKey, createPublicKey, type KeyObject, sign as signBytes } from "node:crypto"
import { remembered } from "../domain/Remembered.js"
import { spkiPrefix } from "../ledger/prepared/PartyTopology.js"

export const seedBytes = 32

/** The bytes before the seed in PKCS #8. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

/** Most seeds whose key objects are kept. This exposes nothing more: the signer holds every seed in memory while it runs. */
const mostKeys = 1_024

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: Uint8Array
}

/** The key pair of a seed given in base64. Importing a key takes ten times as long as signing with it. */
const pairOfText = remembered(mostKeys, (text: string): Pair => {
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, Buffer.from(text, "base64")]), format: "der", type: "pkcs8" })
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" })
  return { privateKey, publicKey: new Uint8Array(spki.subarray(spkiPrefix.length)) }
})

const pairOf = (seed: Uint8Array): Pair => pairOfText(Buffer.from(seed).toString("base64"))

/** The raw public half of a seed, 32 bytes. */
export const publicKeyOf = (seed: Uint8Array): Uint8Array => pairOf(seed).publicKey.slice()

/** The signature over a message, 64 bytes. */
export const sign = (seed: Uint8Array, message: Uint8Array): Uint8Array => new Uint8Array(signBytes(null, message, pairOf(seed).privateKey))
