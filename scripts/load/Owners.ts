/** Owners of accounts, each signed in with a passkey of its own: they act with sessions where others act with API keys. */
import { Authenticator } from "../../test/identity/Authenticator.js"
import type { DemoAccount, VenueProcess } from "./VenueProcess.js"

interface Asked {
  readonly challengeIdentifier: string
  readonly options: unknown
}

interface SignedIn {
  readonly accessToken: string
  readonly accountId: string
}

/** Opens funded accounts with signed-in owners; such an account's credential is the token of its owner's session. */
export const openOwned = async (venue: VenueProcess, count: number, amount = "1000000.0"): Promise<ReadonlyArray<DemoAccount>> => {
  const anybody = venue.client()
  const operator = venue.client(venue.operatorToken())
  const registration = "/v1/auth/passkeys/registration"
  const owned: Array<DemoAccount> = []
  while (owned.length < count) {
    const { challengeIdentifier, options } = await anybody.rest.ask<Asked>({ method: "POST", path: `${registration}/options`, body: {} })
    const credential = new Authenticator().register(options, `http://localhost:${venue.port}`)
    const { accessToken, accountId } = await anybody.rest.ask<SignedIn>({
      method: "POST",
      path: `${registration}/verify`,
      body: { challengeIdentifier, credential }
    })
    await operator.rest.ask({
      method: "POST",
      path: "/v1/operator/demo/credits",
      idempotencyKey: accountId,
      body: { accountId, amount }
    })
    owned.push({ accountId, apiKey: accessToken })
  }
  return owned
}
