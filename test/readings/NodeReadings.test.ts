/** What the thread reads from a data directory, compared with what is read beside the writer: pages and pieces of every account. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Context, Effect, Either, Layer } from "effect"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Outcome } from "../../src/operations/Operations.js"
import { payloads } from "../../src/edge/socket/Payloads.js"
import * as NodeReadings from "../../src/readings/NodeReadings.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import * as Feed from "../../src/sequencer/Feed.js"
import { Submit } from "../../src/sequencer/Submit.js"
import * as Writer from "../../src/sequencer/Writer.js"
import { type AccountChannel, accountChannels } from "../../src/streams/Channels.js"
import type { Update } from "../../src/streams/Log.js"
import { type Page, type Piece, type Replaying, Replays } from "../../src/streams/Replay.js"
import { ReplayHost } from "../../src/streams/ReplayHost.js"
import { answerOf, type AnyGiven, completeAny } from "../engine/commands.js"
import { few } from "../Depth.js"
import { commandsOf } from "../sequencer/commandsOf.js"
import { capacity, start, type World } from "./world.js"

/** A writer that keeps nothing in memory of what it decided, and readers beside it and in the thread. */
interface Running {
  readonly world: World
  readonly beside: Replaying
  readonly elsewhere: Replaying
  readonly last: number
  readonly accounts: number
}

let running: Running

/** An owner opens an account, requests two deposits, and cancels each of them. */
const deposits = async ({ context }: World): Promise<void> => {
  const { submit } = Context.get(context, Submit)
  const send = (given: AnyGiven) => new Promise<Outcome>((resolve) => submit(completeAny(given), resolve))
  const passkey = { credentialId: "passkey", userHandle: "handle", publicKey: "key", signCount: 0, transports: "", displayName: "laptop" }
  const opened = await send({ kind: "OpenOwnerAccount", ...passkey, tokenSha256: "a".repeat(64), remoteAddress: "" })
  const { account, session } = answerOf(opened.entries[0])
  const owner = { account: account!, credential: session! }
  for (const idempotencyKey of ["first", "second"]) {
    const asked = { asset: "USDC", amountAtoms: 2_000_000, raw: "" } as const
    const outcome = await send({ kind: "RequestDeposit", ...owner, idempotencyKey, ...asked })
    await send({ kind: "CancelTransfer", ...owner, transfer: answerOf(outcome.entries[0]).transfer! })
  }
}

beforeAll(async () => {
  const world = await start({ blocks: 0 })
  await world.submit(commandsOf(11, 500))
  await deposits(world)
  const elsewhere = await Effect.runPromise(Layer.buildWithScope(NodeReadings.layer(world.dataDir, capacity), world.scope))
  const last = Context.get(world.context, Writer.Writer).durableSequence()
  running = {
    world,
    beside: new Replays(Context.get(world.context, Feed.Feed), payloads, () => last),
    elsewhere: Context.get(elsewhere, ReplayHost)!,
    last,
    accounts: Context.get(world.context, EngineReads).occupancy.accounts
  }
})

afterAll(() => running.world.stop())

/** All pieces of a channel after a sequence, joined. */
const missed = async (replaying: Replaying, channel: AccountChannel, account: number, after: number): Promise<Piece> => {
  const { last } = running
  let throughSequence = after
  const updates: Array<Update> = []
  while (throughSequence < last) {
    const piece = await Effect.runPromise(replaying.missed(channel, account, throughSequence, last, Effect.succeed))
    updates.push(...piece!.updates)
    expect(piece!.throughSequence).toBeGreaterThan(throughSequence)
    ;({ throughSequence } = piece!)
  }
  return { updates, throughSequence }
}

/** All pages, of `mostRecords` records each. */
const paged = async (replaying: Replaying, account: number, after: number, mostRecords: number): Promise<ReadonlyArray<Page>> => {
  const pages: Array<Page> = []
  for (let from = after; from < running.last;) {
    const page = await Effect.runPromise(replaying.page(account, from, running.last, mostRecords))
    pages.push(page!)
    from = page!.throughSequence
  }
  return pages
}

describe("what the thread reads is what is read beside the writer", () => {
  test.each(accountChannels)("of %s, behind any record", async (channel) => {
    let told = 0
    const places = [0, 89, 90, Math.floor(running.last / 2), running.last - 1]
    const every = few(3, 1)
    for (let account = 0; account < running.accounts; account++) {
      // Each account behind some of the places, and each place with some of the accounts.
      for (const after of places.filter((_, at) => (account + at) % every === 0)) {
        const elsewhere = await missed(running.elsewhere, channel, account, after)
        expect(elsewhere).toEqual(await missed(running.beside, channel, account, after))
        told += elsewhere.updates.length
      }
    }
    expect(told).toBeGreaterThan(0)
  })

  test("in pages, however many records each holds", async () => {
    for (const mostRecords of [1, 7, 500]) {
      for (const account of [0, 1, 2]) {
        expect(await paged(running.elsewhere, account, 40, mostRecords)).toEqual(await paged(running.beside, account, 40, mostRecords))
      }
    }
  })
})

test("many who ask at once are all given theirs, and engines are told of as long as they stand", async () => {
  const asked = Array.from({ length: 60 }, (_, index) => ({ account: index % running.accounts, after: (index * 37) % running.last }))
  const pages = (replaying: Replaying) =>
    Promise.all(asked.map(({ account, after }) => Effect.runPromise(replaying.page(account, after, running.last, 20))))
  const elsewhere = await pages(running.elsewhere)
  expect(running.elsewhere.engines).toBeGreaterThan(0)
  expect(elsewhere).toEqual(await pages(running.beside))
})

test("a thread that cannot be begun is told of as one that ended", async () => {
  // A value that cannot be copied to a thread keeps it from starting, as it does when the system has no threads left.
  const unbegun = NodeReadings.layer(running.world.dataDir, { ...capacity, orders: (() => {}) as never })
  const asked = await Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(Layer.build(unbegun), (context) => Effect.either(Context.get(context, ReplayHost)!.page(0, 1, running.last, 20)))
    )
  )
  expect(asked).toMatchObject({ left: { why: "ended", reason: expect.stringContaining("did not begin") } })
})

test("a journal that cannot be read is told of, and the thread reads on where it can", async () => {
  const segments = path.join(running.world.dataDir, "journal")
  const hidden = `${segments}-hidden`
  const ask = () => Effect.runPromise(Effect.either(running.elsewhere.page(0, 1, running.last, 20)))
  fs.renameSync(segments, hidden)
  // The engines kept have the segment that they read open; a page from before them has to open the journal.
  expect(await ask()).toMatchObject({ left: { _tag: "FeedUnread", why: "disk" } })
  fs.renameSync(hidden, segments)
  expect(Either.getOrThrow(await ask())).toEqual(await Effect.runPromise(running.beside.page(0, 1, running.last, 20)))
})
