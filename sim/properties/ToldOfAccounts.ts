/**
 * The events that a record must have, by its result and its changes of the model: money and positions of accounts, triggers, tickets and
 * transfers.
 */
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { reserveChanges } from "../../src/engine/funds/Money.js"
import { transferStatuses } from "../../src/operations/funds/Transfers.js"
import { refusedCode } from "../../src/operations/Outcome.js"
import { OrderDecided } from "../../src/operations/orders/OrderDecided.js"
import type { NaiveBracket } from "../model/NaiveAutoClose.js"
import type { NaiveTransfer } from "../model/NaiveFunds.js"
import type { NaiveAccount, NaiveOutcome } from "../model/NaiveState.js"
import { goodUntil } from "../model/NaiveTickets.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Observation } from "./Observation.js"
import type { Must } from "./ToldOfChanges.js"

type Committed = Observation & { readonly _tag: "Committed" }

/** Commands whose outcome reports the state of orders, entry by entry. */
const ofOrders: ReadonlySet<string> = new Set(["PlaceOrders", "CancelOrders", "AmendOrder"])

/** The last observed state of an account. */
interface Seen {
  /** By market, as texts for comparison. */
  readonly positions: ReadonlyMap<number, string>
  /** The number of changes of its collateral observed so far. */
  readonly changes: number
}

/** The last observed state of a family of tickets. */
interface Family {
  readonly generation: number
  readonly isRepeated: boolean
  readonly isEnded: boolean
}

const ofOutcome = (outcome: NaiveOutcome, isOfOrders: boolean): ReadonlyArray<Must> => {
  const { cancelReason, filled, filledNotional, orderNumber, price, quantity, refusal, status } = outcome
  if (refusal !== Refusal.none) {
    return [["EntryDecided", {
      codes: refusedCode | (refusal << 8),
      first: orderNumber,
      second: 0,
      third: 0,
      fourth: 0,
      fifth: 0,
      sixth: 0
    }]]
  }
  if (!isOfOrders) return []
  const codes = OrderDecided.code | (status << 16) | (cancelReason << 24)
  return [["EntryDecided", { codes, first: orderNumber, second: filled, third: Number(filledNotional), fifth: price, sixth: quantity }]]
}

/** How many orders of an account a record cancelled, for a given reason or for any. */
const canceledIn = (
  { decision: { touchedOrders }, record: { sequence } }: Committed,
  account: number,
  reason?: Order.CancelReason
): number =>
  [...touchedOrders].filter((order) =>
    order.account === account && order.lastSequence === sequence && order.status === Order.canceled
    && (reason === undefined || order.cancelReason === reason)
  ).length

/**
 * The event of a fired switch, with the number of cancelled orders: where the record cancels others too, more orders may leave for its
 * reason.
 */
const fired = (seen: Committed, account: number): ReadonlyArray<Must> => {
  if (seen.record.command.kind.startsWith("Cancel")) return [["SwitchFired", { account }]]
  const orders = canceledIn(seen, account, Order.CancelReason.cancelAllAfter)
  return [["SwitchFired", { account, orders }], ["OrdersCanceled", { account, orders }]]
}

export class ToldOfAccounts {
  readonly #accounts = new Map<number, Seen>()
  #brackets: ReadonlyMap<number, Readonly<NaiveBracket>> = new Map()
  readonly #families: Array<Family> = []
  readonly #transfers: Array<{ readonly end: NaiveTransfer["end"]; readonly isSettled: boolean }> = []
  #isStopped = false
  /** Until when each fence holds, by account and fenced name. */
  readonly #fences = new Map<string, number>()

  /** The events that a record must have, given the model after it. */
  since(seen: Committed): ReadonlyArray<Must> {
    const { decision, model, record } = seen
    const { command, sequence } = record
    const { outcomes } = decision
    const musts: Array<Must> = [["RecordDecided", { sequence, atEpochMs: record.atEpochMs, entries: outcomes.length }]]
    for (const outcome of outcomes) musts.push(...ofOutcome(outcome, ofOrders.has(command.kind)))
    for (const account of model.accounts) this.#ofAccount(account, musts)
    for (const account of decision.fired) musts.push(...fired(seen, account))
    this.#ofBrackets(model, musts)
    this.#ofTickets(model, musts)
    this.#ofTransfers(model, musts)
    this.#ofCommand(seen, musts)
    return musts
  }

