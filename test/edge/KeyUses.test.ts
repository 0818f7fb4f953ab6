/**
 * The whole venue: the last use of each key survives a stop, and is journaled once a minute at most, and not at all while no key is used.
 */
import { Effect, Exit, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { WorkloadIdentity } from "../../src/identity/WorkloadIdentity.js"
import { VenueOver } from "./VenueOver.js"

const beganEpochMs = 1_767_225_600_000

/** A venue without markets, whose marks would otherwise write a record a second; a workload token's subject is an account. */
const started = async (disk: SimDisk.SimDisk, nowMs: number) => {
  const workloads = Layer.succeed(WorkloadIdentity, {
    verify: (accountId: string) => Effect.succeed({ subject: "maker", accountId })
  })
  const venue = new VenueOver(disk.mount(), { markets: [] }, nowMs, workloads)
  const exit = await venue.started
  if (Exit.isFailure(exit)) throw new Error(`the venue did not start: ${String(exit.cause)}`)
  return { venue, reads: exit.value.reads }
}

test("a use is journaled a minute after it, and at the end; a venue that nobody uses writes nothing", async () => {
  const disk = SimDisk.make({ random: () => 0, inject: () => undefined })
  const { reads, venue } = await started(disk, beganEpochMs)
  const made = await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 1 } })
  const [{ accountId }] = made.json.accounts
  const { json: bot } = await venue.ask("POST", "/v1/operator/bot-keys", { body: { token: accountId } })
  const use = () => venue.ask("GET", "/v1/api-keys/current", { key: bot.apiKey })
  const { credential } = reads.findApiKey(bot.keyId)!

  const before = reads.sequence
  await venue.pass(120_000)
  expect(reads.sequence).toBe(before)

  await use()
  await venue.settle()
  const firstUse = venue.epochMs
  expect([reads.sequence, reads.keyAddresses(credential)]).toEqual([before + 1, ["192.0.2.1"]])
  for (let count = 0; count < 20; count++) {
    await venue.pass(1_000)
    await use()
  }
  expect([reads.sequence, reads.keyLastUsedAt(credential)]).toEqual([before + 1, 0])
  await venue.pass(40_000)
  expect([reads.sequence, reads.keyLastUsedAt(credential)]).toEqual([before + 2, firstUse + 20_000])
  await venue.pass(300_000)
  expect(reads.sequence).toBe(before + 2)

  expect((await use()).json.key.lastUsedAtEpochMs).toBe(venue.epochMs)
  const lastUse = venue.epochMs
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
  const again = await started(disk, lastUse + 1_000)
  expect(again.reads.keyLastUsedAt(again.reads.findApiKey(bot.keyId)!.credential)).toBe(lastUse)
  expect(again.reads.keyAddresses(credential)).toEqual(["192.0.2.1"])
  await again.venue.stop()
})
