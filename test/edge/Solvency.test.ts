/** Solvency as the public and owners see it, over the real engine: the published sums add up, and proofs are only the owner's. */
import { beforeAll, describe, expect, test } from "vitest"
import { verifyProof, verifyPublished } from "../../src/client/solvency/Solvency.js"
import { LiveVenue, type Trader } from "./LiveVenue.js"
import { nextTurn } from "../Turn.js"

// oxlint-disable-next-line typescript/no-explicit-any -- an answer, whose shape the harness holds to its schema
type Answer = any

const ask = async (venue: LiveVenue, target: string, key?: string): Promise<readonly [number, Answer]> => {
  const { body, status } = await venue.ask({ target, ...(key === undefined ? undefined : { key }) })
  return [status, JSON.parse(body)]
}

/** Asks until the tree that this request begins is published, whatever other work comes between. */
const published = async (venue: LiveVenue): Promise<Answer> => {
  const before = await ask(venue, "/v1/solvency")
  for (let turns = 0; turns < 10_000; turns++) {
    const [status, answer] = await ask(venue, "/v1/solvency")
    if (status === 200 && answer.journalSequence !== before[1].journalSequence) return answer
    await nextTurn()
  }
  throw new Error("no tree was published")
}

const proofTarget = (trader: Trader): string => `/v1/accounts/${trader.accountId}/solvency-proof`

describe("a venue whose accounts trade", () => {
  let venue: LiveVenue
  let traders: ReadonlyArray<Trader>
  let first: Answer

  beforeAll(async () => {
    venue = LiveVenue.make()
    traders = await venue.traders(21)
    const [one, two, three] = traders as [Trader, Trader, Trader]
    await venue.place(one, { quantity: "3.000" })
    await venue.place(two, { side: "sell", quantity: "3.000" })
    // The buyer sells on at a higher price: the profit is in a collateral already, while the loss that pays for it is not realised yet.
    await venue.place(one, { side: "sell", price: "101.0", quantity: "3.000" })
    await venue.place(three, { price: "101.0", quantity: "3.000" })
  })

  test("until the first is made there is none, and asking has begun it", async () => {
    const [status, body] = await ask(venue, "/v1/solvency")
    expect([status, body.code, body.retryable]).toEqual([503, "snapshot_unavailable", true])
    const again = await ask(venue, proofTarget(traders[0]!), traders[0]!.key)
    expect([again[0], again[1].code]).toEqual([503, "snapshot_unavailable"])
    first = await published(venue)
    expect(first.leafCount).toBe(venue.engine.occupancy.accounts)
    expect(first.journalSequence).toBe(venue.engine.sequence)
  })

  test("what is published adds up to what the engine has, and says that nobody asked a ledger", () => {
    expect(verifyPublished(first).findings.map(({ holds }) => holds)).toEqual([true, true, false])
    expect(first.treasury).toBeNull()
    expect(first).toMatchObject({
      creditedAtoms: String(21n * 1_000_000_000_000n),
      feesAtoms: String(venue.engine.funds.feesAtoms),
      shortfallAtoms: "0",
      reservedAtoms: "0"
    })
    expect(BigInt(first.balancesAtoms)).toBe(
      traders.reduce((sum, { account }) => sum + BigInt(venue.engine.balance(account).equityAtoms), 0n)
    )
    expect(first.entryImbalanceAtoms).toBe("-3000000")
  })

  test("every owner's proof shows their equity under the root", async () => {
    const leaves = new Set<number>()
    for (const trader of traders) {
      const [status, proof] = await ask(venue, proofTarget(trader), trader.key)
      expect(status).toBe(200)
      expect(proof.balanceAtoms).toBe(String(venue.engine.balance(trader.account).equityAtoms))
      expect(verifyProof(proof, first).findings.filter(({ holds }) => !holds)).toEqual([])
      leaves.add(proof.leafIndex)
    }
    expect(leaves.size).toBe(traders.length)
  })

  test("another account's proof is answered as one that there is not", async () => {
    const [alice, bob] = traders as [Trader, Trader]
    const foreign = await ask(venue, proofTarget(bob), alice.key)
    const unknown = await ask(venue, "/v1/accounts/acc_zzzzzz/solvency-proof", alice.key)
    expect([foreign[0], foreign[1].code]).toEqual([404, "account_not_found"])
    expect({ ...foreign[1], requestId: "" }).toEqual({ ...unknown[1], requestId: "" })
  })

  test("within a minute the same is told, then another, and the one before by its sequence", async () => {
    const [late] = await venue.traders(1)
    expect((await ask(venue, "/v1/solvency"))[1].rootHash).toBe(first.rootHash)
    const missing = await ask(venue, proofTarget(late!), late!.key)
    expect([missing[0], missing[1].code]).toEqual([503, "snapshot_unavailable"])
    venue.atEpochMs += 60_000
    const second = await published(venue)
    expect(second.leafCount).toBe(first.leafCount + 1)
    expect((await ask(venue, `/v1/solvency?sequence=${first.journalSequence}`))[1]).toEqual(first)
    const [, proof] = await ask(venue, `${proofTarget(late!)}?sequence=${second.journalSequence}`, late!.key)
    expect(verifyProof(proof, second)).toMatchObject({ holds: true })
    expect(verifyProof(proof, first)).toMatchObject({ holds: false })
    const early = await ask(venue, `${proofTarget(late!)}?sequence=${first.journalSequence}`, late!.key)
    expect([early[0], early[1].code]).toEqual([404, "not_found"])
    await venue.traders(1)
    venue.atEpochMs += 60_000
    await published(venue)
    for (const target of ["/v1/solvency", proofTarget(traders[0]!)]) {
      const gone = await ask(venue, `${target}?sequence=${first.journalSequence}`, traders[0]!.key)
      expect([gone[0], gone[1].code]).toEqual([404, "not_found"])
    }
  })
})
