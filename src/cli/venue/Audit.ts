/**
 * `venue audit`: the security events in a journal, one line for each record: operators' actions, everything about credentials, what
 * owners request and approve of money that leaves and of their ledger party, and when withdrawals stop and go on. The digests of
 * credentials are never shown, nor anything from which one could be derived.
 */
import type * as Stream from "effect/Stream"
import { alarms } from "../../engine/funds/Funds.js"
import type { State } from "../../engine/State.js"
import { Principal } from "../../operations/Header.js"
import { capabilities, type Command } from "../../operations/Operations.js"
import type { Ended } from "../Exit.js"
import { alarmOf, auditLine } from "../replay/CommandLines.js"
import * as Format from "../replay/Format.js"
import { accountName } from "../replay/Names.js"
import { kinds } from "../../engine/identity/SecurityLog.js"
import { accountOf, leadsOf } from "../Whose.js"
import * as Tail from "./Tail.js"

export type Asked = Pick<Tail.Asked, "from" | "accountId" | "follow" | "capacity">

/** Requests about money on the ledger that are told whatever came of them, like those about credentials. */
const ofMoney: ReadonlySet<Command["kind"]> = new Set(["RequestWithdrawal", "RequestPartyChange", "ApproveStep", "StopWithdrawals"])

/** Events that are told whatever they follow from: what owners are notified of, what stops withdrawals, what contradicts the journal. */
const eventsTold: ReadonlySet<string> = new Set(["SecurityNoted", "WithdrawalsStopped", "LedgerAlarm"])

/**
 * Whether a record is told. What an owner is notified of may also follow from a fact of the ledger, such as another party once it is
 * confirmed; and a payment that contradicts the journal stops withdrawals.
 */
const isTold = ({ events, record: { command } }: Tail.Told): boolean =>
  command.principal === Principal.operator || command.kind in capabilities.identity || ofMoney.has(command.kind)
  || events.some(({ event }) => eventsTold.has(event))

/**
 * Whether withdrawals stop or go on by a record, and what a comparison of books found lacking: that is what letting them go on accepts. A
 * stop by an operator beside another changes nothing; what a comparison found replaces what was said to be lacking. What the ledger
 * reports against the journal is told with the transfer's amount: a withdrawal that was paid after it was given back is lacking, too,
 * whatever had stopped withdrawals before.
 */
const stopTold = (state: State, { events, record: { command } }: Tail.Told): ReadonlyArray<string> => {
  const changes = events.flatMap((event) => event.event === "WithdrawalsStopped" ? [event.isStopped === 1] : [])
  const stop = command.kind === "StopWithdrawals" ? command : undefined
  const ownAlarm = stop === undefined ? undefined : alarmOf(stop)
  const alarmed = [
    ...(ownAlarm === undefined ? [] : [`[${ownAlarm}]`]),
    ...events.flatMap((event) => event.event === "LedgerAlarm" ? [alarmTold(state, event.alarm, event.transfer)] : [])
  ]
  const differenceAtoms = stop?.differenceAtoms ?? 0
  const isCompared = stop?.reason === "reconciliation"
  const lacks = ownAlarm === undefined ? "lacks" : "may lack"
  const lacking = differenceAtoms < 0 ? `: the treasury ${lacks} ${Format.money(-differenceAtoms)} USDC` : ""
  if (changes.length === 0 && isCompared) return [`[withdrawals stay stopped${lacking === "" ? ": the treasury lacks nothing" : lacking}]`]
  if (changes.length === 0 && stop !== undefined) return [...alarmed, `[withdrawals were stopped before${lacking}]`]
  return [...alarmed, ...changes.map((isStopped) => isStopped ? `[withdrawals are stopped${lacking}]` : "[withdrawals go on]")]
}

const alarmTold = ({ funds }: State, alarm: number, number: number): string => {
  const transfer = funds.transfers.find(number)
  const amount = transfer === undefined || transfer.amountAtoms === 0 ? "" : `, of ${Format.money(transfer.amountAtoms)} USDC`
  return `[alarm: ${alarms[alarm]!.replaceAll("_", " ")}${amount}]`
}

/**
 * The accounts that a record concerns: the one it acted for, the owner of what it names, and those that its events name, by themselves or
 * by a key.
 */
const accountsOf = (state: State, { events, record: { command } }: Tail.Told): ReadonlyArray<number> => {
  const accounts = [command.account, accountOf(command, leadsOf(state)),
    ...events.flatMap((event) => "account" in event ? [event.account] : "apiKey" in event ? [state.apiKeys.account(event.apiKey)] : [])]
  return [...new Set(accounts)].filter((account) => account >= 0)
}

/** When an account's keys were used, by a note that may be of the keys of many. */
const usesOf = (state: State, { events }: Tail.Told, accountId: string): ReadonlyArray<string> =>
  events.flatMap((event) => {
    if (event.event !== "KeyUsed" || !state.apiKeys.has(event.apiKey)) return []
    const { account, keyId } = state.apiKeys.at(event.apiKey)
    return accountName(state, account) === accountId ? [`${keyId} at ${Format.time(event.usedAtEpochMs)}`] : []
  })

const lineOf = (state: State, told: Tail.Told, accountId: string | undefined): ReadonlyArray<string> => {
  const { events, outcome, record: { atEpochMs, command, sequence } } = told
  if (!isTold(told)) return []
  const concerned = accountsOf(state, told).map((account) => accountName(state, account))
  if (accountId !== undefined && !concerned.includes(accountId)) return []
  // Whoever asks for one account need not be told of the others.
  const whose = accountId === undefined ? concerned : [accountId]
  const uses = accountId === undefined ? [] : usesOf(state, told, accountId)
  const notes = events.flatMap((event) => event.event === "SecurityNoted" ? [kinds[event.kind]!.replaceAll("_", " ")] : [])
  const text = [
    ...(whose.length === 0 ? [] : [`${whose.join(", ")}:`]),
    auditLine(state, command, outcome),
    ...(uses.length === 0 ? [] : [`[used: ${uses.join(", ")}]`]),
    ...(notes.length === 0 ? [] : [`[noted: ${notes.join(", ")}]`]),
    ...stopTold(state, told)
  ]
  return [`${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}  ${text.join(" ")}`]
}

/** The requested lines, oldest first; by default from the first record that this version decided. */
export const lines = (asked: Asked): Stream.Stream<string, Tail.Failure | Ended, Tail.Needs> =>
  Tail.records({ ...asked, from: asked.from ?? "first", marketId: undefined }, (state, told) => lineOf(state, told, asked.accountId))
