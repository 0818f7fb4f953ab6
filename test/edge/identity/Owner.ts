/** An owner at a venue, who requests challenges, answers them with authenticators, and sends the results. */
import { Authenticator, type Forged } from "../../identity/Authenticator.js"
import * as Fake from "../FakeVenue.js"
import type { LiveVenue } from "../LiveVenue.js"

export const origin = "http://localhost:8080"

/** An answer: its status and its body, if it has one. */
export interface Told {
  readonly status: number
  readonly body: any
}

export const ask = async (venue: LiveVenue, request: Fake.Ask): Promise<Told> => {
  const { body, status } = await venue.ask(request)
  return { status, body: body === "" ? undefined : JSON.parse(body) }
}

/** The body of an answer that must be a success. */
export const must = async (told: Promise<Told>): Promise<any> => {
  const { body, status } = await told
  if (status !== 200 && status !== 204) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

const registration = "/v1/auth/passkeys/registration"
const authentication = "/v1/auth/passkeys/authentication"

export interface Options {
  readonly challengeIdentifier: string
  readonly options: any
}

export const creation = (venue: LiveVenue, body: object = {}, key?: string): Promise<Options> =>
  must(ask(venue, { target: `${registration}/options`, body, ...(key === undefined ? undefined : { key }) }))

export const proof = (venue: LiveVenue, body: object = {}): Promise<Options> =>
  must(ask(venue, { target: `${authentication}/options`, body }))

export const register = (venue: LiveVenue, challengeIdentifier: string, credential: unknown, key?: string): Promise<Told> =>
  ask(venue, {
    target: `${registration}/verify`,
    body: { challengeIdentifier, credential },
    ...(key === undefined ? undefined : { key })
  })

export const verify = (venue: LiveVenue, challengeIdentifier: string, credential: unknown): Promise<Told> =>
  ask(venue, { target: `${authentication}/verify`, body: { challengeIdentifier, credential } })

export class Owner {
  accountId = ""
  /** The token of the latest session. */
  token = ""

  constructor(readonly venue: LiveVenue, readonly authenticator = new Authenticator()) {}

  private take({ accessToken, accountId }: { readonly accessToken: string; readonly accountId: string }): void {
    this.token = accessToken
    this.accountId = accountId
  }

  /** Opens an account with a passkey. */
  static async open(venue: LiveVenue, authenticator = new Authenticator()): Promise<Owner> {
    const owner = new Owner(venue, authenticator)
    const { challengeIdentifier, options } = await creation(venue, { displayName: "laptop" })
    owner.take(await must(register(venue, challengeIdentifier, authenticator.register(options, origin))))
    return owner
  }

  /** Signs in anew; the assertion may be forged. */
  async signIn(forged: Forged = {}, body: object = {}): Promise<Told> {
    const { challengeIdentifier, options } = await proof(this.venue, body)
    const told = await verify(this.venue, challengeIdentifier, this.authenticator.assert(options, origin, forged))
    if (told.status === 200) this.take(told.body)
    return told
  }

  /** A proof of the owner's passkey for a purpose, in the form that requests take. */
  async proof(purpose: string, authenticator = this.authenticator): Promise<object> {
    const named = this.accountId === "" ? {} : { accountId: this.accountId }
    const { challengeIdentifier, options } = await proof(this.venue, { ...named, purpose })
    return { challengeIdentifier, credential: authenticator.assert(options, origin) }
  }

  /** Adds a passkey of another authenticator. */
  async add(authenticator: Authenticator, displayName = "phone"): Promise<Told> {
    const begun = await creation(this.venue, { displayName, authentication: await this.proof("add_passkey") }, this.token)
    return register(this.venue, begun.challengeIdentifier, authenticator.register(begun.options, origin), this.token)
  }

  ask(target: string, more: Partial<Fake.Ask> = {}): Promise<Told> {
    return ask(this.venue, { target: target.replace("{account}", this.accountId), key: this.token, ...more })
  }
}
