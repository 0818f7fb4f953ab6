/** Owners at a venue that is a process of its own: their requests, and their passkeys' answers. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { Authenticator } from "../identity/Authenticator.js"

export const origin = "http://localhost:8080"

/** A pause between two polls: polling without one takes the processor from the process that works. */
export const betweenQuestions = (): Promise<void> => Effect.runPromise(Effect.sleep(20))

export class ProcessOwner {
  accountId = ""
  token = ""
  readonly authenticator = new Authenticator()

  constructor(public venue: VenueProcess) {}

  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every route, whose shape is the test's matter
  async ask(method: string, target: string, body?: object, token = this.token): Promise<{ readonly status: number; readonly json: any }> {
    const response = await fetch(`http://127.0.0.1:${this.venue.port}${target.replace("{account}", this.accountId)}`, {
      method,
      headers: {
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        "idempotency-key": `${method}-${target}`
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) }
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- likewise
  async must(method: string, target: string, body?: object, token?: string): Promise<any> {
    const { json, status } = await this.ask(method, target, body, token)
    if (status >= 300) throw new Error(`${method} ${target}: ${status} ${JSON.stringify(json)}`)
    return json
  }

  /** Sends a request as the operator. */
  operate(method: string, target: string, body?: object) {
    return this.must(method, target, body, fs.readFileSync(path.join(this.venue.dataDir, "operator-token"), "utf8").trim())
  }

  async register(): Promise<void> {
    const begun = await this.must("POST", "/v1/auth/passkeys/registration/options", {})
    const { accessToken, accountId } = await this.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: this.authenticator.register(begun.options, origin)
    })
    this.token = accessToken
    this.accountId = accountId
  }

  factor(challenge: { readonly challenge: string; readonly rpId: string }): object {
    const { id, response: { authenticatorData, clientDataJSON: clientData, signature } } = this.authenticator.assert(challenge, origin)
    return { kind: "Fido2", credentialAssertion: { credId: id, clientData, signature, authenticatorData } }
  }
}
