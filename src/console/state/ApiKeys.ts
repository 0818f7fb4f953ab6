/** The account's API keys: listing and revoking them. */
import type { Client } from "./Client.js"
import { Reading, Task } from "./Task.js"

export class ApiKeys {
  readonly list
  readonly revoking = new Task()

  constructor(private readonly client: Client) {
    this.list = new Reading(() => client.apiKeys())
  }

  /** Revokes a key at once; returns whether that succeeded. */
  async revoke(keyId: string): Promise<boolean> {
    const revoked = await this.revoking.run(async (goesOn) => {
      const answer = await this.client.revokeApiKey(keyId)
      // Whatever was answered, or nothing: the list tells what has become of it.
      if (goesOn()) await this.list.load()
      return answer
    })
    return revoked !== undefined
  }

  clear(): void {
    this.list.clear()
    this.revoking.forget()
  }
}
