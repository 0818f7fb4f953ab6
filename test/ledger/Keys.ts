/** Ed25519 keys derived from names, the same in every run. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto"
import { fingerprint, partyId } from "../../src/ledger/prepared/Topology.js"

export interface Key {
  readonly publicKey: Uint8Array
  readonly fingerprint: string
  readonly party: (hint: string) => string
  readonly sign: (bytes: Uint8Array) => Uint8Array
}

const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex")

const raw = (key: KeyObject): Uint8Array => Uint8Array.from(createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32))

export const key = (name: string): Key => {
  const secret = createHash("sha256").update(name).digest()
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8, secret]), format: "der", type: "pkcs8" })
  const publicKey = raw(privateKey)
  return {
    publicKey,
    fingerprint: fingerprint(publicKey),
    party: (hint) => partyId(hint, publicKey),
    sign: (bytes) => Uint8Array.from(sign(null, bytes, privateKey))
  }
}
