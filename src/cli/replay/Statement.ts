/**
 * An account's statement for a range of a journal: opening balance, each fill, each change of the balance with its cause, and closing
 * balance. It is built from the changes that the engine records, and checked against the account's balance before and after every record.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import { anyMarket } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { causes } from "../../engine/BalanceLog.js"
import type { DecodedEvent } from "../../engine/EventLog.js"
import { reserveChanges } from "../../engine/funds/Money.js"
import type { BalanceChange } from "../../engine/BalanceLog.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { follow, passive, type Source, type Visitor } from "./Follow.js"
import { marketName, priceOf, sizeOf, transferName } from "./Names.js"
import * as Stretch from "./Stretch.js"

/** One line. Quantity and price are decimals, empty where a line has none. */
export interface Line {
  readonly sequence: number
  readonly atEpochMs: number
  /** A cause from the balance ledger; or `fill`, `taken_over`, `deleveraged`, `settled`, which themselves move no money. */
  readonly kind: string
  readonly marketId: string
  readonly side: string
  readonly quantity: string
  readonly price: string
  /** The id of the filled order, or of the transfer. */
  readonly reference: string
  readonly amountAtoms: number
  /** After this line. */
  readonly balanceAtoms: number
}

export interface Statement {
  readonly accountId: string
  readonly openingAtoms: number
  readonly lines: ReadonlyArray<Line>
  readonly closingAtoms: number
  /** The first and the last record in the range; 0 where there is none. */
  readonly first: number
  readonly last: number
  /** Whether there were more lines than a statement may have. */
  readonly isCut: boolean
  /** Whether the account exists at the end of the range. */
  readonly known: boolean
  /** The first record after which the balance differs from the sum of the lines. */
  readonly brokenAt: number | undefined
}

/** Most lines of a statement. */
export const mostLines = 1_000_000

/** Whether the opening balance and the lines yield each balance, and the closing one, to the atom. */
export const addsUp = ({ brokenAt, closingAtoms, lines, openingAtoms }: Omit<Statement, "accountId" | "known">): boolean => {
  let balanceAtoms = openingAtoms
  for (const line of lines) {
    balanceAtoms += line.amountAtoms
    if (balanceAtoms !== line.balanceAtoms) return false
  }
  return brokenAt === undefined && balanceAtoms === closingAtoms
}

type Money = Pick<BalanceChange, "cause" | "market" | "amountAtoms" | "balanceAtoms">
type Told = Omit<Line, "sequence" | "atEpochMs" | "balanceAtoms">

const plain: Told = { kind: "", marketId: "", side: "", quantity: "", price: "", reference: "", amountAtoms: 0 }

/** An event's effect on an account's position, as a line that moves no money and has no side yet; undefined for any other event. */
const execution = (state: State, account: number, event: DecodedEvent): Told | undefined => {
  switch (event.event) {
    case "Traded": {
      if (event.takerAccount !== account && event.makerAccount !== account) return undefined
      const reference = Ids.orderId(event.takerAccount === account ? event.takerOrder : event.makerOrder)
      return { ...executed(state, "fill", event), reference }
    }
    case "TakenOver":
      // The event names whose position it was, and no other side: that is always the insurance fund.
      return event.account === account || account === state.accounts.find(Ids.insuranceFundId)
        ? executed(state, "taken_over", event)
        : undefined
    case "Deleveraged":
      return event.account === account || event.counterparty === account ? executed(state, "deleveraged", event) : undefined
    case "Settled":
      return event.account === account || event.counterparty === account ? executed(state, "settled", event) : undefined
    default:
      return undefined
  }
}

const executed = (
  state: State,
  kind: string,
  { market, priceAtoms, sizeAtoms }: { readonly market: number; readonly priceAtoms: number; readonly sizeAtoms: number }
): Told => ({
  ...plain,
  kind,
  marketId: marketName(state, market),
  quantity: sizeOf(state, market, sizeAtoms),
  price: priceOf(state, market, priceAtoms)
})

