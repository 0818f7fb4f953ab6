/** Owners of accounts, each signed in with a passkey of its own: they act by their sessions where others act by API keys. */
import { Authenticator } from "../../test/identity/Authenticator.js"
import type { DemoAccount, VenueProcess } from "./VenueProcess.js"

const must = async <A>(venue: VenueProcess, target: string, body: object, more: Readonly<Record<string, string>> = {}): Promise<A> => {
  const response = await fetch(`http://127.0.0.1:${venue.port}${target}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${target}: ${response.status} ${text}`)
  return JSON.parse(text) as A
}

interface Asked {
  readonly challengeIdentifier: string
  readonly options: unknown
}

interface SignedIn {
  readonly accessToken: string
  readonly accountId: string
}

/** Opens funded accounts with owners who are signed in; what such an account acts by is the token of its owner's session. */
export const openOwned = async (venue: VenueProcess, count: number, amount = "1000000.0"): Promise<ReadonlyArray<DemoAccount>> => {
  const operator = `Bearer ${venue.operatorToken()}`
  const registration = "/v1/auth/passkeys/registration"
  const owned: Array<DemoAccount> = []
  while (owned.length < count) {
    const { challengeIdentifier, options } = await must<Asked>(venue, `${registration}/options`, {})
    const credential = new Authenticator().register(options, `http://localhost:${venue.port}`)
    const { accessToken, accountId } = await must<SignedIn>(venue, `${registration}/verify`, { challengeIdentifier, credential })
    await must(venue, "/v1/operator/demo/credits", { accountId, amount }, { authorization: operator, "idempotency-key": accountId })
    owned.push({ accountId, apiKey: accessToken })
  }
  return owned
}
