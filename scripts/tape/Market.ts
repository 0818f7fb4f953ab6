/** The tape's own market and accounts on a venue, created where they do not exist yet. */
import { bpsOne } from "../../src/domain/Units.js"
import { priceScale, quantityScale } from "./Capture.js"
import { Refusal } from "../../src/client/venue/Refusal.js"
import { type Account, Unexpected, type Venue } from "./Venue.js"

/** The default market: with another leverage it has other parameters. */
export const defaultMarketId = (leverage: number | undefined): string =>
  leverage === undefined ? "TAPEBTC-USDC-PERP" : `TAPE${leverage}X-USDC-PERP`

/** An account's money, in USDC: enough for orders of a whole book and positions of hundreds of coins. */
export const makerCollateral = "1000000000.0"
export const takerCollateral = "100000000.0"

const parameters = {
  underlyingSymbol: "BTC",
  marketType: "crypto",
  priceScale,
  quantityScale,
  minPrice: "0.1",
  maxPrice: "400000.0",
  minQuantity: "0.001",
  maxQuantity: "5000.0",
  maxPositionQuantity: "20000.0",
  initialMarginBps: 500,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 250 }],
  maxLeverageX: 20,
  makerFeeBps: 2,
  takerFeeBps: 5,
  priceBandBps: 500,
  // The index moves in tape time, which is not the venue's: it must not become stale however long a machine takes for a step, or to
  // restart.
  indexStaleMs: 3_600_000
}

/**
 * The market's parameters. With a leverage its margins are the smallest that allow it and leave as little room as the rules permit
 * (maintenance is two thirds of the initial margin), and funding is paid every ten seconds, so that even a tape of minutes includes some.
 */
const parametersFor = (leverage: number | undefined): object => {
  if (leverage === undefined) return parameters
  const initialMarginBps = Math.floor(bpsOne / leverage)
  return {
    ...parameters,
    initialMarginBps,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: Math.floor((2 * initialMarginBps) / 3) }],
    maxLeverageX: leverage,
    fundingIntervalMs: 10_000
  }
}

/** The properties of a market that a tape needs. */
export interface Terms {
  readonly marketId: string
  readonly makerFeeBps: number
  readonly takerFeeBps: number
}

interface Snapshot {
  readonly status: string
  readonly market: Terms & { readonly priceScale: number; readonly quantityScale: number; readonly maxLeverageX: number }
}

const look = async (venue: Venue, marketId: string): Promise<Snapshot | undefined> => {
  try {
    return await venue.read<Snapshot>(`/v1/markets/${marketId}`)
  } catch (cause) {
    if (cause instanceof Refusal && cause.status === 404) return undefined
    throw cause
  }
}

const create = async (venue: Venue, marketId: string, leverage: number | undefined): Promise<void> => {
  const path = `/v1/operator/markets/${marketId}`
  await venue.setUp("PUT", path, parametersFor(leverage))
  for (const status of ["backfilling", "open"]) await venue.setUp("PUT", `${path}/status`, { status })
}

/** The market, created and opened where the venue has none of that name; throws where the existing one is unsuitable for a tape. */
export const prepare = async (venue: Venue, marketId: string, leverage: number | undefined): Promise<Terms> => {
  let found = await look(venue, marketId)
  if (found === undefined) {
    await create(venue, marketId, leverage)
    found = await look(venue, marketId)
  }
  if (found === undefined) throw new Unexpected(`${marketId} was made and is not there`)
  const { market, status } = found
  if (status !== "open") throw new Unexpected(`${marketId} is ${status}, not open`)
  if (market.priceScale !== priceScale || market.quantityScale !== quantityScale) {
    throw new Unexpected(
      `${marketId} has priceScale ${market.priceScale} and quantityScale ${market.quantityScale}, `
        + `a tape has ${priceScale} and ${quantityScale}`
    )
  }
  if (leverage !== undefined && market.maxLeverageX !== leverage) {
    throw new Unexpected(`${marketId} has maxLeverageX ${market.maxLeverageX}, not ${leverage}`)
  }
  return { marketId, makerFeeBps: market.makerFeeBps, takerFeeBps: market.takerFeeBps }
}

/** Most accounts that one call of the route opens. */
const perCall = 32

/** Opens funded accounts; fails outside development, where the venue refuses. */
export const openAccounts = async (venue: Venue, count: number, collateral: string): Promise<ReadonlyArray<Account>> => {
  const path = "/v1/operator/demo/accounts"
  const accounts: Array<Account> = []
  while (accounts.length < count) {
    const body = { accounts: Math.min(perCall, count - accounts.length), collateral }
    accounts.push(...(await venue.setUp<{ readonly accounts: ReadonlyArray<Account> }>("POST", path, body)).accounts)
  }
  return accounts
}
