/**
 * Safety (I10). A report of the ledger or the signer is journaled exactly where it says something new and possible, and is otherwise
 * refused without a record for the actual reason: if the rejection of a step were refused as a contradiction, its transfer would wait for
 * ever, unnoticed. Nor does a change of party ever lead to the account's present party: it would wait as long. Each report is judged by
 * the model at the record after which the writer took it.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import { isFact } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

/** Refusals because of the step that the report is about. For lack of room, or under a halt, any report may be refused. */
const judged: ReadonlySet<Refusal> = new Set([
  Refusal.none,
  Refusal.ledgerFactKnown,
  Refusal.ledgerFactConflict,
  Refusal.transferNotFound
])

const nameOf = (refusal: Refusal): string => Object.entries(Refusal).find(([, code]) => code === refusal)![0]

/** Whether a change without a party yet would lead to the party that it replaces. */
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
