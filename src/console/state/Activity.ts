/** The account's security events (sign-ins, passkeys and keys), newest first. */
import type { Client } from "./Client.js"
import type { SecurityEvent } from "./Contract.js"
import type { Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"

export interface Events {
  readonly events: ReadonlyArray<SecurityEvent>
  readonly nextCursor: string | null
}

export class Activity {
  readonly list
  readonly older = new Task()
  readonly ending = new Task()

  constructor(private readonly client: Client) {
    this.list = new Reading((): Promise<Result<Events>> => client.securityEvents(undefined))
  }

  /** Adds the next page. */
  async more(): Promise<void> {
    const shown = this.list.value.value
    if (shown === undefined || shown.nextCursor === null) return
    const { nextCursor } = shown
    const page = await this.older.run((): Promise<Result<Events>> => this.client.securityEvents(nextCursor))
    if (page === undefined || this.list.value.value !== shown) return
    this.list.value.value = { events: [...shown.events, ...page.events], nextCursor: page.nextCursor }
  }

  /** Signs out all other sessions; returns whether that succeeded. The events are then read again, since this is one of them. */
  async signOutElsewhere(): Promise<boolean> {
    const ended = await this.ending.run(() => this.client.endOtherSessions())
    if (ended === undefined) return false
    await this.list.load()
    return true
  }

  clear(): void {
    this.list.clear()
    this.older.forget()
    this.ending.forget()
  }
}
