/**
 * Safety (I10). What the ledger and the signer have done is taken exactly where it says something new that can be, and is refused
 * without a record for the reason that there is: a step that was rejected and is called a contradiction leaves its transfer waiting,
 * and nobody is told. Nor is a change of party ever to the one that its account has: it would wait as long. Each is judged by the model
 * as it stands at the record behind which it came to the writer.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import { isFact } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

/** What is refused for the step that it speaks of. For want of room, or under a halt, anything may be. */
const judged: ReadonlySet<Refusal> = new Set([
  Refusal.none,
  Refusal.ledgerFactKnown,
  Refusal.ledgerFactConflict,
  Refusal.transferNotFound
])

const nameOf = (refusal: Refusal): string => Object.entries(Refusal).find(([, code]) => code === refusal)![0]

/** Whether a change that has no party yet is to come to the one that it is to replace. */
const isNoChange = ({ command }: Taken, { funds }: NaiveVenue): boolean => {
  if (command.kind !== "BindParty" || command.transfer < 0) return false
  const change = funds.find(command.transfer)
  return change?.end === undefined && change?.partyId === "" && funds.parties.get(command.ofAccount)?.partyId === command.partyId
}

const judge = (taken: Taken, model: NaiveVenue): Verdict => {
  const { answered, command, sequence } = taken
  const { funds } = model
  if (isNoChange(taken, model))
    return broken(`a change of party behind record ${sequence} is to the present one: ${JSON.stringify(command)}`)
  const refusal = answered?.refusal ?? Refusal.none
  if (!isFact(command) || !judged.has(refusal)) return holds
  const must = funds.refusalOf(command)
  return refusal === must
    ? holds
    : broken(
      `a ${command.kind} behind record ${sequence} is refused as ${nameOf(refusal)}, must be ${nameOf(must)}: ${JSON.stringify(command)}`
    )
}

export const factsAreTaken: Property<Undurable> = {
  name: "what-the-ledger-did-is-taken-where-it-can-be",
  invariant: "I10",
  kind: "safety",
  initial: () => new Undurable(isFact),
  observe: (undurable, seen) => undurable.observe(seen, judge)
}
