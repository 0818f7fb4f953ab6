/** Drives money at a live venue: what owners approve and what the ledger says is done by the test, as records of the venue's. */
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { FundsDriver } from "../engine/FundsDriver.js"
import type { LiveVenue } from "./LiveVenue.js"

export class LiveFunds extends FundsDriver {
  constructor(readonly venue: LiveVenue) {
    super({}, venue.engine)
    this.atEpochMs = venue.atEpochMs
  }

  override run(command: Command): Outcome {
    return this.venue.run(command)
  }

  // The venue's own keys are counted likewise.
  override nextKey(): string {
    return `funds-${super.nextKey()}`
  }
}
