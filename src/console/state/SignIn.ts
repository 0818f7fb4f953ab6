/** Creating an account with its first passkey, signing in with a passkey, and signing out. */
import type { Client } from "./Client.js"
import type { Assertion, Purpose, Registration, Session } from "./Contract.js"
import type { Credential } from "./Credential.js"
import * as Failure from "./Failure.js"
import { hasFailed, type Result } from "./Failure.js"
import type { Ceremony, Outside } from "./Outside.js"
import { Task } from "./Task.js"
import { type GoesOn, heard } from "./Turns.js"

/** The longest name that the venue takes for a passkey, in characters. */
export const longestLabel = 64

type Passkeys = Pick<Outside, "createPasskey" | "usePasskey">

/** The answer to a challenge, sent with the challenge's identifier. */
const answered = <A>(
  challengeIdentifier: string,
  ceremony: Ceremony<A>
): Result<{ readonly challengeIdentifier: string; readonly credential: A }> =>
  "trouble" in ceremony
    ? { failure: Failure.ofTrouble(ceremony.trouble) }
    : { value: { challengeIdentifier, credential: ceremony.credential } }

/** A fresh assertion for a purpose by one of the account's passkeys, while somebody waits for it. */
export const assert = async (client: Client, outside: Passkeys, purpose: Purpose, goesOn: GoesOn): Promise<Result<Assertion>> => {
  const asked = heard(goesOn, await client.beginAuthentication(purpose))
  if (hasFailed(asked)) return asked
  return heard(goesOn, answered(asked.value.challengeIdentifier, await outside.usePasskey(asked.value.options)))
}

/** Registers a new passkey, while somebody waits for it: for a new account, or for the signed-in one with an assertion. */
export const register = async (
  client: Client,
  outside: Passkeys,
  displayName: string,
  goesOn: GoesOn,
  assertion?: Assertion
): Promise<Result<Registration>> => {
  const name = displayName.trim()
  const asked = heard(
    goesOn,
    await client.beginRegistration({
      ...(name === "" ? undefined : { displayName: name }),
      ...(assertion === undefined ? undefined : { assertion })
    })
  )
  if (hasFailed(asked)) return asked
  return heard(goesOn, answered(asked.value.challengeIdentifier, await outside.createPasskey(asked.value.options)))
}

/** Of an account that may have been opened. */
const perhapsOpened = [
  "the account was opened",
  "Sign in with the new passkey first. Only if that is refused, create an account."
] as const

export class SignIn {
  readonly task = new Task()

  constructor(private readonly client: Client, private readonly credential: Credential, private readonly outside: Passkeys) {}

  /** Signs in with any passkey that this device offers for the venue. */
  async signIn(): Promise<void> {
    await this.enter(async (goesOn) => {
      const answer = await assert(this.client, this.outside, "sign_in", goesOn)
      return hasFailed(answer) ? answer : this.client.finishAuthentication(answer.value)
    })
  }

  /** Opens an account that is owned by a new passkey. */
  async createAccount(displayName: string): Promise<void> {
    await this.enter(async (goesOn) => {
      const answer = await register(this.client, this.outside, displayName, goesOn)
      if (hasFailed(answer)) return answer
      const opened = await this.client.finishRegistration(answer.value)
      // Another try would ask for another passkey, and open another account.
      return hasFailed(opened) ? { failure: Failure.withoutKey(opened.failure, ...perhapsOpened) } : opened
    })
  }

  /** Signs out here at once; if the venue cannot be told, the user is informed. */
  async signOut(): Promise<void> {
    const asked = this.client.endSession()
    this.credential.drop("You are signed out.")
    const told = await asked
    // A session that had ended already needs no telling.
    if (hasFailed(told) && told.failure.code !== "unauthorized" && this.credential.signed.value === undefined) {
      this.credential.drop("You are signed out here. The venue could not be told: the session ends there by itself within 12 hours.")
    }
  }

  private async enter(way: (goesOn: GoesOn) => Promise<Result<Session>>): Promise<void> {
    const session = await this.task.run(way)
    if (session !== undefined) this.credential.keep(session)
  }
}
