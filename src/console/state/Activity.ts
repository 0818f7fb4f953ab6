/** The account's security events (sign-ins, passkeys and keys), newest first. */
import type { Client } from "./Client.js"
import type { SecurityEvent } from "./Contract.js"
import { listed, Listing } from "./Listing.js"
import { Task } from "./Task.js"

export class Activity extends Listing<SecurityEvent> {
  readonly ending = new Task()

  constructor(private readonly client: Client) {
    super(async (cursor) => listed(({ events }) => events, await client.securityEvents(cursor)), undefined, Infinity)
  }

  /** Signs out all other sessions; returns whether that succeeded. The events are read again, since this is one of them. */
  async signOutElsewhere(): Promise<boolean> {
    return await this.ending.run(() => this.client.endOtherSessions(), () => this.refresh()) !== undefined
  }

  override clear(): void {
    super.clear()
    this.ending.forget()
  }
}