/** The transfers that moved an account's money in a record, in order. */
const transfersOf = (state: State, account: number, events: ReadonlyArray<DecodedEvent>): Array<string> =>
  events.flatMap((event) => {
    if (event.event === "DepositCredited") return event.account === account ? [transferName(state, event.transfer)] : []
    if (event.event !== "ReserveMoved" || reserveChanges[event.became] === "spent") return []
    return event.account === account ? [transferName(state, event.transfer)] : []
  })

/** A record's changes of an account's balance, oldest first. */
const changesBy = ({ balances }: State, account: number, sequence: number): ReadonlyArray<BalanceChange> => {
  for (let limit = 16;; limit *= 2) {
    const latest = balances.of(account, anyMarket, undefined, limit)
    const own = latest.filter((change) => change.sequence === sequence)
    if (own.length < limit) return own.toReversed()
  }
}

/** An account's positions by market, size atoms, long positive, as they were before a record; kept up with the records' events. */
type Held = Map<number, number>

const heldBy = ({ accounts, markets, positions }: State, accountId: string): Held => {
  const account = accounts.find(accountId)
  if (account < 0) return new Map()
  return new Map(markets.flatMap(({ index }) => {
    const slot = positions.find(account, index)
    return slot < 0 ? [] : [[index, positions.quantity(slot)] as const]
  }))
}

/**
 * An execution with its money: what the account gained or lost, its fee, its balance afterwards, and what was then paid beside it, where a
 * takeover is at a price that its market does not have.
 */
interface Executed {
  readonly told: Told
  readonly realizedAtoms: number
  readonly feeAtoms: number
  readonly balanceAtoms: number
  readonly differenceAtoms: number
}

const feeOf = (account: number, event: DecodedEvent): number => {
  if (event.event !== "Traded") return 0
  return event.takerAccount === account ? event.takerFeeAtoms : event.makerFeeAtoms
}

/** An account's executions in a record before which it had `balanceAtoms`, in order. */
const executionsOf = (
  state: State,
  account: number,
  balanceAtoms: number,
  held: Held,
  events: ReadonlyArray<DecodedEvent>
): Array<Executed> => {
  const found: Array<Executed> = []
  let before = balanceAtoms
  let begun: { readonly told: Told; readonly feeAtoms: number } | undefined
  let hasBought = false
  let hasChanged = false
  let paysDifference = false
  for (const event of events) {
    const told = execution(state, account, event)
    if (told !== undefined) {
      begun = { told, feeAtoms: feeOf(account, event) }
      hasChanged = false
    } else if (event.event === "PositionChanged" && event.account === account) {
      hasBought = event.quantityAtoms > (held.get(event.market) ?? 0)
      held.set(event.market, event.quantityAtoms)
      hasChanged = true
    } else if (event.event === "TakeoverDifferencePaid") {
      paysDifference = event.account === account || account === state.accounts.find(Ids.insuranceFundId)
    } else if (event.event === "CollateralChanged" && event.account === account) {
      // Funding that is settled with an execution comes between it and the change of the position. What the execution itself moved is told
      // right behind that change.
      if (begun !== undefined && hasChanged) {
        const { feeAtoms } = begun
        const side = Order.sides[hasBought ? Order.buy : Order.sell]
        const realizedAtoms = event.collateralAtoms - before + feeAtoms
        found.push({ told: { ...begun.told, side }, realizedAtoms, feeAtoms, balanceAtoms: event.collateralAtoms, differenceAtoms: 0 })
        begun = undefined
        paysDifference = false
      } else if (paysDifference) {
        found.push({ ...found.pop()!, differenceAtoms: event.collateralAtoms - before })
        paysDifference = false
      }
      before = event.collateralAtoms
    }
  }
  return found
}

/**
 * Whether a balance change belongs to this execution, being the first of its money: a realized profit or loss, or a fee or a takeover's
 * difference without one.
 */
const isOf = ({ amountAtoms, balanceAtoms, cause }: Money, executed: Executed): boolean => {
  if (causes[cause] === "realized_pnl") {
    return executed.realizedAtoms === amountAtoms && executed.balanceAtoms === balanceAtoms - executed.feeAtoms
  }
  if (executed.realizedAtoms !== 0) return false
  return causes[cause] === "fee"
    ? executed.feeAtoms === -amountAtoms && executed.balanceAtoms === balanceAtoms
    : executed.differenceAtoms === amountAtoms && executed.balanceAtoms === balanceAtoms - amountAtoms
}

