/**
 * Safety (I11). A bot gets a key only for the token of its own workload: signed by the platform that the venue trusts, meant for this
 * venue, within its validity, and bound to exactly this account. With any other token the request is refused because of the token; with a
 * valid one it is not. The answer contains the journaled key, and the same again for a repeated request, even after the token has expired.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { sha256 } from "../reading/Identity.js"
import * as Tokens from "../reading/Tokens.js"
import { difference } from "./Difference.js"
import { type Call, type Observation, refusedAtEpochMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Issued {
  readonly command: CommandOfKind<"IssueBotKey">
  readonly sequence: number
  readonly atEpochMs: number
}

interface State {
  /** Whether the venue trusts a platform. */
  isSet: boolean
  model: NaiveVenue | undefined
  /** Tokens presented by an operator, by the request's key. */
  readonly shown: Map<string, Set<string>>
  /** The number of accounts when an attempt was sent: a workload is bound to its account as soon as that exists. */
  readonly accounts: Map<string, number>
  /** Issued keys, by digest. */
  readonly issued: Map<string, Issued>
  /** The record that issued a key under each request's key, and the only token that had been presented under it. */
  readonly decided: Map<string, { readonly sequence: number; readonly token: string }>
  /** Attempts that repeat a request for which a key had been issued, with its record. */
  readonly repeats: Map<string, number>
}

const weekMs = 7 * 24 * 60 * 60 * 1000

type Seen<T extends Observation["_tag"]> = Extract<Observation, { readonly _tag: T }>

/** The token of a well-formed request for a key. */
const tokenIn = ({ credential, reading }: Call): string | undefined =>
  credential === "operator" && reading._tag === "asked" && reading.asked.wanted.kind === "IssueBotKey"
    ? reading.asked.wanted.token
    : undefined

const committed = (state: State, { decision: { outcomes }, record: { atEpochMs, command, sequence } }: Seen<"Committed">): Verdict => {
  if (command.kind !== "IssueBotKey") return holds
  const what = `record ${sequence} issues a key to ${command.subject},`
  if (!state.isSet) return broken(`${what} and the venue knows no platform`)
  const tokens = [...state.shown.get(command.idempotencyKey) ?? []].filter((token) => Tokens.subjectIn(token) === command.subject)
  if (tokens.every((token) => Tokens.lastingFault(token) !== undefined)) return broken(`${what} which has not proved who it is`)
  if (Tokens.accountOf(command.subject) !== command.ofAccount) return broken(`${what} for account ${command.ofAccount}`)
  state.decided.delete(command.idempotencyKey)
  if (outcomes[0]?.refusal === Refusal.none) {
    state.issued.set(command.secretSha256, { command, sequence, atEpochMs })
    const [token, ...others] = state.shown.get(command.idempotencyKey) ?? []
    if (token !== undefined && others.length === 0) state.decided.set(command.idempotencyKey, { sequence, token })
  }
  return holds
}

/** Checks the key in an answer against its record. */
const told = ({ issued }: State, { answer: { json }, model }: Seen<"Answered">, token: string): Verdict => {
  const apiKey = String((json as Json)["apiKey"])
  const found = issued.get(sha256(apiKey, "hex"))
  if (found === undefined) return broken("tells a key that no record is of")
  const { atEpochMs, command: { displayPrefix, keyId, ofAccount, subject }, sequence } = found
  if (subject !== Tokens.subjectIn(token)) return broken(`tells the key of ${subject}`)
  if (!apiKey.startsWith(`${displayPrefix}_`)) return broken(`tells a key that does not begin with ${displayPrefix}`)
  return difference("what is told", json, {
    version: "bot-key/v1",
    apiKey,
    keyId,
    accountId: idOf(model.accounts[ofAccount]!.born),
    principalKind: "bot",
    displayPrefix,
    scopes: ["read", "trade"],
    createdAtEpochMs: atEpochMs,
    expiresAtEpochMs: atEpochMs + weekMs,
    sequence
  })
}

/**
 * The possible findings about a token, by the clock between question and answer: if the clock was set meanwhile, any finding that depends
 * on time is possible.
 */
