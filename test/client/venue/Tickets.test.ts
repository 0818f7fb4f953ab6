/** The tickets of a client that stays for longer than these can be rotated: over the real edge, in time of the test's own. */
import { expect, test } from "vitest"
import { Client } from "../../../src/client/venue/Client.js"
import { Refusal } from "../../../src/client/venue/Refusal.js"
import type { Notice } from "../../../src/client/venue/Stream.js"
import * as Fake from "../../edge/FakeVenue.js"
import { LiveVenue, marketId, type Trader } from "../../edge/LiveVenue.js"
import { LivePlatform, origin } from "./LivePlatform.js"

const target = "/v1/realtime/ticket"
const familyMs = 12 * 60 * 60 * 1_000
const keyMs = 300_000
const stepMs = 2_000

/** A venue, and how clients reach it, with what they ask it for by REST (of tickets the methods) and what they tell. */
const made = () => {
  const asked: Array<string> = []
  const notices: Array<Notice> = []
  const venue = LiveVenue.make({ orders: 10_000, idempotencyKeys: 10_000 }, { holdsTime: true })
  const platform = new LivePlatform({
    application: venue.application,
    ask: (ask) => {
      asked.push(ask.target === target ? ask.method! : ask.target)
      return venue.ask(ask)
    }
  })
  const step = async (): Promise<void> => {
    await venue.pass(stepMs)
    await platform.arrive()
    await platform.pass(stepMs)
  }
  const connected = async ({ accountId, key }: Pick<Trader, "accountId" | "key">): Promise<Client> => {
    const onNotice = (notice: Notice): void => void notices.push(notice)
    const options = { orders: "socket", cancelOnDisconnect: true, maxAttempts: 1, onNotice } as const
    const client = new Client(platform, { url: origin, apiKey: key, accountId, ...options })
    const ready = client.connected()
    await step()
    await ready
    asked.length = 0
    notices.length = 0
    return client
  }
  /** Places an order, and returns what came of it. */
  const placed = async (client: Client, name: string): Promise<string> => {
    const terms = { marketId, side: "buy", orderType: "limit", price: "99.0", quantity: "0.001", clientOrderId: name } as const
    const placing = client.place(terms, { idempotencyKey: name, isNew: true })
    await step()
    return (await placing).kind
  }
  return { asked, connected, notices, placed, platform, step, venue }
}

test("a client goes on by another ticket before the family of the one that it has ends", async () => {
  const { asked, connected, notices, placed, platform, step, venue } = made()
  const [alice] = await venue.traders(1) as [Trader]
  const endsAtEpochMs = venue.atEpochMs + familyMs
  const client = await connected(alice)
  // A ticket with little left is rotated on another connection, and the time between is passed over.
  while (endsAtEpochMs - venue.atEpochMs > 240_000) {
    platform.cut()
    venue.atEpochMs += 241_000
    platform.now += 241_000
    await step()
    await step()
  }
  expect(new Set(asked)).toEqual(new Set(["PUT"]))
  const { connections } = platform
  asked.length = 0
  notices.length = 0
  expect(await placed(client, "stays")).toBe("accepted")
  for (let at = 0; venue.atEpochMs < endsAtEpochMs + 30_000; at++) expect([at, await placed(client, `o-${at}`)]).toEqual([at, "accepted"])
  // Nothing goes by REST but what another ticket takes, and nothing is told.
  expect(asked).toEqual(["PUT", "POST"])
  expect(notices).toEqual([])
  expect(platform.connections).toBe(connections)
  const open = async (): Promise<number> =>
    (await venue.read(alice, `/v1/accounts/${alice.accountId}/orders?status=open&limit=1`)).orders.length
  expect(await open()).toBe(1)
  platform.cut()
  await venue.pass(1_000)
  expect(await open()).toBe(0)
})

test("where the key itself ends, a client asks for another ticket once, and then is told", async () => {
  const { asked, connected, notices, placed, step, venue } = made()
  const { accounts: [alice] } = Fake.json(await venue.ask({
    target: "/v1/operator/demo/accounts",
    body: { accounts: 1, collateral: "1000", keyLifetimeSeconds: keyMs / 1_000 },
    key: Fake.operatorToken,
    idempotencyKey: "short"
  }))
  const endsAtEpochMs = venue.atEpochMs + keyMs
  const client = await connected({ accountId: alice.accountId, key: alice.apiKey })
  const events = client.events("account.orders")
  while (venue.atEpochMs < endsAtEpochMs - 2 * stepMs) await step()
  expect(asked).toEqual(["PUT", "POST"])
  expect(await placed(client, "last")).toBe("accepted")
  for (let left = 10; left > 0; left--) await step()
  expect(notices.map(({ kind }) => kind)).toEqual(["refused"])
  expect(asked).toEqual(["PUT", "POST", "PUT", "POST"])
  const told = async (): Promise<void> => {
    while ((await events.next()).done !== true);
  }
  await expect(told()).rejects.toBeInstanceOf(Refusal)
})
