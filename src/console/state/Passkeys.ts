/** The account's passkeys: which there are, one more, one less. Both need a passkey that the account has, used that moment. */
import type { Client } from "./Client.js"
import { hasFailed } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { assert, register } from "./SignIn.js"
import { Reading, Task } from "./Task.js"

export class Passkeys {
  readonly list
  readonly adding = new Task()
  readonly removing = new Task()

  constructor(
    private readonly client: Client,
    private readonly outside: Pick<Outside, "createPasskey" | "usePasskey">
  ) {
    this.list = new Reading(() => client.passkeys())
  }

  /** Adds a passkey; whether it did. */
  async add(displayName: string): Promise<boolean> {
    const session = await this.adding.run(async (goesOn) => {
      const assertion = await assert(this.client, this.outside, "add_passkey", goesOn)
      if (hasFailed(assertion)) return assertion
      const answer = await register(this.client, this.outside, displayName, goesOn, assertion.value)
      if (hasFailed(answer)) return answer
      const opened = await this.client.finishRegistration(answer.value)
      // The new passkey has opened a session, too. The one that is signed in stays: it does not end with the passkey's removal.
      if (!hasFailed(opened)) await this.client.endSession(opened.value.accessToken)
      return opened
    })
    if (session === undefined) return false
    await this.list.load()
    return true
  }

  /** Removes a passkey; whether it did. */
  async remove(credentialId: string): Promise<boolean> {
    const removed = await this.removing.run(async (goesOn) => {
      const assertion = await assert(this.client, this.outside, "remove_passkey", goesOn)
      if (hasFailed(assertion)) return assertion
      const answer = await this.client.removePasskey(credentialId, { assertion: assertion.value })
      return hasFailed(answer) ? answer : { value: true }
    })
    if (removed === undefined) return false
    await this.list.load()
    return true
  }

  clear(): void {
    this.list.clear()
    this.adding.forget()
    this.removing.forget()
  }
}
