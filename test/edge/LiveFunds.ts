/** Moves money at a live venue: the test stands in for the owners' approvals and the ledger, by records of the venue. */
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

  // The prefix keeps these keys apart from the venue's own, which are numbered likewise.
  override nextKey(): string {
    return `funds-${super.nextKey()}`
  }
}
