/**
 * Safety (I10). The owner of a transfer may give it up as long as nobody has approved the current step, and is refused only if somebody
 * has. Once given up it is never prepared, approved or executed again: the only thing left is what the venue does for itself, to withdraw
 * a standing offer.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { NaiveFunds } from "../model/NaiveFunds.js"
import * as Funds from "../reading/Funds.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A request to give a transfer up. */
interface Asking {
  readonly account: number
  readonly of: Funds.Named
  /** Whether the transfer could not be given up at some moment since the request was sent. */
  isExcused: boolean
}

interface State {
  readonly asking: Map<number, Asking>
  readonly givenUp: Set<number>
  funds: NaiveFunds | undefined
}

const mayBeGivenUp = (funds: NaiveFunds, asking: Asking): boolean => {
  const number = Funds.namedBy(funds.transfers, asking.account, asking.of)?.number
  return number !== undefined && funds.mayBeGivenUp(asking.account, number)
}

const look = ({ asking, funds }: State): void => {
  for (const each of asking.values()) each.isExcused ||= funds === undefined || !mayBeGivenUp(funds, each)
}

const asked = (state: State, { account, accountId, body, credential, id, method, target }: Call): void => {
  if (state.asking.has(id) || method !== "DELETE" || credential !== "issued" || account < 0) return
  const reading = Funds.read(method, target, body)
  if (reading?.wish?.kind !== "cancel" || reading.accountId !== accountId) return
  state.asking.set(id, { account, of: reading.wish.of, isExcused: false })
  look(state)
}

/** Checks that no step of the owner's follows for a transfer that was given up. */
const goneOn = ({ givenUp }: State, { command, sequence }: Record): Verdict => {
  if (command.kind !== "PrepareStep" && command.kind !== "ApproveStep" && command.kind !== "BeginSubmission") return holds
  return givenUp.has(command.transfer) && command.step !== "treasury_offer_withdrawal"
    ? broken(`record ${sequence} goes on with the ${command.step} of ${command.transfer}, which was given up`)
    : holds
}

const committed = (state: State, { decision, model, record }: Extract<Observation, { readonly _tag: "Committed" }>): Verdict => {
  state.funds = model.funds
  look(state)
  if (decision.outcomes[0]?.refusal !== Refusal.none) return holds
  if (record.command.kind === "CancelTransfer") state.givenUp.add(record.command.transfer)
  return goneOn(state, record)
}

const answered = (state: State, { answer: { status, text }, call }: Extract<Observation, { readonly _tag: "Answered" }>): Verdict => {
  const asking = state.asking.get(call.id)
  if (asking === undefined) return holds
  const isRefused = status === 409 && text.includes("\"deposit_step_conflict\"")
  return isRefused && !asking.isExcused
    ? broken(`${call.target} is not given up, and nobody had approved anything of it: ${text}`)
    : holds
}

export const givingUp: Property<State> = {
  name: "what-nobody-approved-can-be-given-up",
  invariant: "I10",
  kind: "safety",
  initial: () => ({ asking: new Map(), givenUp: new Set(), funds: undefined }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked":
        asked(state, seen.call)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Answered":
        return answered(state, seen)
      case "Settled":
        state.asking.delete(seen.call.id)
        return holds
      default:
        return holds
    }
  }
}