const findings = (token: string, { clock, model }: Seen<"Answered">, before: number): ReadonlyArray<Tokens.Fault | undefined> => {
  const lasting = Tokens.lastingFault(token)
  const account = Tokens.accountOf(Tokens.subjectIn(token) ?? "") ?? Number.POSITIVE_INFINITY
  if (lasting !== undefined || account >= model.accounts.length) return [lasting ?? "rejected"]
  const timed = clock === undefined ? [undefined, "rejected" as const] : clock.map((now) => Tokens.fault(token, now))
  return account < before ? timed : [...timed, "rejected"]
}

const failed = ({ isSet }: State, { answer: { json, status }, model }: Seen<"Answered">, token: string, is: Findings): Verdict => {
  const { code, dependency, rejectionGuard: guard } = isObject(json) ? json : {}
  if (guard === "workload_token_rejected") return is("rejected") ? holds : broken("is turned away with a good token")
  if (code === "operation_not_available") return isSet ? broken("is told that there is no platform") : holds
  if (status === 503) {
    const isOfKeys = code === "dependency_unavailable" && dependency === undefined
    return isOfKeys && !is("unavailable") ? broken("is told that the platform's keys cannot be had") : holds
  }
  if (!isSet) return broken("is not told that there is no platform")
  if (!is(undefined)) return broken("is not told that its token proves nothing")
  if (code !== "account_not_found") return holds
  const account = Tokens.accountOf(Tokens.subjectIn(token) ?? "") ?? -1
  const found = model.accounts[account]
  return found === undefined || found === model.fund ? holds : broken("is told that there is no such account")
}

/** Whether a finding about a token is possible. */
type Findings = (fault: Tokens.Fault | undefined) => boolean

const answered = (state: State, seen: Seen<"Answered">, token: string): Verdict => {
  const { answer, call, memory, model } = seen
  const attempt = `${call.id}/${seen.attempt}`
  const repeated = state.repeats.get(attempt)
  const isRepeat = answer.headers["idempotent-replayed"] === "true"
  // A repeated request proved its identity when it was decided: tokens expire soon, and a decision continues to be reported.
  const found = isRepeat && Tokens.lastingFault(token) === undefined ? [undefined] : findings(token, seen, state.accounts.get(attempt) ?? 0)
  state.accounts.delete(attempt)
  state.repeats.delete(attempt)
  if (
    answer.text.includes("\"workload_token_rejected\"") && repeated !== undefined && repeated === memory?.sequence
    && model.isRemembered(memory, refusedAtEpochMs(answer, model))
  ) {
    return broken(`the token of key ${call.idempotencyKey} is turned away, and record ${repeated} issued a key for it`)
  }
  const is: Findings = (fault) => found.includes(fault)
  const isDone = answer.status === 200
  const verdict = isDone && !(state.isSet && is(undefined))
    ? broken("has not proved who it is")
    : isDone
    ? told(state, seen, token)
    : failed(state, seen, token, is)
  return verdict === undefined
    ? holds
    : broken(`a request with the token ${call.body} under key ${call.idempotencyKey}, answered ${answer.status} ${answer.text}, ${verdict}`)
}

export const botKeys: Property<State> = {
  name: "bots-keys-are-of-proven-workloads",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    isSet: false,
    model: undefined,
    shown: new Map(),
    accounts: new Map(),
    issued: new Map(),
    decided: new Map(),
    repeats: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.isSet = seen.set.workloads
        return holds
      case "Asked": {
        const token = tokenIn(seen.call)
        const key = seen.call.idempotencyKey ?? ""
        if (token === undefined) return holds
        state.shown.set(key, (state.shown.get(key) ?? new Set()).add(token))
        const attempt = `${seen.call.id}/${seen.attempt}`
        state.accounts.set(attempt, state.model?.accounts.length ?? 0)
        const decided = state.decided.get(key)
        if (decided?.token === token) state.repeats.set(attempt, decided.sequence)
        return holds
      }
      case "Unanswered":
        state.accounts.delete(`${seen.call.id}/${seen.attempt}`)
        state.repeats.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Committed":
        state.model = seen.model
        return committed(state, seen)
      case "Answered": {
        const token = tokenIn(seen.call)
        return token === undefined ? holds : answered(state, seen, token)
      }
      default:
        return holds
    }
  }
}