/**
 * The lines of one record: each execution, followed by the money that it moved (a realized profit or loss, then a fee or a takeover's
 * difference; some executions move none), and the other balance changes where they occurred. Money that belongs to no execution is told
 * without one, since under another it would be told of something else.
 */
const linesOf = (
  state: State,
  account: number,
  changes: ReadonlyArray<Money>,
  held: Held,
  events: ReadonlyArray<DecodedEvent>
): ReadonlyArray<Told> => {
  const [first] = changes
  const balanceAtoms = first === undefined ? state.accounts.collateral(account) : first.balanceAtoms - first.amountAtoms
  const executions = executionsOf(state, account, balanceAtoms, held, events)
  const transfers = transfersOf(state, account, events)
  const told: Array<Told> = []
  let awaitsFee = false
  for (const change of changes) {
    const { amountAtoms, cause, market } = change
    const kind = causes[cause]!
    if (kind === "realized_pnl" || kind === "takeover_difference" || (kind === "fee" && !awaitsFee)) {
      const whose = executions.findIndex((executed) => isOf(change, executed))
      const begun = executions.splice(0, whose + 1)
      told.push(...begun.map((executed) => executed.told))
      awaitsFee = kind === "realized_pnl" && (begun.at(-1)?.feeAtoms ?? 0) !== 0
    } else if (kind === "fee") awaitsFee = false
    const isTransfer = kind === "deposit" || kind === "withdrawal_reserved" || kind === "withdrawal_returned"
    const reference = isTransfer ? transfers.shift() ?? "" : ""
    told.push({ ...plain, kind, marketId: market < 0 ? "" : marketName(state, market), reference, amountAtoms })
  }
  return [...told, ...executions.map((executed) => executed.told)]
}

/** The statement of an account for a range. */
export const draw = (
  journal: Source,
  capacity: Capacity,
  accountId: string,
  stretch: Stretch.Stretch,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<Statement, Unreadable | Unknown | Diverged> =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    let held: Held = new Map()
    const at = { first: 0, last: 0, openingAtoms: 0, balanceAtoms: 0, isCut: false }
    let brokenAt: number | undefined
    const collateral = ({ accounts }: State): number => {
      const account = accounts.find(accountId)
      return account < 0 ? 0 : accounts.collateral(account)
    }
    const add = (state: State, { atEpochMs, sequence }: Record, events: () => ReadonlyArray<DecodedEvent>): void => {
      const account = state.accounts.find(accountId)
      if (account < 0) return
      for (const told of linesOf(state, account, changesBy(state, account, sequence), held, events())) {
        at.balanceAtoms += told.amountAtoms
        if (lines.length < mostLines) lines.push({ ...told, sequence, atEpochMs, balanceAtoms: at.balanceAtoms })
        else at.isCut = true
      }
      if (at.balanceAtoms !== collateral(state)) brokenAt ??= sequence
    }
    const visitor: Visitor = {
      block: look.block,
      wants: (record) => !Stretch.isBehind(stretch, record) && !at.isCut,
      before: ({ state }, record) => {
        if (at.first !== 0 || Stretch.isBefore(stretch, record)) return
        at.first = record.sequence
        at.openingAtoms = at.balanceAtoms = collateral(state)
        held = heldBy(state, accountId)
      },
      applied: ({ state }, record, _outcome, events) => {
        if (Stretch.isBefore(stretch, record)) return
        at.last = record.sequence
        add(state, record, events)
      }
    }
    return follow(journal, capacity, visitor, ({ state }): Statement => {
      const openingAtoms = at.first === 0 ? collateral(state) : at.openingAtoms
      const known = state.accounts.find(accountId) >= 0
      return {
        accountId,
        lines,
        first: at.first,
        last: at.last,
        openingAtoms,
        isCut: at.isCut,
        known,
        brokenAt,
        closingAtoms: collateral(state)
      }
    })
  })
