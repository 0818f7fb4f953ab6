/**
 * Whether the money adds up after a tape: positions of all its accounts sum to zero, and what their equities lack of
 * what was put in is the fees of the fills, and the rounding against accounts, of which no fill makes more than one
 * money atom on each side.
 */
import { bpsOne, mulDivCeil } from "../../src/domain/Units.js"
import * as Market from "../../src/domain/Market.js"
import { priceScale, quantityScale } from "./Capture.js"
import type { Terms } from "./Market.js"
import type { Fill } from "./Mirror.js"
import { type Account, type Call, decoded, type Venue } from "./Venue.js"

const factor = Market.notionalFactor({ priceScale, quantityScale })

/** Fills of the run, with what they cost: fees are rounded up for each fill and side. Money atoms. */
export class Tally {
  count = 0
  sizeAtoms = 0
  notionalAtoms = 0n
  makerFeeAtoms = 0n
  takerFeeAtoms = 0n

  constructor(private readonly terms: Terms) {}

  fills(fills: ReadonlyArray<Fill>): void {
    for (const { priceAtoms, sizeAtoms } of fills) {
      const notional = priceAtoms * sizeAtoms * factor
      this.count++
      this.sizeAtoms += sizeAtoms
      this.notionalAtoms += BigInt(notional)
      this.makerFeeAtoms += BigInt(mulDivCeil(notional, this.terms.makerFeeBps, bpsOne))
      this.takerFeeAtoms += BigInt(mulDivCeil(notional, this.terms.takerFeeBps, bpsOne))
    }
  }
}

/** Money atoms as strings. */
export interface Money {
  readonly positionsSumAtoms: number
  readonly openPositions: number
  readonly depositedAtoms: string
  readonly equityAtoms: string
  readonly feesAtoms: string
  /** Deposited - equity - fees: what rounding took. */
  readonly roundingAtoms: string
}

interface Balance {
  readonly equityAtoms: string
}
interface Positions {
  readonly positions: ReadonlyArray<{ readonly marketId: string; readonly side: "long" | "short"; readonly quantityAtoms: string }>
}

/** Where accounts are read. */
type Reading = Pick<Venue, "ask">

const ask = async <A>(venue: Reading, account: Account, operation: string, path: string): Promise<A> => {
  const call: Call = { operation, method: "GET", path, bearer: account.apiKey }
  return decoded<A>(call, await venue.ask(call))
}

/** Reads every account, and says what does not add up. */
export const settle = async (
  venue: Reading,
  accounts: ReadonlyArray<Account>,
  depositedAtoms: bigint,
  tally: Pick<Tally, "count" | "makerFeeAtoms" | "takerFeeAtoms">
): Promise<{ readonly money: Money; readonly problems: ReadonlyArray<string> }> => {
  let sum = 0
  let open = 0
  let equity = 0n
  for (const account of accounts) {
    const { positions } = await ask<Positions>(venue, account, "list positions", `/v1/accounts/${account.accountId}/positions`)
    for (const { side, quantityAtoms } of positions) {
      open++
      sum += side === "long" ? Number(quantityAtoms) : -Number(quantityAtoms)
    }
    const balance = await ask<Balance>(venue, account, "read balance", `/v1/accounts/${account.accountId}/balance`)
    equity += BigInt(balance.equityAtoms)
  }
  const fees = tally.makerFeeAtoms + tally.takerFeeAtoms
  const rounding = depositedAtoms - equity - fees
  const problems: Array<string> = []
  if (sum !== 0) problems.push(`positions of the run's accounts sum to ${sum} size atoms`)
  if (rounding < 0n || rounding > BigInt(2 * tally.count)) {
    problems.push(
      `${depositedAtoms} money atoms were put in, ${equity} are there and ${fees} went in fees: ${rounding} are unaccounted for`
    )
  }
  return {
    money: {
      positionsSumAtoms: sum,
      openPositions: open,
      depositedAtoms: String(depositedAtoms),
      equityAtoms: String(equity),
      feesAtoms: String(fees),
      roundingAtoms: String(rounding)
    },
    problems
  }
}
