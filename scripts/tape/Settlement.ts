/**
 * Whether the money adds up after a tape: positions of all its accounts and of the insurance fund sum to zero, and their total equity is
 * the deposits less exactly the fees of the fills. Positions count at their entry notional, which closing reduces with its rounding: so the
 * sums involve no mark, and are exact to the money atom.
 */
import { bpsOne, mulDivCeil } from "../../src/domain/Units.js"
import * as Market from "../../src/domain/Market.js"
import { priceScale, quantityScale } from "./Capture.js"
import * as Fund from "./Fund.js"
import type { Terms } from "./Market.js"
import type { Fill } from "./Mirror.js"
import { type Account, pause, Unexpected, type Venue } from "./Venue.js"

const factor = Market.notionalFactor({ priceScale, quantityScale })

/** Fills of the run, with their fees, which are rounded up for each fill and side. Money atoms. */
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
  /** The accounts' total equity, including the fund's change: as positions cancel out, no mark is in it. */
  readonly equityAtoms: string
  /** The insurance fund's contribution: collateral, and positions at their entry; a part of the sum rather than the fund's value. */
  readonly fundAtoms: string
  /** Fees of the accounts' fills, as listed by the venue. */
  readonly feesAtoms: string
  /** Deposits less equity and fees. */
  readonly missingAtoms: string
}

interface Balance {
  readonly collateralAtoms: string
}
interface Positions {
  readonly positions: Fund.Fund["positions"]
}
interface Fills {
  readonly fills: ReadonlyArray<{ readonly tradeId: string; readonly feeAtoms: string }>
  readonly nextCursor: string | null
}

/** Where accounts are read. */
type Reading = Pick<Venue, "read">

const fillsPage = (venue: Reading, account: Account, limit: number, cursor = ""): Promise<Fills> =>
  venue.read(`/v1/accounts/${account.accountId}/fills?limit=${limit}${cursor}`, account.apiKey)

/** An account's fees, and the newest fill included in them. */
interface Fees {
  readonly feesAtoms: bigint
  readonly newest: string | undefined
}

const feesOf = async (venue: Reading, account: Account): Promise<Fees> => {
  let feesAtoms = 0n
  let newest: string | undefined
  for (let cursor = "";;) {
    const { fills, nextCursor } = await fillsPage(venue, account, 100, cursor)
    newest ??= fills[0]?.tradeId
    for (const fill of fills) feesAtoms += BigInt(fill.feeAtoms)
    if (nextCursor === null) return { feesAtoms, newest }
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`
  }
}

/** All inputs of the sums, as of one record. */
interface Standing {
  readonly positions: Fund.Fund["positions"]
  readonly collateralAtoms: bigint
  readonly fund: Fund.Fund
}

/** Reads everything; undefined where the venue decided something meanwhile, or made fills that the fees do not include yet. */
const standing = async (
  venue: Reading,
  accounts: ReadonlyArray<Account>,
  known: ReadonlyArray<Fees>
): Promise<Standing | undefined> => {
  const { journalSequence } = await Fund.read(venue)
  const read = await Promise.all(accounts.map(async (account) => {
    const path = `/v1/accounts/${account.accountId}`
    const [{ fills }, { positions }, { collateralAtoms }] = await Promise.all([
      fillsPage(venue, account, 1),
      venue.read<Positions>(`${path}/positions`, account.apiKey),
      venue.read<Balance>(`${path}/balance`, account.apiKey)
    ])
    return { newest: fills[0]?.tradeId, positions, collateralAtoms }
  }))
  const fund = await Fund.read(venue)
  if (fund.journalSequence !== journalSequence || read.some(({ newest }, index) => newest !== known[index]!.newest)) return undefined
  return {
    positions: read.flatMap(({ positions }) => positions),
    collateralAtoms: read.reduce((sum, { collateralAtoms }) => sum + BigInt(collateralAtoms), 0n),
    fund
  }
}

/** The resulting sums. The fund counts with its change since before the run. */
const moneyOf = ({ collateralAtoms, fund, positions }: Standing, before: Fund.Fund, depositedAtoms: bigint, feesAtoms: bigint): Money => {
  const held = Fund.heldOf(positions)
  const [heldByFund, heldBefore] = [Fund.heldOf(fund.positions), Fund.heldOf(before.positions)]
  const fundAtoms = BigInt(fund.collateralAtoms) - BigInt(before.collateralAtoms) + heldByFund.entryAtoms - heldBefore.entryAtoms
  const equityAtoms = collateralAtoms + held.entryAtoms + fundAtoms
  return {
    positionsSumAtoms: held.sizeAtoms + heldByFund.sizeAtoms - heldBefore.sizeAtoms,
    openPositions: positions.length,
    depositedAtoms: String(depositedAtoms),
    equityAtoms: String(equityAtoms),
    fundAtoms: String(fundAtoms),
    feesAtoms: String(feesAtoms),
    missingAtoms: String(depositedAtoms - equityAtoms - feesAtoms)
  }
}

const problemsOf = (money: Money): ReadonlyArray<string> => {
  const problems: Array<string> = []
  if (money.positionsSumAtoms !== 0)
    problems.push(`positions of the run's accounts and the fund sum to ${money.positionsSumAtoms} size atoms`)
  if (money.missingAtoms !== "0") {
    problems.push(
      `${money.depositedAtoms} money atoms were put in, ${money.equityAtoms} are there and ${money.feesAtoms} went in fees: `
        + `${money.missingAtoms} are unaccounted for`
    )
  }
  return problems
}

export interface Settled {
  readonly money: Money
  readonly fund: Fund.Fund
  readonly problems: ReadonlyArray<string>
}

/** How often everything is read again until nothing was decided between the first and the last read. */
export interface Patience {
  readonly attempts: number
  readonly pauseMs: number
}

const patience: Patience = { attempts: 30, pauseMs: 200 }

/**
 * Reads all accounts and the fund as of one record, and reports what does not add up. The rounding remainder of funding reaches the fund
 * one record later, so sums that are not exact are read again, too.
 */
export const settle = async (
  venue: Reading,
  accounts: ReadonlyArray<Account>,
  depositedAtoms: bigint,
  before: Fund.Fund,
  { attempts, pauseMs }: Patience = patience
): Promise<Settled> => {
  let found: Settled | undefined
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) await pause(pauseMs)
    const fees = await Promise.all(accounts.map((account) => feesOf(venue, account)))
    const stood = await standing(venue, accounts, fees)
    if (stood === undefined) continue
    const money = moneyOf(stood, before, depositedAtoms, fees.reduce((sum, { feesAtoms }) => sum + feesAtoms, 0n))
    found = { money, fund: stood.fund, problems: problemsOf(money) }
    if (found.problems.length === 0) return found
  }
  if (found === undefined) throw new Unexpected("the venue never stood still for as long as reading its accounts takes")
  return found
}
