/** Messages that are rare: deposits, step by step, and funding intervals as they end; complete, and equal to REST. */
import { beforeAll, describe, expect, test } from "vitest"
import { Refusal } from "../../../src/domain/Refusal.js"
import { parameters, patient } from "../../engine/drive.js"
import { Depositor } from "../Depositor.js"
import { LiveVenue } from "../LiveVenue.js"
import { Client } from "./Client.js"

describe("a deposit on the stream", () => {
  const begunAtEpochMs = 1_700_000_000_000
  let depositor: Depositor
  let venue: LiveVenue
  let client: Client
  let number = -1
  /** The last sequence before it. */
  let begun = 0
  /** All updates of it, and of the account's balance. */
  const updates: Array<any> = []
  const beside: Array<any> = []

  /** Has one record decided, a second after the previous one, and compares its update with what the owner reads. */
  const step = async (decide: () => Refusal): Promise<void> => {
    venue.atEpochMs += 1_000
    expect(decide()).toBe(Refusal.none)
    const frames = client.fresh()
    const told = frames.filter(({ channel }) => channel === "account.deposits")
    expect(told).toMatchObject([{ type: "update", sequence: venue.engine.sequence, data: await depositor.listed() }])
    updates.push(...told)
    if (frames.some(({ channel, data }) => channel === "account.balance" && data[0].collateralAtoms !== "0")) beside.push(frames)
  }

  beforeAll(async () => {
    depositor = await Depositor.make()
    const { signed: owner, trader } = depositor
    venue = depositor.venue
    venue.atEpochMs = begunAtEpochMs
    client = new Client(venue)
    await client.authenticate(trader)
    for (const channel of ["account.balance", "account.deposits"]) client.say({ op: "subscribe", channel })
    const [balance, snapshot] = client.frames.filter(({ type }) => type === "snapshot")
    expect(balance).toMatchObject({ channel: "account.balance", data: { collateralAtoms: "0" } })
    expect(snapshot).toEqual({ type: "snapshot", channel: "account.deposits", sequence: 0, data: [] })
    client.fresh()
    begun = venue.engine.sequence
    await step(() => {
      number = depositor.deposit(owner, 2_000_000)
      return Refusal.none
    })
    await step(() => depositor.bind(owner))
    while (depositor.transfer(number).end === null) {
      const name = depositor.atHand(number)
      await step(() => depositor.prepare(number, name))
      await step(() => depositor.approve(owner, number, name))
      await step(() => depositor.begin(number, `s-${name}`, name))
      await step(() => depositor.note(number, name, `s-${name}`, "accepted"))
      await step(() => depositor.complete(number, name, `s-${name}`))
    }
    // The ledger contradicts itself by accepting a step twice under different ids: that is logged, and has no other effect.
    await step(() => depositor.complete(number, "treasury_offer", "another"))
  })

  test("is told with each record that changes it, each naming the one before", () => {
    const ofStep = ["bound", "bound", "submitted_unknown", "submitted"]
    expect(updates.map(({ data: [{ status }] }) => status)).toEqual([
      ...["bound", "bound"],
      ...[...ofStep, "bound", ...ofStep, "bound", ...ofStep, "ledger_confirmed"],
      "ledger_confirmed"
    ])
    expect(updates.map(({ sequence }) => sequence)).toEqual(updates.map((_, at) => begun + 1 + at))
    expect(updates.map(({ previousSequence }) => previousSequence)).toEqual([0, ...updates.slice(0, -1).map(({ sequence }) => sequence)])
  })

  test("is told whole: as asked for, with its party once that is bound, and with what the ledger said", () => {
    const id = depositor.transfer(number).id.replace("dep_", "")
    const asked = {
      version: "local-signing/v2",
      depositId: `dep_${id}`,
      adminCommandId: `adm_${id}`,
      fundingIntentId: `fin_${id}`,
      engineCommandId: `eng_${id}`,
      asset: "USDC",
      amountAtoms: "2000000",
      status: "bound",
      environment: "development",
      accountId: depositor.trader.accountId,
      plannedLedgerCommands: ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"].map((name) => ({
        step: name,
        commandId: expect.stringMatching(/^cmd_[0-9a-f]{64}$/)
      })),
      createdAtEpochMs: begunAtEpochMs + 1_000,
      updatedAtEpochMs: begunAtEpochMs + 1_000
    }
    const { partyId } = depositor.transfer(number)
    const credited = {
      ...asked,
      partyId,
      status: "ledger_confirmed",
      ledgerOutcome: { step: "owner_offer_acceptance", outcome: "completion_accepted", guard: null }
    }
    expect(updates[0]).toEqual({ type: "update", channel: "account.deposits", previousSequence: 0, sequence: begun + 1, data: [asked] })
    expect(updates[1].data).toEqual([{ ...asked, partyId, updatedAtEpochMs: begunAtEpochMs + 2_000 }])
    expect(updates.at(-2).data).toEqual([{ ...credited, updatedAtEpochMs: begunAtEpochMs + 17_000 }])
    expect(updates.at(-1).data).toEqual([{ ...credited, updatedAtEpochMs: begunAtEpochMs + 18_000 }])
  })

  test("comes behind the money of the same record", () => {
    const { sequence } = updates.at(-2)
    expect(beside).toMatchObject([[
      { channel: "account.balance", sequence, data: [{ collateralAtoms: "2000000" }] },
      { channel: "account.deposits", sequence }
    ]])
  })

  test("is told the same to whoever missed it, from memory and from the journal", async () => {
    const { trader } = depositor
    const missed = async (): Promise<unknown> => {
      const page = await venue.read(trader, `/v1/accounts/${trader.accountId}/changes?fromSequence=${begun}&limit=500`)
      return page.events.filter(({ channel }: any) => channel === "account.deposits")
    }
    const expected = updates.map(({ channel, data, sequence }) => ({ channel, sequence, data }))
    expect(await missed()).toEqual(expected)
    venue.restart()
    expect(await missed()).toEqual(expected)
    const back = new Client(venue)
    await back.authenticate(trader)
    back.fresh()
    back.say({ op: "subscribe", channel: "account.deposits", fromSequence: 0 })
    await back.reached(1 + updates.length)
    expect(back.frames.slice(-updates.length)).toEqual(updates)
  })
})

