/** An agent's request for a key, and the owner's decision. The agent gets exactly the scopes that it asked for, or nothing. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type { ConnectRequest } from "./Contract.js"
import { hasFailed, type Result } from "./Failure.js"
import { Reading, Task } from "./Task.js"

export type Decision = "approved" | "denied"

export class Approval {
  readonly request
  readonly deciding = new Task()
  /** The owner's decision on the request that is shown. */
  readonly decision = signal<Decision | undefined>(undefined)
  private userCode = ""

  constructor(private readonly client: Client) {
    this.request = new Reading(() => client.connectRequest(this.userCode))
  }

  /** Shows the request of the agent with this code. */
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
