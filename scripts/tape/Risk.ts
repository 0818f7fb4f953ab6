/** The effects of leverage in a run: liquidations, the insurance fund's part, and funding paid. */
import type { Fund } from "./Fund.js"
import type { Account, Venue } from "./Venue.js"

/** Most steps in one answer. */
const told = 500

/** Money atoms as strings. */
export interface Risk {
  readonly leverage: number
  /** The smallest and the largest collateral of the takers. */
  readonly collateralAtoms: readonly [least: string, most: string]
  readonly liquidatedAccounts: number
  /** Parts of positions sent into the book, and how many of them found a counterparty. */
  readonly parts: number
  readonly partsFilled: number
  readonly takeovers: number
  /** Parts of counterparties' positions that were closed. */
  readonly deleveragings: number
  /** How often no counterparty was left. */
  readonly exhausted: number
  readonly liquidationFeesAtoms: string
  readonly fund: { readonly equityBeforeAtoms: string; readonly equityAtoms: string; readonly openPositions: number }
  readonly funding: {
    readonly intervals: number
    /** Intervals with a rate other than 0. */
    readonly charged: number
    /** Paid and received by the run's accounts. */
    readonly paidAtoms: string
    readonly receivedAtoms: string
  }
}

interface Step {
  readonly stepId: string
  readonly step: "order" | "takeover" | "deleveraging" | "exhausted"
  readonly filledQuantityAtoms: string
  readonly feeAtoms: string
}

interface OwnStep extends Step {
  readonly role: "liquidated" | "counterparty"
}

interface Payment {
  readonly marketId: string
  readonly paidAtoms: string
}

/** The run's own data. */
export interface Parts {
  readonly leverage: number
  readonly collateralsAtoms: ReadonlyArray<bigint>
  readonly accounts: ReadonlyArray<Account>
  readonly marketId: string
  readonly sinceEpochMs: number
  readonly before: Fund
  readonly after: Fund
}

const sum = (atoms: ReadonlyArray<bigint>): bigint => atoms.reduce((total, each) => total + each, 0n)

/** Each account's own steps: only the account itself is told of its liquidation. */
const ownSteps = (venue: Pick<Venue, "read">, { accounts, sinceEpochMs }: Parts): Promise<ReadonlyArray<ReadonlyArray<OwnStep>>> =>
  Promise.all(accounts.map(async (account) => {
    const path = `/v1/accounts/${account.accountId}/liquidations?since=${sinceEpochMs}&limit=${told}`
    return (await venue.read<{ readonly steps: ReadonlyArray<OwnStep> }>(path, account.apiKey)).steps
  }))

/** Steps of liquidations that the accounts were told of and the public was not, or the reverse. */
const differences = (own: ReadonlyMap<string, Step>, published: ReadonlyArray<Step>): ReadonlyArray<string> => {
  const missing = published.filter(({ stepId }) => !own.has(stepId))
  const unpublished = own.size - (published.length - missing.length)
  const found: Array<string> = []
  // The insurance fund's own deleveragings have a counterparty among the accounts, which is told of them.
  if (missing.length > 0) found.push(`${missing.length} published steps of liquidations concern none of the run's accounts`)
  if (unpublished > 0 && published.length < told) found.push(`${unpublished} steps of liquidations were told to accounts and not published`)
  return found
}

/** Collects the effects of leverage, and reports where the published data differ from the accounts' own. */
export const gather = async (
  venue: Pick<Venue, "read">,
  parts: Parts
): Promise<{ readonly risk: Risk; readonly problems: ReadonlyArray<string> }> => {
  const { accounts, after, before, collateralsAtoms, leverage, marketId, sinceEpochMs } = parts
  const own = await ownSteps(venue, parts)
  const market = `/v1/markets/${marketId}`
  const query = `since=${sinceEpochMs}&limit=${told}`
  const { steps: published } = await venue.read<{ readonly steps: ReadonlyArray<Step> }>(`${market}/liquidations?${query}`)
  const { intervals } = await venue.read<{ readonly intervals: ReadonlyArray<{ readonly fundingRateE9: string }> }>(
    `${market}/funding?${query}`
  )
  const payments = await Promise.all(accounts.map(async (account) => {
    const path = `/v1/accounts/${account.accountId}/funding-payments?${query}`
    return (await venue.read<{ readonly payments: ReadonlyArray<Payment> }>(path, account.apiKey)).payments
  }))
  const funding = payments.flat().filter((payment) => payment.marketId === marketId).map(({ paidAtoms }) => BigInt(paidAtoms))
  const steps = new Map(own.flat().map((step) => [step.stepId, step]))
  const of = (kind: Step["step"]): ReadonlyArray<Step> => [...steps.values()].filter(({ step }) => step === kind)
  const sorted = [...collateralsAtoms].sort((one, other) => one < other ? -1 : 1)
  return {
    risk: {
      leverage,
      collateralAtoms: [String(sorted[0]), String(sorted.at(-1))],
      liquidatedAccounts: own.filter((list) => list.some(({ role }) => role === "liquidated")).length,
      parts: of("order").length,
      partsFilled: of("order").filter(({ filledQuantityAtoms }) => filledQuantityAtoms !== "0").length,
      takeovers: of("takeover").length,
      deleveragings: of("deleveraging").length,
      exhausted: of("exhausted").length,
      liquidationFeesAtoms: String(sum([...steps.values()].map(({ feeAtoms }) => BigInt(feeAtoms)))),
      fund: { equityBeforeAtoms: before.equityAtoms, equityAtoms: after.equityAtoms, openPositions: after.positions.length },
      funding: {
        intervals: intervals.length,
        charged: intervals.filter(({ fundingRateE9 }) => fundingRateE9 !== "0").length,
        paidAtoms: String(sum(funding.filter((atoms) => atoms > 0n))),
        receivedAtoms: String(-sum(funding.filter((atoms) => atoms < 0n)))
      }
    },
    problems: differences(steps, published)
  }
}
