/**
 * Passkeys of simulated owners. What an authenticator says is made of the passkey's number and of what it was asked, and of
 * nothing else: a script that names both is answered alike. What stands for a signature is `SimPasskeyVerifier`'s.
 */
import { createHash } from "node:crypto"
import { type Asserted, type Attested, signatureOf } from "../world/SimPasskeyVerifier.js"

/** What may be wrong with a response, each of which has to be refused. */
export const faults = [
  "another challenge",
  "another ceremony",
  "another origin",
  "within another page",
  "another site",
  "another signature",
  "another id",
  "another owner"
] as const
export type Fault = (typeof faults)[number]

/** A response as a client means it: everything in it that is not the answer of an earlier call. */
export interface Proof {
  readonly kind: "create" | "get"
  /** The number of the passkey that signs. */
  readonly passkey: number
  /** The call whose answer asked. */
  readonly asked: number
  /** The authenticator's counter. */
  readonly signCount: number
  /** The call whose answer said whose passkey it is; undefined: it says nothing of that. */
  readonly owner?: number
  readonly fault?: Fault
}

/** What a client was asked. */
export interface Challenge {
  readonly challenge: string
  readonly rpId: string
  readonly userHandle: string | undefined
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url")
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const idBytes = 16

/** How the venue knows a passkey. */
export const credentialIdOf = (passkey: number): string =>
  createHash("sha256").update(`passkey ${passkey}`).digest().subarray(0, idBytes).toString("base64url")
const publicKeyOf = (passkey: number): string => digest(`public key of passkey ${passkey}`)

/** The pages that ask, and another's. */
const origin = "https://venue.example"
const otherOrigin = "https://venue.example.evil.example"
const otherSite = "evil.example"

const clientData = ({ fault, kind }: Proof, { challenge }: Challenge): string =>
  encoded({
    type: (kind === "create") === (fault === "another ceremony") ? "webauthn.get" : "webauthn.create",
    challenge: fault === "another challenge" ? digest(challenge) : challenge,
    origin: fault === "another origin" ? otherOrigin : origin,
    crossOrigin: fault === "within another page"
  })

const created = (proof: Proof, asked: Challenge, clientDataJSON: string): object => {
  const { fault, passkey, signCount } = proof
  const attested: Attested = {
    credentialId: credentialIdOf(passkey),
    publicKey: publicKeyOf(passkey),
    signCount,
    rpId: fault === "another site" ? otherSite : asked.rpId
  }
  return { clientDataJSON, attestationObject: encoded(attested), transports: ["internal", "hybrid"] }
}

const asserted = (proof: Proof, asked: Challenge, clientDataJSON: string): {
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
  readonly userHandle?: string
} => {
  const { fault, passkey, signCount } = proof
  const said: Asserted = { signCount, rpId: fault === "another site" ? otherSite : asked.rpId }
  const authenticatorData = encoded(said)
  const signer = fault === "another signature" ? publicKeyOf(passkey + 1) : publicKeyOf(passkey)
  const userHandle = fault === "another owner" ? digest("another owner") : asked.userHandle
  return {
    clientDataJSON,
    authenticatorData,
    signature: signatureOf(signer, clientDataJSON, authenticatorData),
    ...(userHandle === undefined ? {} : { userHandle })
  }
}

/** An assertion as the second factor of an approval on the ledger. */
export const approve = (proof: Proof, asked: Challenge): object => {
  const { authenticatorData, clientDataJSON: said, signature } = asserted(proof, asked, clientData(proof, asked))
  return { kind: "Fido2", credentialAssertion: { credId: credentialIdOf(proof.passkey), clientData: said, signature, authenticatorData } }
}

/** The response, as a browser sends it. */
export const respond = (proof: Proof, asked: Challenge): object => {
  const id = credentialIdOf(proof.passkey)
  const clientDataJSON = clientData(proof, asked)
  return {
    id,
    rawId: proof.fault === "another id" ? credentialIdOf(proof.passkey + 1) : id,
    type: "public-key",
    response: proof.kind === "create" ? created(proof, asked, clientDataJSON) : asserted(proof, asked, clientDataJSON),
    clientExtensionResults: {}
  }
}
