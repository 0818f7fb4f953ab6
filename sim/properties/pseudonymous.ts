/**
 * Safety (contract). Nobody is identified to others: no answer contains the id of an account, an order or a bracket that does not belong
 * to the reader, whatever it lists. Only the insurance fund's account is known by its id. An id that the reader has sent may be repeated
 * to the reader: an account's in a refusal, an order's also in a lookup of a command about it. Operators may see everything.
 */
import { accountId, insuranceFundId, parseOrderId } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isOfFunds } from "../reading/Funds.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

const accounts = /\bacc_[0-9a-z]+/g
const ofOrders = /\b(ord|trg)_([0-9a-z]+)/g

/** The account of an order or bracket by its number; undefined for one never placed, as in a refused attempt. */
const ownerOf = ({ brackets, orders, ownOrders }: NaiveVenue, prefix: string, number: number): number | undefined =>
  prefix === "trg"
    ? brackets.all.find((each) => each.number === number)?.account ?? orders.get(number)?.account
    : orders.get(number)?.account ?? ownOrders.get(number)

/** Ids of orders that each client has sent. */
type State = Map<string, Set<string>>

const hasAccount = (credential: Call["credential"]): boolean => credential === "trader" || credential === "issued"

/** Endpoints that tell the holder of a passkey, a device code or a ticket its account; another property checks that it is the right one. */
const proving: ReadonlySet<string> = new Set(["finishRegistration", "finishAuthentication", "exchangeAgentConnect", "rotateTicket"])

const noteSent = (state: State, { body, client, target }: Call): void => {
  const sent = state.get(client) ?? new Set<string>()
  state.set(client, sent)
  for (const [id] of `${decoded(target)} ${body}`.matchAll(ofOrders)) sent.add(id)
}

const idVerdict = (state: State, text: string, { account, client, credential, endpoint }: Call, model: NaiveVenue): Verdict => {
  for (const [id, prefix = "", digits = ""] of text.matchAll(ofOrders)) {
    const owner = ownerOf(model, prefix, parseOrderId(`ord_${digits}`) ?? -1)
    const isTried = endpoint === "lookUpOutcome" && state.get(client)?.has(id) === true
    if (owner !== undefined && !isTried && (!hasAccount(credential) || owner !== account)) {
      return broken(`${endpoint} tells ${id}, which is of account ${owner}`)
    }
  }
  return holds
}

/** The destination of a withdrawal. */
const payees = /"destinationPartyId":"[^"]*"/g

export const pseudonymous: Property<State> = {
  name: "nobody-is-named-to-others",
  invariant: "contract",
  kind: "safety",
  initial: () => new Map(),
  observe: (state, seen) => {
    if (seen._tag === "Asked") noteSent(state, seen.call)
    if (seen._tag !== "Answered" || seen.call.credential === "operator") return holds
    const { answer, call, model } = seen
    const own = hasAccount(call.credential) ? model.accounts[call.account] : undefined
    const sent = `${decoded(call.target)} ${call.body} ${call.idempotencyKey ?? ""}`
    // The party of another account is named by its payer.
    const told = isOfFunds(call.target) ? answer.text.replace(payees, "") : answer.text
    for (const [id] of told.matchAll(accounts)) {
      const isOwn = own !== undefined && id === accountId(own.born)
      const isProved = answer.status === 200 && proving.has(call.endpoint)
      const isFund = id === insuranceFundId && call.endpoint === "getInsuranceFund"
      if (!isOwn && !isFund && !isProved && (answer.status === 200 || !sent.includes(id))) {
        return broken(`${call.target} of ${call.client} is answered with ${id}: ${answer.text.slice(0, 400)}`)
      }
    }
    return answer.status === 200 ? idVerdict(state, answer.text, call, model) : holds
  }
}

/** A target decoded; as it was sent where it cannot be decoded. */
const decoded = (target: string): string => {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}
