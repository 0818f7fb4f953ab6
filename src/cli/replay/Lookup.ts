/**
 * Finds the orders that a text names: an order id, a clientOrderId of an account, or the Idempotency-Key of a command that placed, changed
 * or cancelled them. A text in the form of an order id is taken as one if the journal knows that order.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import type { Engine } from "../../engine/Engine.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import { of } from "../../operations/Operations.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { type Ended, usage } from "../Exit.js"
import { follow, passive, type Source, type Visitor } from "./Follow.js"
import { accountName, ownerBy, ownerOf } from "./Names.js"

/** Orders, oldest first, all of one account, and how the text names them. */
export interface Named {
  readonly orderNumbers: ReadonlyArray<number>
  readonly accountId: string
  readonly by: "order id" | "name"
}

/** A text that names no order. */
export class Unfound extends Data.TaggedError("Unfound")<{
  readonly message: string
  /** The number of the order, where the text has the form of an order id. */
  readonly orderNumber: number | undefined
}> {}

/** Most orders that one text may name: an account may use a clientOrderId again once the order is forgotten. */
const mostOrders = 64
/** Most matches kept to recognize an ambiguous text. */
const mostMatches = 1_024
/** Most accounts listed in a message. */
const mostAccounts = 8

/** A record in which an account used the text. */
interface Match {
  readonly account: number
  readonly sequence: number
  readonly orderNumbers: ReadonlyArray<number>
  /** The kind of command, where the text is the key of one that names no order. */
  readonly label: string
}

/** The orders that a record associates with a text; undefined where it does not use it. */
const ordersIn = ({ command, sequence }: Record, text: string): ReadonlyArray<number> | undefined => {
  const isKey = command.idempotencyKey === text
  switch (command.kind) {
    case "PlaceOrders": {
      const named = command.entries.flatMap(({ clientOrderId }, index) =>
        isKey || clientOrderId === text ? [Ids.ordinal(sequence, index)] : []
      )
      return named.length > 0 ? named : undefined
    }
    case "CancelOrders":
      return isKey ? command.entries.flatMap(({ orderNumber }) => orderNumber < 0 ? [] : [orderNumber]) : undefined
    default:
      if (!isKey) return undefined
      return "orderNumber" in command && command.orderNumber >= 0 && of(command).whose === "sender" ? [command.orderNumber] : []
  }
}

/** What a state remembers for a text: for a journal that begins after a state, this covers what was placed before. */
const rememberedIn = (engine: Engine, text: string): ReadonlyArray<Match> =>
  Array.from({ length: engine.state.accounts.count }, (_, account): Match => {
    const client = engine.findClientOrder(account, text)
    const decided = engine.findOutcomes(account, text).flatMap(({ outcome }) => outcome.entries)
    const orderNumbers = [
      ...(client === undefined ? [] : [client.orderNumber]),
      ...decided.flatMap((entry) => "orderNumber" in entry && entry.orderNumber >= 0 ? [entry.orderNumber] : [])
    ]
    return { account, sequence: engine.sequence, orderNumbers, label: "" }
  }).filter(({ orderNumbers }) => orderNumbers.length > 0)

/** What a text names in the whole journal. Fails where that is nothing, and as a wrong command line where several accounts used it. */
export const find = (
  journal: Source,
  capacity: Capacity,
  text: string,
  accountId: string | undefined,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<Named, Unreadable | Unknown | Diverged | Unfound | Ended> =>
  Effect.suspend(() => {
    const matches: Array<Match> = []
    const orderNumber = Ids.parseOrderId(text)
    let owner: number | undefined
    let hasBegun = false
    const isOf = ({ state }: Engine, account: number): boolean => accountId === undefined || state.accounts.find(accountId) === account
    const visitor: Visitor = {
      block: look.block,
      wants: () => owner === undefined,
      before: (engine) => {
        if (hasBegun) return
        hasBegun = true
        // A journal that begins after a state does not hold the records that placed the orders in it.
        if (engine.sequence === 0) return
        const { account } = ownerOf(engine.state, orderNumber ?? none)
        if (account >= 0) owner = account
        matches.push(...rememberedIn(engine, text).filter((match) => isOf(engine, match.account)).slice(0, mostMatches))
      },
      applied: (engine, record, _outcome, events) => {
        const sender = owner === undefined && orderNumber !== undefined ? ownerBy(engine.state, record, events, orderNumber) : none
        if (sender >= 0) owner = sender
        const orderNumbers = ordersIn(record, text)
        if (orderNumbers === undefined || matches.length >= mostMatches || !isOf(engine, record.command.account)) return
        matches.push({ account: record.command.account, sequence: record.sequence, orderNumbers, label: of(record.command).label })
      }
    }
    return Effect.flatten(follow(journal, capacity, visitor, (engine) => {
      if (orderNumber === undefined || owner === undefined) return namedBy(engine.state, text, accountId, matches)
      return isOf(engine, owner)
        ? Effect.succeed<Named>({ orderNumbers: [orderNumber], accountId: accountName(engine.state, owner), by: "order id" })
        : usage(`${text} is an order of ${accountName(engine.state, owner)}, and not of ${accountId}`)
    }))
  })

const namedBy = (
  state: State,
  text: string,
  accountId: string | undefined,
  matches: ReadonlyArray<Match>
): Effect.Effect<Named, Unfound | Ended> => {
  const placing = matches.filter((match) => match.orderNumbers.length > 0)
  const accounts = [...new Set(placing.map(({ account }) => account))]
  if (accounts.length > 1) {
    const told = accounts.slice(0, mostAccounts).map((account) => accountName(state, account)).join(", ")
    const more = accounts.length > mostAccounts ? ` and ${accounts.length - mostAccounts} more` : ""
    return usage(`${text} is ambiguous: it names orders of ${told}${more}; say whose with --account`)
  }
  const [account] = accounts
  if (account === undefined) return nothingBy(state, text, accountId, matches)
  const orderNumbers = [...new Set(placing.flatMap((match) => match.orderNumbers))].sort((one, other) => one - other)
  if (orderNumbers.length > mostOrders) {
    return usage(`${text} is ambiguous: ${accountName(state, account)} used it for more than ${mostOrders} orders; ask for one by its id`)
  }
  return Effect.succeed({ orderNumbers, accountId: accountName(state, account), by: "name" })
}

/** Why a text names no order. */
const nothingBy = (state: State, text: string, accountId: string | undefined, [match]: ReadonlyArray<Match>): Unfound | Ended => {
  const whose = accountId === undefined ? "" : ` of ${accountId}`
  if (match === undefined) {
    const message = `the journal knows no order ${text}${whose}: no order id, clientOrderId or Idempotency-Key`
    return new Unfound({ message, orderNumber: Ids.parseOrderId(text) })
  }
  const asked = match.account < 0 ? "" : `--account ${accountName(state, match.account)} `
  return usage(
    `${text} is the Idempotency-Key of a command that names no order (${match.label}), in record ${match.sequence}: `
      + (asked === "" ? "npm run venue -- journal tail tells it" : `${asked}--from ${match.sequence} --to ${match.sequence} tells it`)
  )
}
