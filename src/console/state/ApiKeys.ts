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
    return await this.revoking.run(() => this.client.revokeApiKey(keyId), () => this.list.load()) !== undefined
  }

  clear(): void {
    this.list.clear()
    this.revoking.forget()
  }
}