  #ofCommand(seen: Committed, musts: Array<Must>): void {
    const { decision: { outcomes }, model, record: { atEpochMs, command } } = seen
    switch (command.kind) {
      case "NoteKeyUses":
        for (const { apiKey, usedAtEpochMs } of command.uses) {
          if (model.identity.keys[apiKey]?.isForgotten === false) musts.push(["KeyUsed", { apiKey, usedAtEpochMs }])
        }
        return
      case "FenceOutcome": {
        const { account, fencedClientOrderId, fencedKey } = command
        const holdsUntilEpochMs = outcomes[0]?.holdsUntilEpochMs
        if (holdsUntilEpochMs === undefined) return
        const name = `${account}/${fencedKey === "" ? "clientOrderId" : "key"}/${fencedKey}${fencedClientOrderId}`
        // Fencing something that is fenced already extends the fence without another event.
        if ((this.#fences.get(name) ?? 0) <= atEpochMs) musts.push(["Fenced", { account }])
        this.#fences.set(name, holdsUntilEpochMs)
        return
      }
      case "CancelAllOrders": {
        if (outcomes[0]?.refusal !== Refusal.none) return
        const { account } = command
        const orders = canceledIn(seen, account)
        // Where other orders leave with the same record, or some leave with later ones, the event comes in parts.
        if (orders === outcomes[0].canceled) musts.push(["OrdersCanceled", { account, orders }])
        return
      }
      default:
    }
  }

  #ofAccount({ born, episodes, index: account, ledger, positions }: NaiveAccount, musts: Array<Must>): void {
    const before = this.#accounts.get(account)
    const now = new Map<number, string>()
    for (const [market, { entryNotional, quantity }] of positions) {
      const { feesPaid, realizedPnl } = episodes.get(market)!
      const text = `${quantity} ${entryNotional} ${realizedPnl} ${feesPaid}`
      now.set(market, text)
      if (before?.positions.get(market) === text) continue
      musts.push(["PositionChanged", {
        account,
        market,
        quantityAtoms: quantity,
        entryNotionalAtoms: Number(entryNotional),
        realizedPnlAtoms: Number(realizedPnl),
        feesPaidAtoms: Number(feesPaid)
      }])
    }
    for (const market of before?.positions.keys() ?? []) {
      if (!now.has(market)) musts.push(["PositionChanged", { account, market, quantityAtoms: 0, entryNotionalAtoms: 0 }])
    }
    const changes = ledger.slice(before?.changes ?? 0)
    const last = changes.at(-1)
    // The money that an account is opened with has only its credit as an event.
    if (last !== undefined && before !== undefined) {
      musts.push(["CollateralChanged", { account, collateralAtoms: Number(last.balance) }])
    } else if (last?.cause === "credit") musts.push(["Credited", { account, amountAtoms: Number(last.amount) }])
    for (const { amount, cause, market } of changes) {
      if (cause === "liquidation_fee" && amount < 0n) musts.push(["LiquidationFeePaid", { account, market, feeAtoms: -Number(amount) }])
      // The event names the account that was taken over; the fund's entry is the same amount from its side.
      if (cause === "takeover_difference" && born !== insuranceFundBorn) {
        musts.push(["TakeoverDifferencePaid", { account, market, paidAtoms: Number(amount) }])
      }
    }
    this.#accounts.set(account, { positions: now, changes: ledger.length })
  }

  #ofBrackets({ brackets: { all } }: NaiveVenue, musts: Array<Must>): void {
    const now = new Map<number, Readonly<NaiveBracket>>()
    for (const bracket of all) {
      const { account, autoClose: { stopLoss, takeProfit }, market, number, quantity } = bracket
      const before = this.#brackets.get(number)
      now.set(number, { ...bracket })
      if (before === undefined) {
        musts.push(["BracketOpened", {
          bracket: number,
          account,
          market,
          takeProfitAtoms: takeProfit.priceAtoms,
          takeProfitBy: takeProfit.by,
          takeProfitLimitAtoms: takeProfit.limitAtoms,
          stopLossAtoms: stopLoss.priceAtoms,
          stopLossBy: stopLoss.by,
          stopLossLimitAtoms: stopLoss.limitAtoms
        }])
      }
      if ((before?.quantity ?? 0) !== quantity)
        musts.push(["BracketResized", { bracket: number, account, market, quantityAtoms: quantity }])
    }
    for (const { account, market, number } of this.#brackets.values()) {
      if (!now.has(number)) musts.push(["BracketEnded", { bracket: number, account, market }])
    }
    this.#brackets = now
  }

  #ofTickets({ identity: { tickets: { families } } }: NaiveVenue, musts: Array<Must>): void {
    for (const family of families) {
      const { apiKey, family: number, generation, isEnded, isRepeated } = family
      const before = this.#families[number]
      this.#families[number] = { generation, isEnded, isRepeated }
      if (before === undefined || before.generation !== generation || (isRepeated && !before.isRepeated)) {
        musts.push(["TicketIssued", { family: number, apiKey, generation, expiresAtEpochMs: goodUntil(family) }])
      }
      if (isEnded && before?.isEnded !== true) musts.push(["TicketsEnded", { family: number, apiKey }])
    }
  }

  #ofTransfers({ funds: { isStopped, transfers } }: NaiveVenue, musts: Array<Must>): void {
    if (isStopped !== this.#isStopped) musts.push(["WithdrawalsStopped", { isStopped: Number(isStopped) }])
    this.#isStopped = isStopped
    transfers.forEach(({ account, amount, end, isSettled, kind, number: transfer }, index) => {
      const before = this.#transfers[index]
      this.#transfers[index] = { end, isSettled }
      const amountAtoms = Number(amount)
      const moved = (became: (typeof reserveChanges)[number]): Must => [
        "ReserveMoved",
        { transfer, account, became: reserveChanges.indexOf(became), amountAtoms }
      ]
      if (before === undefined && kind === "withdrawal") musts.push(moved("held"))
      if (end !== before?.end && end !== undefined) {
        musts.push(["TransferEnded", { transfer, account, status: transferStatuses.indexOf(end) }])
      }
      if (!isSettled || before?.isSettled === true) return
      if (kind === "deposit") musts.push(["DepositCredited", { transfer, account, amountAtoms }])
      if (kind === "withdrawal") musts.push(moved(end === "ledger_confirmed" ? "spent" : "given_back"))
    })
  }
}
