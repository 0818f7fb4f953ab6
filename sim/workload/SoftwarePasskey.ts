/**
 * Passkeys of simulated owners. An authenticator's answer depends only on the passkey's number and the challenge, so that a script with
 * both gets the same answer. Signatures are stood in for by `SimPasskeyVerifier`.
 */
import { createHash } from "node:crypto"
import { type Asserted, type Attested, signatureOf } from "../world/SimPasskeyVerifier.js"

/** Faults of a response, each of which has to be refused. */
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

/** A response as a client intends it: everything in it that does not come from the answer of an earlier call. */
export interface Proof {
  readonly kind: "create" | "get"
  /** The number of the passkey that signs. */
  readonly passkey: number
  /** The call whose answer contained the challenge. */
  readonly asked: number
  /** The authenticator's counter. */
  readonly signCount: number
  /** The call whose answer named the passkey's account; undefined: the response does not name one. */
  readonly owner?: number
  readonly fault?: Fault
}

/** The content of a challenge. */
export interface Challenge {
  readonly challenge: string
  readonly rpId: string
  readonly userHandle: string | undefined
}

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url")
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const idBytes = 16

/** A passkey's credential id. */
export const credentialIdOf = (passkey: number): string =>
  createHash("sha256").update(`passkey ${passkey}`).digest().subarray(0, idBytes).toString("base64url")
const publicKeyOf = (passkey: number): string => digest(`public key of passkey ${passkey}`)

/** The venue's origin, and another page's. */
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

/**
 * Puts the count of an assertion's text where an authenticator's data has it, in four bytes behind the first 33, as digits: they are in
 * the same order as the counts.
 */
const counted = (signCount: number): { readonly head: string; readonly count: string } => ({
  head: "-".repeat(33 - `{"head":"","count":"`.length),
  count: String(signCount).padStart(4, "0")
})

const asserted = (proof: Proof, asked: Challenge, clientDataJSON: string): {
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
  readonly userHandle?: string
} => {
  const { fault, passkey, signCount } = proof
  const said: Asserted = { signCount, rpId: fault === "another site" ? otherSite : asked.rpId }
  const authenticatorData = encoded({ ...counted(signCount), ...said })
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

/** The response in the form in which a browser sends it. */
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
