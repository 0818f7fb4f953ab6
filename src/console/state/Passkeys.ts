/** The account's passkeys: listing, adding and removing them. Both changes require a fresh assertion by an existing passkey. */
import type { Client } from "./Client.js"
import { hasFailed, isUnknown, withoutKey } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { assert, register } from "./SignIn.js"
import { Reading, Task } from "./Task.js"

/** Of a passkey that may have been added. */
const perhapsAdded = ["the passkey was added", "See whether the list has it before you add another one."] as const

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

  /** Adds a passkey; returns whether that succeeded. */
  async add(displayName: string): Promise<boolean> {
    const session = await this.adding.run(async (goesOn) => {
      const assertion = await assert(this.client, this.outside, "add_passkey", goesOn)
      if (hasFailed(assertion)) return assertion
      const answer = await register(this.client, this.outside, displayName, goesOn, assertion.value)
      if (hasFailed(answer)) return answer
      const opened = await this.client.finishRegistration(answer.value)
      // Registering the new passkey has opened another session, which is ended. The present one stays, so that removing the new passkey
      // does not end it.
      if (hasFailed(opened)) {
        // Where nobody knows, the list does.
        if (isUnknown(opened.failure) && goesOn()) await this.list.load()
        return { failure: withoutKey(opened.failure, ...perhapsAdded) }
      }
      await this.client.endSession(opened.value.accessToken)
      return opened
    })
    if (session === undefined) return false
    await this.list.load()
    return true
  }

  /** Removes a passkey; returns whether that succeeded. */
  async remove(credentialId: string): Promise<boolean> {
    const removed = await this.removing.run(async (goesOn) => {
      const assertion = await assert(this.client, this.outside, "remove_passkey", goesOn)
      if (hasFailed(assertion)) return assertion
      const answer = await this.client.removePasskey(credentialId, { assertion: assertion.value })
      // Whatever was answered, or nothing: the list tells what has become of it.
      if (goesOn()) await this.list.load()
      return answer
    })
    return removed !== undefined
  }

  clear(): void {
    this.list.clear()
    this.adding.forget()
    this.removing.forget()
  }
}
