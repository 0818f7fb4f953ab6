/** Streams over several connections: where one has no room for all that is followed. */
import { expect, test } from "vitest"
import { Client, type Options } from "../../../src/client/venue/Client.js"
import type { Notice } from "../../../src/client/venue/Stream.js"
import { type Given, VirtualPlatform } from "./VirtualPlatform.js"

const hello = (subscriptions: number | undefined, messagesPerSecond = 100) => ({
  type: "hello",
  version: "stream/v1",
  connectionId: "con",
  heartbeatMs: 5_000,
  limits: { messagesPerSecond, subscriptions },
  starts: [{ id: "a", firstSequence: 1 }]
})

const made = (more: Partial<Options> = {}, answer: () => Given = () => "silence") => {
  const notices: Array<Notice> = []
  const platform = new VirtualPlatform(answer)
  const client = new Client(platform, { url: "http://venue", onNotice: (notice) => notices.push(notice), ...more })
  const told: Array<string> = []
  const follow = (market: string) =>
    client.follow({ channel: "market.trades", marketId: market }, {
      snapshot: ({ reason, sequence }) => told.push(`${market} ${sequence} (${reason})`),
      update: ({ sequence }) => told.push(`${market} ${sequence}`),
      ended: () => told.push(`${market} ended`)
    })
  return { client, follow, notices, platform, told }
}

type Line = VirtualPlatform["line"]

/** What is subscribed to on a connection: each with the sequence that it is to go on behind. */
const asked = ({ sent }: Line): ReadonlyArray<string> =>
  sent.flatMap(({ channel, fromSequence, marketId = channel, op }) =>
    op === "subscribe" ? [`${marketId}${fromSequence === undefined ? "" : ` from ${fromSequence}`}`] : []
  )

/** Answers each request on a connection with a snapshot. */
const answer = (line: Line, sequence = 5): void => {
  for (const { channel, id, marketId, op } of line.sent) {
    if (op !== "subscribe") continue
    line.say({ type: "subscribed", id, resumed: false }, { type: "snapshot", channel, marketId, sequence, data: [] })
  }
}

test("what one connection has no room for goes over further ones, each of which continues by itself", async () => {
  const { follow, notices, platform, told } = made()
  for (const market of ["A", "B", "C", "D", "E"]) follow(market)
  expect(platform.lines).toHaveLength(1)
  platform.line.say(hello(2))
  expect(platform.lines).toHaveLength(3)
  for (const line of platform.lines.slice(1)) line.say(hello(2))
  expect(platform.lines.map(asked)).toEqual([["A", "B"], ["C", "D"], ["E"]])
  for (const line of platform.lines) answer(line)
  expect(told).toEqual(["A", "B", "C", "D", "E"].map((market) => `${market} 5 (first)`))
  follow("F")
  follow("G")
  expect(asked(platform.lines[2]!)).toEqual(["E", "F"])
  expect(() => follow("D")).toThrow("followed already")
  const [first, second] = platform.lines
  second!.end()
  await platform.pass(188)
  platform.line.say(hello(2))
  expect(asked(platform.line)).toEqual(["C from 5", "D from 5"])
  expect(first!.isClosed).toBe(false)
  expect(notices.map(({ kind }) => kind)).toEqual(["connected", "connected", "connected", "disconnected", "connected"])
})

test("an account's streams always have room on the first connection, and further ones show no ticket", async () => {
  const ticket = { ticket: "one", accountId: "acc_1", expiresAt: 1_700_000_300_000 }
  const { client, follow, platform } = made({ apiKey: "key", accountId: "acc_1" }, () => ({ body: ticket }))
  for (const market of ["A", "B", "C"]) follow(market)
  platform.line.say(hello(6))
  platform.line.say(hello(6))
  const ofAccount = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"] as const
  for (const channel of ofAccount) client.events(channel)
  await platform.settle()
  const [first, second] = platform.lines
  first!.say({ type: "auth_ok", id: first!.last("auth").id, accountId: "acc_1" })
  expect(asked(first!)).toEqual(["A", ...ofAccount])
  expect(asked(second!)).toEqual(["B", "C"])
  expect(second!.last("auth")).toBeUndefined()
})

test("a further connection ends with its last stream, and room on the first is used again", async () => {
  const { client, follow, notices, platform } = made()
  const [one, , three] = ["A", "B", "C"].map(follow)
  platform.line.say(hello(2))
  platform.line.say(hello(2))
  const [first, second] = platform.lines
  three!.close()
  expect(second!.isClosed).toBe(true)
  await platform.pass(1_000)
  expect(platform.lines).toHaveLength(2)
  one!.close()
  follow("D")
  expect(asked(first!)).toEqual(["A", "B", "D"])
  follow("E")
  expect(platform.lines).toHaveLength(3)
  await client.close()
  expect(platform.lines.map(({ isClosed }) => isClosed)).toEqual([true, true, true])
  expect(() => follow("F")).toThrow("closed")
  expect(notices.filter(({ kind }) => kind === "disconnected")).toEqual([])
})

test("further connections together send no more than one of them may", async () => {
  const { follow, platform } = made()
  for (let market = 0; market < 8; market++) follow(`M${market}`)
  platform.line.say(hello(2, 4))
  for (const line of platform.lines.slice(1)) line.say(hello(2, 4))
  const sent = (): number => platform.lines.slice(1).reduce((sum, line) => sum + line.sent.length, 0)
  const inSeconds: Array<number> = []
  for (let second = 0; second < 4; second++) {
    inSeconds.push(sent())
    await platform.pass(1_000)
  }
  expect(inSeconds).toEqual([2, 4, 6, 6])
})

test("where a connection has less room than the one before it, what is too much moves, and begins anew there", async () => {
  const { follow, platform, told } = made()
  for (const market of ["A", "B", "C"]) follow(market)
  platform.line.say(hello(undefined))
  const { line } = platform
  answer(line)
  // One is refused for a while, which passes only after it has moved.
  line.say({ type: "resync", stream: "market.trades", marketId: "C", fromSequence: 5, reason: "gap" })
  line.end()
  await platform.pass(188)
  platform.line.say(hello(undefined))
  const id: string = platform.line.sent[2].id
  const error = { version: "external-rest-error/v1", code: "overloaded", safeMessage: "No.", retryable: true }
  platform.line.say({ type: "error", id, error, retryAfterSeconds: 5 })
  platform.line.end()
  await platform.pass(1_000)
  platform.line.say(hello(1))
  expect(asked(platform.lines[2]!)).toEqual(["A from 5"])
  for (const further of platform.lines.slice(3)) further.say(hello(1))
  expect(platform.lines.slice(3).map(asked)).toEqual([["B"], []])
  await platform.pass(5_000)
  expect(platform.lines.slice(3).map(asked)).toEqual([["B"], ["C"]])
  told.length = 0
  answer(platform.lines[3]!, 7)
  expect(told).toEqual(["B 7 (gap)"])
})
