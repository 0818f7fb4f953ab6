/**
 * Safety (contract). Accounts have the attributes that were set: whether they may trade, their flags, and who is an affiliate are the same
 * in the engine as in the reference model. No account is an affiliate that has not requested it by its own route, and a read reports since
 * when it is one, with a code that is unique and never changes. Where there are no affiliates, there are no such routes; either way the
 * answer names the policy, which is the same for a whole run.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import { difference } from "./Difference.js"
import { isOfAffiliates, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** Whether accounts may be affiliates. */
  isOn: boolean
  /** The policy named first. */
  policy: string | undefined
  /** Accounts that have requested to be affiliates. */
  readonly asked: Set<string>
  /** Codes in answers, by account. */
  readonly codes: Map<string, string>
  /** Whether the account of a read was an affiliate when it was sent, by call and attempt. */
  readonly before: Map<string, boolean>
  /** Whether any attribute has changed since the engine was last compared. */
  isChanged: boolean
  model: NaiveVenue | undefined
}

const policyHeader = "x-service-runtime-policy-version"
const codePattern = /^[BCDFGHJKLMNPQRSTVWXZ2-9]{8}$/

const kinds: ReadonlySet<string> = new Set(["CreditAccount", "SetAccountFlags", "RegisterAffiliate", "OpenOwnerAccount"])

type Seen<T extends Observation["_tag"]> = Extract<Observation, { readonly _tag: T }>

const committed = (state: State, { model, record: { command, sequence } }: Seen<"Committed">): Verdict => {
  state.model = model
  if (!kinds.has(command.kind)) return holds
  state.isChanged = true
  if (command.kind !== "RegisterAffiliate") return holds
  if (!state.isOn) return broken(`record ${sequence} registers an affiliate, and there are to be none`)
  const accountId = idOf(model.accounts[command.account]!.born)
  return state.asked.has(accountId) ? holds : broken(`record ${sequence} makes ${accountId} an affiliate, which has not asked for it`)
}

const inspected = (state: State, { model, reads, whole }: Seen<"Inspected">): Verdict => {
  if (!state.isChanged && !whole) return holds
  state.isChanged = false
  for (const { index } of model.accounts) {
    const expected = {
      flags: model.standings.flagsOf(index),
      mayTrade: model.mayTrade(index),
      affiliateSince: model.standings.affiliateSince(index)
    }
    const verdict = difference(`the standing of account ${index}`, reads.standing(index), expected)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** Checks that an affiliate's code is unique. */
const codeVerdict = ({ codes }: State, accountId: string, code: unknown): Verdict => {
  if (typeof code !== "string" || !codePattern.test(code)) return broken(`is told the code ${String(code)}`)
  const known = codes.get(accountId)
  if (known !== undefined && known !== code) return broken(`is told the code ${code}, and was told ${known}`)
  const other = [...codes].find(([id, told]) => told === code && id !== accountId)
  codes.set(accountId, code)
  return other === undefined ? holds : broken(`is told the code of ${other[0]}`)
}

/** Checks an account's report on itself as an affiliate. */
const profileVerdict = (state: State, { answer: { json }, call, model }: Seen<"Answered">, wasOne: boolean): Verdict => {
  const { accountId } = call
  const since = model.standings.affiliateSince(call.account)
  const told = json as Json
  // It is unknown whether a read came before or after a registration.
  const isOne = call.endpoint === "registerAffiliate" || wasOne || (since !== 0 && told["registered"] === true)
  const expected = {
    version: "external-affiliate-profile/v1",
    accountId,
    registered: isOne,
    affiliateId: isOne ? accountId.replace("acc_", "aff_") : null,
    referralCode: isOne ? told["referralCode"] : null,
    registeredAtEpochMs: isOne ? since : null
  }
  return difference("what is told", json, expected) ?? (isOne ? codeVerdict(state, accountId, told["referralCode"]) : holds)
}

/** Checks the version of the policy where an answer has to name it. */
const policyVerdict = (state: State, headers: Readonly<Record<string, string>>): Verdict => {
  const policy = headers[policyHeader]
  state.policy ??= policy
  return policy !== undefined && policy !== "" && policy === state.policy
    ? holds
    : broken(`names the policy ${String(policy)}, and before ${String(state.policy)}`)
}

const answered = (state: State, seen: Seen<"Answered">): Verdict => {
  const { answer: { headers, json, status, text }, attempt, call } = seen
  const wasOne = state.before.get(`${call.id}/${attempt}`) ?? false
  state.before.delete(`${call.id}/${attempt}`)
  // Without an account the path does not exist.
  if (call.accountId === "") return holds
  const isHidden = status === 404 && isObject(json) && json["code"] === "route_not_found"
  const what = `${call.method} ${call.target} of ${call.client}, answered ${status} ${text},`
  // A venue that is not ready, and a rate limit, answer before the path is checked: every path alike.
  if (status === 429 || status === 503 && isObject(json) && json["code"] === "starting") return holds
  if (isHidden === state.isOn) return broken(`${what} ${state.isOn ? "is hidden" : "is not hidden"}`)
  if (!isHidden && ![200, 401, 403].includes(status)) return holds
  const verdict = policyVerdict(state, headers) ?? (status === 200 ? profileVerdict(state, seen, wasOne) : holds)
  return verdict === undefined ? holds : broken(`${what} ${verdict}`)
}

const sent = (state: State, { attempt, call }: Seen<"Asked">): void => {
  const reading = Identity.read(call.method, call.target, call.body)
  if (reading?.wish?.kind === "registerAffiliate" && reading.accountId === call.accountId) state.asked.add(call.accountId)
  const wasOne = state.model !== undefined && state.model.standings.affiliateSince(call.account) !== 0
  state.before.set(`${call.id}/${attempt}`, wasOne)
}

export const standings: Property<State> = {
  name: "accounts-stand-as-they-were-set",
  invariant: "contract",
  kind: "safety",
  initial: () => ({
    isOn: false,
    policy: undefined,
    asked: new Set(),
    codes: new Map(),
    before: new Map(),
    isChanged: false,
    model: undefined
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.isOn = seen.set.affiliates
        return holds
      case "Asked":
        if (isOfAffiliates(seen.call)) sent(state, seen)
        return holds
      case "Unanswered":
        state.before.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Inspected":
        return inspected(state, seen)
      case "Answered":
        return isOfAffiliates(seen.call) ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
