/**
 * An agent that asks for a key: what it asks, and the owner's yes or no. What is granted is what the agent asked for, to the
 * scope: the owner takes it or leaves it.
 */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type { ConnectRequest } from "./Contract.js"
import { hasFailed, type Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"

export type Decision = "approved" | "denied"

export class Approval {
  readonly request
  readonly deciding = new Task()
  /** What the owner has just decided of the request that is shown. */
  readonly decision = signal<Decision | undefined>(undefined)
  private userCode = ""

  constructor(private readonly client: Client) {
    this.request = new Reading(() => client.connectRequest(this.userCode))
  }

  /** Shows what the agent with this code asks for. */
  async look(userCode: string): Promise<void> {
    this.clear()
    this.userCode = userCode
    await this.request.load()
  }

  async approve(request: ConnectRequest): Promise<void> {
    await this.decide("approved", () => this.client.approveAgent({ userCode: request.userCode, scopes: request.scopes }))
  }

  async deny(request: ConnectRequest): Promise<void> {
    await this.decide("denied", () => this.client.denyAgent({ userCode: request.userCode }))
  }

  clear(): void {
    this.request.clear()
    this.deciding.forget()
    this.decision.value = undefined
    this.userCode = ""
  }

  private async decide(decision: Decision, ask: () => Promise<Result<unknown>>): Promise<void> {
    const decided = await this.deciding.run(async () => {
      const answer = await ask()
      return hasFailed(answer) ? answer : { value: decision }
    })
    if (decided !== undefined) this.decision.value = decided
  }
}
