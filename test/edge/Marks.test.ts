/** Marks with their components, over the real engine: a reader can recompute each of them. `ask` checks every schema. */
import { expect, test } from "vitest"
import { parameters, patient } from "../engine/drive.js"
import { LiveVenue } from "./LiveVenue.js"

const marketId = "BBB-USDC-PERP"
const fundingIntervalMs = 3_600_000

interface Mark {
  readonly madeAtEpochMs: number
  readonly sequence: number
  readonly markPrice: string
  readonly markPriceAtoms: string
  readonly indexPriceAtoms: string
  readonly impactBidPriceAtoms?: string
  readonly impactAskPriceAtoms?: string
  readonly lastPriceAtoms?: string
  readonly fundingRateE9: string
  readonly fundingIntervalMs: number
  readonly basisSumTwiceAtoms: string
  readonly basisSamples: number
  readonly fundedPriceAtoms: string
  readonly basisPriceAtoms: string
  readonly bookPriceAtoms: string
  readonly lowestPriceAtoms: string
  readonly highestPriceAtoms: string
}

const make = async () => {
  const venue = LiveVenue.make()
  venue.market(
    parameters("BBB", { ...patient, fundingCapE9: 40_000_000, fundingIntervalMs, impactNotionalAtoms: 100_000_000, markBandBps: 100 })
  )
  const [alice, bob] = await venue.traders(2)
  const tick = (): void => {
    venue.atEpochMs += 1_000 - venue.atEpochMs % 1_000
    venue.send({ kind: "MarkTick" })
  }
  const marks = async (query = ""): Promise<ReadonlyArray<Mark>> =>
    (await venue.read(alice!, `/v1/markets/${marketId}/marks${query}`)).marks as ReadonlyArray<Mark>
  return { alice: alice!, bob: bob!, marks, tick, venue }
}

/** A quotient with a positive divisor, rounded half up, toward +infinity. */
const halfUp = (over: bigint, under: bigint): bigint => {
  const doubled = 2n * over + under
  const divisor = 2n * under
  return doubled >= 0n ? doubled / divisor : -((-doubled + divisor - 1n) / divisor)
}

const middle = (prices: ReadonlyArray<bigint>): bigint => [...prices].sort((one, other) => (one < other ? -1 : 1))[1]!

/** The mark as anybody can recompute it from what is published. */
const reckoned = (mark: Mark): string => {
  const index = BigInt(mark.indexPriceAtoms)
  const left = BigInt(mark.fundingIntervalMs - mark.madeAtEpochMs % mark.fundingIntervalMs)
  const funded = index + halfUp(index * BigInt(mark.fundingRateE9) * left, BigInt(mark.fundingIntervalMs) * 1_000_000_000n)
  const basis = mark.basisSamples === 0 ? index : index + halfUp(BigInt(mark.basisSumTwiceAtoms), 2n * BigInt(mark.basisSamples))
  const isThin = mark.impactBidPriceAtoms === undefined || mark.impactAskPriceAtoms === undefined
  const book = isThin
    ? index
    : middle([BigInt(mark.impactBidPriceAtoms), BigInt(mark.impactAskPriceAtoms), BigInt(mark.lastPriceAtoms ?? mark.indexPriceAtoms)])
  expect([mark.fundedPriceAtoms, mark.basisPriceAtoms, mark.bookPriceAtoms]).toEqual([funded, basis, book].map(String))
  const within = middle([BigInt(mark.lowestPriceAtoms), middle([funded, basis, book]), BigInt(mark.highestPriceAtoms)])
  return String(within)
}

test("every mark can be reckoned again from what is published of it", async () => {
  const { alice, bob, marks, tick, venue } = await make()
  tick()
  await venue.place(bob, { marketId, side: "sell", price: "100.9", quantity: "5.000" })
  tick()
  await venue.place(alice, { marketId, side: "buy", price: "99.9", quantity: "5.000" })
  for (let second = 0; second < 12; second++) tick()
  await venue.place(alice, { marketId, side: "buy", price: "100.9", quantity: "0.001" })
  tick()
  const told = await marks()
  expect(told).toHaveLength(15)
  expect(told.map(({ madeAtEpochMs }) => madeAtEpochMs)).toEqual(told.map((_, at) => venue.atEpochMs - 1_000 * at))
  for (const each of told) expect(reckoned(each)).toBe(each.markPriceAtoms)
  // A side without depth has no impact price, and a market without trades no last price.
  expect(Object.keys(told.at(-1)!).filter((name) => /^(impact|last)/.test(name))).toEqual([])
  expect(told.at(-2)).toMatchObject({ impactAskPriceAtoms: "1009" })
  expect(told.at(-2)).not.toHaveProperty("impactBidPriceAtoms")
  // The book lies above the index, and the mark followed it.
  expect(told[0]).toMatchObject({
    impactBidPriceAtoms: "999",
    impactAskPriceAtoms: "1009",
    lastPriceAtoms: "1009",
    sequence: venue.engine.sequence
  })
  expect(told[0]!.markPriceAtoms).toBe(String(venue.engine.stats(venue.engine.findMarket(marketId)).markPriceAtoms))
  expect(Number(told[0]!.markPriceAtoms)).toBeGreaterThan(1_000)
})

test("they are told since a time, so many, and the latest ten minutes are kept", async () => {
  const { marks, tick, venue } = await make()
  for (let second = 0; second < 700; second++) tick()
  expect(await marks("?limit=3")).toHaveLength(3)
  expect(await marks(`?since=${venue.atEpochMs - 1_000}`)).toHaveLength(2)
  expect(venue.engine.marks(venue.engine.findMarket(marketId), 0, 10_000)).toHaveLength(600)
})

test("fifty are told of more where no number is asked for, as the contract says", async () => {
  const { marks, tick } = await make()
  for (let count = 0; count < 60; count++) tick()
  expect(await marks()).toHaveLength(50)
  expect(await marks("?limit=55")).toHaveLength(55)
})
