/**
 * Families of realtime tickets are counted, so a journal that was restored from an older copy gives the numbers of the lost time out again.
 * A ticket of that time is nobody's: neither does it act for the account that has its number now, nor does it end that account's family.
 */
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { VenueOver } from "../edge/VenueOver.js"

const target = "/v1/realtime/ticket"

/** Randomness of its own for each process: two lives of a venue draw differently. */
const chance = (life: number) => {
  let drawn = 0
  return { bytes: (count: number) => createHash("shake256", { outputLength: count }).update(`${life} ${drawn++}`).digest() }
}

test("a ticket of the time that a restored journal has lost belongs to nobody", async () => {
  let life = 0
  const start = (disk: ReturnType<typeof memoryDisk>, nowMs?: number): VenueOver =>
    new VenueOver(disk.layer, {}, nowMs, undefined, { random: chance(++life) })
  const disk = memoryDisk()
  const first = start(disk)
  await first.started
  const opened = await first.ask("POST", "/v1/operator/demo/accounts", {
    idempotencyKey: "open",
    body: { accounts: 2, collateral: "100000", keyLifetimeSeconds: 864_000 }
  })
  const [one, other] =
    (opened.json as { readonly accounts: ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }> }).accounts
  await first.stop()
  const copy = disk.read()

  const second = start(disk, first.epochMs + 60_000)
  await second.started
  const lost = await second.ask("POST", target, { key: one!.apiKey, body: { scopes: ["read"] } })
  expect(lost.status).toBe(200)
  const { ticket: lostTicket } = lost.json as { readonly ticket: string }
  await second.stop()

  const restored = start(memoryDisk(copy), second.epochMs + 60_000)
  await restored.started
  // The lost ticket comes while the other account's is being minted, before that has its turn and while it has.
  const rotate = () => restored.ask("PUT", target, { key: "", body: { ticket: lostTicket } })
  const [early, minted, late] = await Promise.all([
    Promise.all([rotate(), rotate()]),
    restored.ask("POST", target, { key: other!.apiKey, body: { scopes: ["read", "trade"] } }),
    Promise.all([rotate(), rotate(), rotate()])
  ])
  for (const { status } of [...early, ...late]) expect(status).toBe(401)
  const { ticket } = minted.json as { readonly ticket: string }
  expect(Buffer.from(ticket, "base64url").subarray(0, 12)).toEqual(Buffer.from(lostTicket, "base64url").subarray(0, 12))
  expect(ticket).not.toBe(lostTicket)

  const refused = await restored.ask("PUT", target, { key: "", body: { ticket: lostTicket } })
  expect(refused).toMatchObject({ status: 401, json: { code: "realtime_ticket_rejected", realtimeTicketFailure: "invalid" } })
  expect((await restored.ask("DELETE", target, { key: "", body: { ticket: lostTicket } })).status).toBe(204)
  const rotated = await restored.ask("PUT", target, { key: "", body: { ticket } })
  expect(rotated).toMatchObject({ status: 200, json: { accountId: other!.accountId } })
  await restored.stop()
})
