/**
 * The ceremonies of passkeys: single-use challenges, and the options for authenticators. Challenges exist only in this process: after a
 * restart open ones are lost, and the user has to start over.
 */
import type { Reached } from "../domain/Branches.js"
import { FairPlaces } from "../domain/FairPlaces.js"
import { isOpen } from "../domain/Lasting.js"
import type { SecureRandom } from "./SecureRandom.js"
import type * as Context from "effect/Context"

/** Accepted key algorithms, by their COSE numbers: ES256, and RS256 for authenticators that have nothing else. */
export const algorithms = [-7, -257] as const

/** How long a challenge may be answered, in milliseconds. */
const challengeMs = 5 * 60 * 1000
/** Most open challenges: beyond that, the network that holds most of them loses its oldest. */
const mostChallenges = 65_536
/**
 * Most open challenges of one remote address: beyond that, the address loses its oldest. A new request is not refused instead, since most
 * challenges that stay open belong to pages that were left: with a refusal, 64 requests would block everybody behind that address until
 * they expire. At the rate limit for sign-ins, the oldest is two minutes old by then; a user who still meant to answer it gets a new one.
 */
export const mostOfAddress = 64

const challengeBytes = 32
const identifierBytes = 16
const userHandleBytes = 32

/** What the answer to a challenge is for; it is good for nothing else. */
export type Ceremony =
  /** Registers the first passkey of an account, which it opens. */
  | { readonly purpose: "open_account"; readonly userHandle: string; readonly displayName: string }
  /** Registers another passkey of an account, whose owner has signed with an existing one. */
  | {
    readonly purpose: "new_passkey"
    readonly account: number
    readonly provedBy: string
    readonly userHandle: string
    readonly displayName: string
  }
  /** Proves possession of a passkey: of the named account, or of whichever account holds it. */
  | { readonly purpose: "sign_in" | "add_passkey" | "remove_passkey"; readonly account: number | undefined }
export type Purpose = Ceremony["purpose"]

export interface Challenge {
  readonly ceremony: Ceremony
  /** base64url. */
  readonly challenge: string
  readonly expiresAtEpochMs: number
}

/** Open challenges by identifier, oldest first. */
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

  /** The user handle that authenticators store for a new account. */
  newUserHandle(): string {
    return this.text(userHandleBytes)
  }

  /** Issues a challenge to an address. Returns it with its identifier. */
  ask(ceremony: Ceremony, address: string, atEpochMs: number): readonly [challengeIdentifier: string, challenge: Challenge] {
    this.forget(atEpochMs)
    const identifier = `chl_${this.text(identifierBytes)}`
    const challenge = { ceremony, challenge: this.text(challengeBytes), expiresAtEpochMs: atEpochMs + challengeMs }
    this.place(identifier, challenge, address)
    return [identifier, challenge]
  }

  /** Removes a challenge, if it is open. */
  private close(identifier: string): Challenge | undefined {
    const challenge = this.open.get(identifier)
    this.open.delete(identifier)
    this.places.leave(identifier)
    return challenge
  }

  /**
   * Takes a challenge to be answered: it is used up whatever the answer, unless it is placed again. Undefined where none is open for this
   * purpose.
   */
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

  /**
   * Opens a challenge; again, with the time that it had, where its answer was valid and came to nothing for want of room, so that the same
   * request may be repeated.
   */
  place(identifier: string, challenge: Challenge, address: string): void {
    this.places.take(identifier, address, (left, crowd) => {
      if (crowd === "address") this.reached?.("a challenge made room for another one of its address")
      this.open.delete(left)
    })
    this.open.set(identifier, challenge)
  }

  /** One that was opened again is behind younger ones, and may be kept as long as they are: it is over all the same. */
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

/** The options with which a browser creates a passkey, in WebAuthn's JSON form. */
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

/**
 * The options with which a browser signs with a passkey, in WebAuthn's JSON form; without known credentials it may use any that it finds.
 */
export const requestOptions = (rpId: string, challenge: string, known: ReadonlyArray<Descriptor>) => ({
  rpId,
  challenge,
  timeout: challengeMs,
  allowCredentials: known.map(descriptor),
  userVerification: "required" as const
})