describe("an interval of funding on the stream", () => {
  test("is told whole with the record that ends it, and is no news of another market", async () => {
    const [marketId, intervalMs] = ["BBB-USDC-PERP", 60_000]
    const venue = LiveVenue.make()
    venue.market(parameters("BBB", { ...patient, fundingCapE9: 40_000_000, fundingIntervalMs: intervalMs, impactNotionalAtoms: 1 }))
    const client = new Client(venue)
    for (const market of [marketId, "AAA-USDC-PERP"]) client.say({ op: "subscribe", channel: "market.funding", marketId: market })
    client.fresh()
    /** Marks every second until the present interval has ended. */
    const toEnd = (): number => {
      const end = venue.atEpochMs - (venue.atEpochMs % intervalMs) + intervalMs
      for (; venue.atEpochMs < end; venue.atEpochMs += 1_000) venue.send({ kind: "MarkTick" })
      venue.send({ kind: "MarkTick" })
      return end
    }
    // With an empty book the mark is the index. The rate is 0.01 % per 8 hours.
    toEnd()
    const [first] = client.fresh()
    const endedAtEpochMs = toEnd()
    const [update, ...more] = client.fresh()
    expect(more).toEqual([])
    expect(update).toEqual({
      type: "update",
      channel: "market.funding",
      marketId,
      previousSequence: first.sequence,
      sequence: venue.engine.sequence,
      data: [{
        endedAtEpochMs,
        intervalMs,
        fundingRateE9: "208",
        fundingRate8hE9: "100000",
        averagePremiumE9: "0",
        indexPriceAtoms: "1000",
        indexPrice: "100.0",
        samples: 12,
        sequence: venue.engine.sequence
      }]
    })
    const { intervals } = await venue.read(undefined, `/v1/markets/${marketId}/funding`)
    expect([update.data[0], first.data[0]]).toEqual(intervals)
    // A client that was away for that second gets it, and nothing else.
    const back = new Client(venue)
    back.fresh()
    const told = back.say({ op: "subscribe", channel: "market.funding", marketId, fromSequence: first.sequence })
    expect(told).toEqual([expect.objectContaining({ type: "subscribed", resumed: true }), update])
  })
})
