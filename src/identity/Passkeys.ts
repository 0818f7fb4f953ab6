/**
 * The ceremonies of passkeys: challenges that are asked once, and what an authenticator is asked for. Challenges are in this
 * process only: with a new start those under way are over, and whoever was asked is asked again.
 */
import type { Reached } from "../domain/Marks.js"
import { FairPlaces } from "./FairPlaces.js"
import { isOpen } from "../domain/Lasting.js"
import type { SecureRandom } from "./SecureRandom.js"
import type * as Context from "effect/Context"

/** Algorithms of keys that are taken, as COSE numbers them: ES256, and RS256 for authenticators that have nothing else. */
export const algorithms = [-7, -257] as const

/** How long a challenge may be answered. */
const challengeMs = 5 * 60 * 1000
/** Challenges that may be open at one time: with one more, the network that holds most of them loses its oldest. */
const mostChallenges = 65_536
/**
 * And of one remote address: with another one its own oldest is over, and nobody else's. It is not refused instead, since most
 * that stay open were asked by a page that somebody has left: a refusal would hold everybody behind that address up for as long as
 * those last, by no more than 64 requests. At the limit of sign-ins the oldest is two minutes old by then, and whoever
 * still meant to answer it is asked again.
 */
export const mostOfAddress = 64

const challengeBytes = 32
const identifierBytes = 16
const userHandleBytes = 32

/** What the answer of a challenge is for. Each is good for that alone. */
export type Ceremony =
  /** Registers the first passkey of an account that is opened by it. */
  | { readonly purpose: "open_account"; readonly userHandle: string; readonly displayName: string }
  /** Registers another passkey of an account, whose owner has proved one of its passkeys. */
  | {
    readonly purpose: "new_passkey"
    readonly account: number
    readonly provedBy: string
    readonly userHandle: string
    readonly displayName: string
  }
  /** Proves a passkey: of an account that was named, or whichever one holds it. */
  | { readonly purpose: "sign_in" | "add_passkey" | "remove_passkey"; readonly account: number | undefined }
export type Purpose = Ceremony["purpose"]

export interface Challenge {
  readonly ceremony: Ceremony
  /** base64url. */
  readonly challenge: string
  readonly expiresAtEpochMs: number
}

/** Open challenges by the identifier that whoever was asked answers with, in the order in which they were asked. */
export class Challenges {
  private readonly open = new Map<string, Challenge>()
  private readonly places: FairPlaces<string>

  constructor(
    private readonly random: Context.Tag.Service<SecureRandom>,
    ofAddress: number,
    private readonly reached?: Reached
  ) {
    this.places = new FairPlaces(mostChallenges, ofAddress)
  }

  get count(): number {
    return this.open.size
  }

  /** Text of random bytes, base64url. */
  private text(bytes: number): string {
    return Buffer.from(this.random.bytes(bytes)).toString("base64url")
  }

  /** What authenticators keep for a new account. */
  newUserHandle(): string {
    return this.text(userHandleBytes)
  }

  /** A new challenge for an address, with its identifier. */
  ask(ceremony: Ceremony, address: string, atEpochMs: number): readonly [challengeIdentifier: string, challenge: Challenge] {
    this.forget(atEpochMs)
    const identifier = `chl_${this.text(identifierBytes)}`
    const challenge = { ceremony, challenge: this.text(challengeBytes), expiresAtEpochMs: atEpochMs + challengeMs }
    this.places.take(identifier, address, (left, crowd) => {
      if (crowd === "address") this.reached?.("a challenge made room for another one of its address")
      this.open.delete(left)
    })
    this.open.set(identifier, challenge)
    return [identifier, challenge]
  }

  /** Takes a challenge out, if it is open. */
  private close(identifier: string): Challenge | undefined {
    const challenge = this.open.get(identifier)
    this.open.delete(identifier)
    this.places.leave(identifier)
    return challenge
  }

  /** Takes a challenge to be answered, once: whatever comes of the answer, it is over. Undefined where none is open for this. */
  take<P extends Purpose>(
    identifier: string,
    purposes: ReadonlyArray<P>,
    atEpochMs: number
  ): Challenge & { readonly ceremony: Extract<Ceremony, { readonly purpose: P }> } | undefined {
    const challenge = this.close(identifier)
    if (challenge === undefined) return undefined
    if (!isOpen(challenge.expiresAtEpochMs, challengeMs, atEpochMs)) {
      this.reached?.("a challenge was answered too late")
      return undefined
    }
    const { purpose } = challenge.ceremony
    return (purposes as ReadonlyArray<Purpose>).includes(purpose) ? challenge as never : undefined
  }

  private forget(atEpochMs: number): void {
    for (const [identifier, { expiresAtEpochMs }] of this.open) {
      if (isOpen(expiresAtEpochMs, challengeMs, atEpochMs)) return
      this.close(identifier)
    }
  }
}

interface Descriptor {
  readonly credentialId: string
  readonly transports: string
}

const descriptor = ({ credentialId, transports }: Descriptor) => ({
  type: "public-key" as const,
  id: credentialId,
  transports: transports === "" ? [] : transports.split(",")
})

/** What a browser is asked to make a passkey by, in WebAuthn's JSON form. */
export const creationOptions = (
  rpId: string,
  challenge: string,
  user: { readonly userHandle: string; readonly name: string },
  known: ReadonlyArray<Descriptor>
) => ({
  rp: { id: rpId, name: "Perpetuum" },
  user: { id: user.userHandle, name: user.name, displayName: user.name },
  challenge,
  pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key" as const, alg })),
  timeout: challengeMs,
  excludeCredentials: known.map(descriptor),
  authenticatorSelection: { residentKey: "required" as const, requireResidentKey: true, userVerification: "required" as const },
  attestation: "none" as const
})

/** What a browser is asked to prove a passkey by, likewise; without credentials whichever it finds. */
export const requestOptions = (rpId: string, challenge: string, known: ReadonlyArray<Descriptor>) => ({
  rpId,
  challenge,
  timeout: challengeMs,
  allowCredentials: known.map(descriptor),
  userVerification: "required" as const
})
