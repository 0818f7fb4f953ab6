import { createHash } from "node:crypto"
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Bundle from "../../src/cli/bundle/Bundle.js"
import * as Collect from "../../src/cli/bundle/Collect.js"
import * as Redact from "../../src/cli/bundle/Redact.js"
import * as Source from "../../src/cli/bundle/Source.js"
import * as Follow from "../../src/cli/replay/Follow.js"
import * as Story from "../../src/cli/replay/Story.js"
import * as Stretch from "../../src/cli/replay/Stretch.js"
import * as BundleTask from "../../src/cli/venue/BundleTask.js"
import * as Verify from "../../src/cli/replay/Verify.js"
import { versions } from "../../src/sequencer/Versions.js"
import { programVersion } from "../../src/domain/Version.js"
import * as Ids from "../../src/domain/Ids.js"
import { anyMarket } from "../../src/domain/None.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { State } from "../../src/engine/State.js"
import * as Block from "../../src/journal/Block.js"
import * as CommandCodec from "../../src/journal/CommandCodec.js"
import { Disk } from "../../src/journal/Disk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { SnapshotStore } from "../../src/journal/SnapshotStore.js"
import { Driver, RandomDriver } from "../engine/drive.js"
import { complete } from "../engine/commands.js"
import { type Command, of as declarationOf } from "../../src/operations/Operations.js"
import type { Leads } from "../../src/cli/Whose.js"
import { command } from "../journal/arbitraries.js"
import { labelled } from "./Labelled.js"
import * as Recorded from "./Recorded.js"
import { line, type Result, run, runAll } from "./Tool.js"
import { encoded } from "../engine/Sections.js"

const folder = Recorded.folders()

const drawn = (seed: number, steps: number): Recorded.RecordingEngine => {
  const recording = new Recorded.RecordingEngine()
  const driver = new RandomDriver(seed, recording)
  for (let step = 0; step < steps; step++) driver.step()
  return recording
}

const everything: Collect.Range = { from: 1, to: Number.MAX_SAFE_INTEGER }

/** The bundle of a data directory. */
const bundled = (from: string, range: Collect.Range): Promise<Buffer> =>
  Effect.runPromise(
    Collect.collect(range, Recorded.capacity, { seed: "7" }).pipe(
      Effect.map(Bundle.write),
      Effect.provide(Recorded.reading(from))
    )
  )

const followed = (bytes: Uint8Array): Promise<Engine> => {
  const bundle = Bundle.read(bytes)
  return Effect.runPromise(Recorded.followed(Source.make(bundle), bundle.capacity))
}

const noSnapshots = SnapshotStore.of({
  saveStep: () => Effect.void,
  loadStep: () => Effect.dieMessage("there is no step"),
  removeStep: () => Effect.dieMessage("there is no step"),
  names: Effect.succeed({ snapshots: [], steps: [] }),
  save: () => Effect.void,
  latest: Effect.succeed(undefined),
  list: Effect.succeed([]),
  load: () => Effect.succeed("none")
})

/** Verifies a bundle as the tool does. */
const verified = (bytes: Uint8Array) => {
  const bundle = Bundle.read(bytes)
  const { finalStateDigest } = bundle.manifest
  return Verify.verify(Source.make(bundle), noSnapshots, [], {
    capacity: bundle.capacity,
    invariantsEveryBlocks: 100,
    progress: () => {},
    ...(finalStateDigest === null ? {} : { expectedStateDigest: finalStateDigest })
  })
}

const sequences = (bytes: Uint8Array): ReadonlyArray<number> =>
  Bundle.read(bytes).blocks.flatMap((block) => Bundle.decode(block).records.map(({ sequence }) => sequence))

const range = (from: number, to: number): ReadonlyArray<number> => Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** Appends the correct digest to altered bytes. */
const redigested = (bytes: Buffer): Buffer => {
  const content = bytes.subarray(0, -Block.digestBytes)
  return Buffer.concat([content, Block.sha256(content)])
}

describe("a bundle of a journal", () => {
  const recording = drawn(41, 500)
  let written: Recorded.Written
  let whole: Buffer

  beforeAll(async () => {
    written = await Recorded.write(recording, folder())
    whole = await bundled(written.folder, { from: 1, to: recording.sequence })
  })

  it("holds every record, the bounds, the versions, and the state it comes to", async () => {
    const { base, capacity, manifest } = Bundle.read(whole)
    expect(sequences(whole)).toEqual(range(1, recording.sequence))
    expect([base, capacity]).toEqual([undefined, Recorded.capacity])
    expect(manifest).toMatchObject({
      program: programVersion,
      node: process.version,
      settings: { ORDER_CAPACITY: 10_000, IDEMPOTENCY_CAPACITY: 10_000 },
      firstSequence: 1,
      lastSequence: recording.sequence,
      blocks: written.blocks.length,
      finalStateDigest: Verify.digestOf(recording),
      divergedAt: null,
      redactedFor: null,
      notes: { seed: "7" }
    })
    expect(Recorded.canonical((await followed(whole)).state)).toEqual(Recorded.canonical(recording.state))
  })

  it("holds the blocks as they were written", () => {
    const stored = Buffer.concat(
      fs.readdirSync(path.join(written.folder, "journal"))
        .filter((name) => name.endsWith(".seg"))
        .sort()
        .map((name) => fs.readFileSync(path.join(written.folder, "journal", name)))
    )
    for (const { bytes, header } of Bundle.read(whole).blocks) {
      expect(stored.includes(bytes), `block ${header.firstSequence}`).toBe(true)
    }
  })

  it("is the same file each time", async () => {
    expect((await bundled(written.folder, { from: 1, to: recording.sequence })).equals(whole)).toBe(true)
  })

  it("is made without a disk where the blocks are at hand", () => {
    const contents = Collect.describe({
      base: undefined,
      blocks: Bundle.blocksOf(Buffer.concat(written.blocks.map(({ bytes }) => bytes))),
      capacity: Recorded.capacity,
      asked: { from: 1, to: recording.sequence },
      notes: { seed: "7" }
    })
    expect(Bundle.write(contents).equals(whole)).toBe(true)
  })

  it("is proven where only the file is", async () => {
    const report = await Effect.runPromise(verified(whole))
    expect(report).toMatchObject({
      records: recording.sequence,
      blocks: written.blocks.length,
      stateDigest: Verify.digestOf(recording)
    })
  })

  it("ends with the block that holds the last sequence asked for", async () => {
    const block = written.blocks.find(({ firstSequence, lastSequence }) => lastSequence - firstSequence === 4)!
    const part = await bundled(written.folder, { from: 1, to: block.firstSequence + 1 })
    expect(sequences(part)).toEqual(range(1, block.lastSequence))
    expect((await Effect.runPromise(verified(part))).stateDigest).toBe(
      Bundle.read(part).manifest.finalStateDigest
    )
  })

  it("is detected wherever a bit of it flips", () => {
    const places = fc.record({ at: fc.nat(whole.length - 1), bit: fc.nat(7) })
    const refused = (at: number, bit: number) => {
      const bytes = Buffer.from(whole)
      bytes[at]! ^= 1 << bit
      expect(() => Bundle.read(bytes), `byte ${at}, bit ${bit}`).toThrow(Bundle.Damaged)
    }
    for (let at = 0; at < 64; at++) refused(at, at % 8)
    for (let at = whole.length - 64; at < whole.length; at++) refused(at, at % 8)
    fc.assert(fc.property(places, ({ at, bit }) => refused(at, bit)), { numRuns: 300 })
  })

  it("is detected wherever it is cut off, and where something follows it", () => {
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (length) => {
        expect(() => Bundle.read(whole.subarray(0, length))).toThrow(Bundle.Damaged)
      }),
      { numRuns: 100 }
    )
    expect(() => Bundle.read(whole.subarray(0, -1))).toThrow(`it is cut off: ${whole.length - 1} of ${whole.length} bytes`)
    expect(() => Bundle.read(Buffer.concat([whole, Buffer.alloc(3)]))).toThrow("3 bytes lie behind its end")
    expect(() => Bundle.read(Buffer.from("PK"))).toThrow("it does not begin as an incident bundle of version 2")
  })

  it("is refused under a right digest too, where its manifest speaks of another", () => {
    const changed = (from: RegExp, to: string | ((found: string) => string)): Buffer => {
      const text = whole.toString("latin1")
      const other = text.replace(from, typeof to === "string" ? () => to : to)
      expect(other).not.toBe(text)
      return redigested(Buffer.from(other, "latin1"))
    }
    const withBounds = (bounds: unknown): Buffer => changed(/"asked"/, `"bounds":${JSON.stringify(bounds)},"asked"`)
    const cases: ReadonlyArray<readonly [Buffer, string]> = [
      [changed(/"headDigest":"../, "\"headDigest\":\"00"), "its last block is not the one its manifest names"],
      [changed(/"lastSequence":\d/, "\"lastSequence\":9"), "its last block is not the one its manifest names"],
      [changed(/"previousDigest":"00/, "\"previousDigest\":\"11"), "its first block names another block before it"],
      [changed(/"firstSequence":1,/, "\"firstSequence\":2,"), "its first sequence is not the one behind its state"],
      [changed(/(?<=\["blocks",)\d+/, (length) => String(Number(length) + 1)), "its sections have other lengths than its manifest says"],
      [changed(/"rules":\d/, "\"rules\":x"), "its manifest is not one"],
      [changed(/"ORDER_CAPACITY":\d+/, `"ORDER_CAPACITY":${2 ** 33}`), "settings.ORDER_CAPACITY: Expected a number between 1 and 16000000"],
      [changed(/"IDEMPOTENCY_CAPACITY":\d+/, "\"IDEMPOTENCY_CAPACITY\":0"), "settings.IDEMPOTENCY_CAPACITY: Expected a number between 1"],
      [withBounds({ hashKey: 5, kept: { a: 1 } }), "it has no bounds.hashKey"],
      [withBounds({ "a\n\u001b[2J": 1 }), "it has no bounds.a\\u000a\\u001b[2J"],
      [changed(/"asked"/, "\"bounds\":{\"__proto__\":{\"fills\":1}},\"asked\""), "it has no bounds.__proto__"],
      [withBounds({ fills: 2 ** 40 }), "bounds.fills: Expected a number between 1 and 1048576"],
      [withBounds({ endedAtOnce: 0 }), "bounds.endedAtOnce: Expected a number between 1"],
      [withBounds({ accountParts: -1 }), "bounds.accountParts: Expected a number between 0"],
      [withBounds({ identity: 5 }), "bounds.identity: Expected"],
      [withBounds({ funds: { open: 1.5 } }), "bounds.funds.open: Expected an integer"],
      [withBounds({ liquidatedAtOnce: { looks: 1 } }), "bounds.liquidatedAtOnce.met: is missing"],
      [withBounds({ growth: { rows: 2, stepwiseFrom: 2, listedFrom: 3 } }), "bounds.growth.listedFrom: Expected a number divisible by 2"]
    ]
    for (const [bytes, reason] of cases) expect(() => Bundle.read(bytes)).toThrow(reason)
    const otherState = changed(/"finalStateDigest":"../, "\"finalStateDigest\":\"00")
    return expect(Effect.runPromise(Effect.flip(verified(otherState)))).resolves.toMatchObject({ _tag: "ReplayDiffers" })
  })

  it("tells a story as the journal does", async () => {
    const accountId = recording.accountId(2)
    const bundle = Bundle.read(whole)
    const subject = { _tag: "Account", accountId } as const
    const told = await Effect.runPromise(
      Story.tell(Source.make(bundle), bundle.capacity, subject, { ...everything, limit: 1_000 })
    )
    expect(told.known).toBe(true)
    expect(told.lines[0]!.text).toBe(`${accountId} opened`)
    expect(told.engine.balance(2)).toEqual(recording.balance(2))
  })
})

describe("a bundle behind a snapshot", () => {
  const recording = drawn(42, 400)
  let written: Recorded.Written
  let middle: Block.Encoded
  let bytes: Buffer

  beforeAll(async () => {
    written = await Recorded.write(recording, folder())
    middle = written.blocks[60]!
    await Recorded.saveSnapshot(written.folder, middle, Recorded.stateAt(recording, middle.lastSequence))
    bytes = await bundled(written.folder, { from: middle.lastSequence + 40, to: recording.sequence })
  })

  it("begins with the snapshot's state and leads to the same end", async () => {
    const { base, manifest } = Bundle.read(bytes)
    expect(base?.sequence).toBe(middle.lastSequence)
    expect(sequences(bytes)).toEqual(range(middle.lastSequence + 1, recording.sequence))
    expect(manifest.asked).toEqual({ from: middle.lastSequence + 40, to: recording.sequence })
    expect(Recorded.canonical((await followed(bytes)).state)).toEqual(Recorded.canonical(recording.state))
    expect(await Effect.runPromise(verified(bytes))).toMatchObject({
      records: recording.sequence - middle.lastSequence,
      stateDigest: Verify.digestOf(recording)
    })
  })

  it("begins with the first record where the range does not lie behind it", async () => {
    const early = await bundled(written.folder, { from: middle.lastSequence, to: recording.sequence })
    expect(Bundle.read(early).base).toBeUndefined()
  })

  it("passes over a snapshot of another journal, and a damaged one", async () => {
    const { blocks, folder: other } = await Recorded.write(recording, folder())
    const block = blocks[60]!
    const state = Recorded.stateAt(recording, block.lastSequence)
    await Recorded.saveSnapshot(other, { ...block, digest: blocks[0]!.digest }, state)
    expect(Bundle.read(await bundled(other, { from: recording.sequence, to: recording.sequence })).base).toBeUndefined()
    await Recorded.saveSnapshot(other, block, state)
    expect(Bundle.read(await bundled(other, { from: recording.sequence, to: recording.sequence })).base).toBeDefined()
    const file = path.join(other, "snapshots", fs.readdirSync(path.join(other, "snapshots"))[0]!)
    const snapshot = fs.readFileSync(file)
    snapshot[snapshot.length >> 1]! ^= 1
    fs.writeFileSync(file, snapshot)
    expect(Bundle.read(await bundled(other, { from: recording.sequence, to: recording.sequence })).base).toBeUndefined()
  })

  it("is refused where its state is another than its manifest names", () => {
    const named = bytes.toString("latin1").replace(/"sectionsDigest":"../, "\"sectionsDigest\":\"00")
    expect(() => Bundle.read(redigested(Buffer.from(named, "latin1")))).toThrow(
      `its state at sequence ${middle.lastSequence} is not the one its manifest names`
    )
  })
})

describe("a bundle of a journal that claims another outcome", () => {
  it("says where, and is decided otherwise again", async () => {
    const recording = drawn(43, 150)
    const { blocks, folder: lied } = await Recorded.write(recording, folder(), { outcomeAt: 60 })
    const bytes = await bundled(lied, { from: 1, to: recording.sequence })
    const { firstSequence } = blocks.find(({ lastSequence }) => lastSequence >= 60)!
    expect(Bundle.read(bytes).manifest).toMatchObject({ divergedAt: firstSequence, finalStateDigest: null })
    const differs = await Effect.runPromise(Effect.flip(verified(bytes)))
    expect(differs).toMatchObject({ _tag: "ReplayDiffers", sequence: firstSequence })
    const refused = await Effect.runPromise(
      Effect.flip(redacted(lied, { from: 1, to: recording.sequence }, recording.accountId(0)))
    )
    expect(refused._tag).toBe("ReplayDiverged")
  })
})

const key = Buffer.alloc(32, 7)

const redacted = (from: string, range: Collect.Range, accountId: string) =>
  Redact.collect({ range, capacity: Recorded.capacity, accountId, key }).pipe(
    Effect.map(Bundle.write),
    Effect.provide(Recorded.reading(from))
  )

/** A text as it is written in a payload. */
const journaled = (text: string): string => JSON.stringify(text).slice(1, -1)

/** All content of a bundle, both raw and decompressed. */
const allBytes = (file: Buffer): Buffer => {
  const { base, blocks } = Bundle.read(file)
  return Buffer.concat([
    file,
    ...(base?.sections ?? []).map(({ bytes }) => Buffer.from(bytes)),
    ...blocks.map(({ bytes }) => bytes)
  ])
}

describe("a redacted bundle", () => {
  const { accounts, recording, texts } = labelled(52, 500)
  const kept = 2
  const keptId = recording.accountId(kept)
  const last = recording.sequence
  let written: Recorded.Written
  let whole: Buffer
  let part: Buffer

  beforeAll(async () => {
    written = await Recorded.write(recording, folder())
    whole = await Effect.runPromise(redacted(written.folder, { from: 1, to: last }, keptId))
    part = await Effect.runPromise(redacted(written.folder, { from: 300, to: last }, keptId))
  })

  it("comes from a run with every kind of command and texts of everyone", () => {
    const kinds = new Set(recording.taken.map(({ record }) => record.command.kind))
    const client = ["AmendOrder", "CancelAllOrders", "CancelOrders", "FenceOutcome", "PlaceOrders", "SetCancelAllAfter"]
    expect([...kinds]).toEqual(expect.arrayContaining(client))
    for (const owner of [-1, ...accounts]) expect(texts.get(owner)!.size).toBeGreaterThan(10)
    expect(recording.events.filter(({ event }) => event === "Traded").length).toBeGreaterThan(20)
  })

  it("holds no text of any other account, nor of operators", () => {
    for (const bytes of [allBytes(whole), allBytes(part)]) {
      for (const [owner, owned] of texts) {
        if (owner === kept) continue
        for (const text of owned) expect(bytes.includes(text) || bytes.includes(journaled(text)), text).toBe(false)
      }
      expect(bytes.includes("-of-operator-")).toBe(false)
    }
  })

  it("would be caught holding one", async () => {
    const unredacted = allBytes(await bundled(written.folder, { from: 1, to: last }))
    for (const owner of [-1, ...accounts]) {
      expect([...texts.get(owner)!].filter((text) => !unredacted.includes(journaled(text)))).toEqual([])
    }
  })

  it("holds no digest of what others wrote: of no block, of no key", () => {
    const state = Recorded.stateAt(recording, Bundle.read(part).base!.sequence)
    const keys = keyDigests(state, recording, kept)
    const unredacted = Buffer.concat(Snapshot.encode(state).map(({ bytes }) => bytes))
    expect(keys.length).toBeGreaterThan(20)
    expect(keys.every((digest) => unredacted.includes(digest))).toBe(true)
    for (const bytes of [allBytes(whole), allBytes(part)]) {
      for (const { digest } of written.blocks) expect(bytes.includes(Buffer.from(digest))).toBe(false)
      expect(keys.filter((digest) => bytes.includes(digest))).toEqual([])
    }
  })

  it("keeps every text of the account itself", async () => {
    const engine = await followed(whole)
    expect(engine.openOrders(kept, anyMarket)).toEqual(recording.openOrders(kept, anyMarket))
    expect(engine.state.apiKeys.all().filter(({ account }) => account === kept)).toEqual(
      recording.state.apiKeys.all().filter(({ account }) => account === kept)
    )
    const bytes = allBytes(whole)
    expect([...texts.get(kept)!].filter((text) => !bytes.includes(journaled(text)))).toEqual([])
  })

  it("decides everything as it was decided, for everyone", async () => {
    expect(Bundle.read(whole).blocks.map((block) => Bundle.decode(block).outcomeDigest.toString())).toEqual(
      written.blocks.map(({ outcomeDigest }) => outcomeDigest.toString())
    )
    for (const bytes of [whole, part]) {
      const engine = await followed(bytes)
      for (const account of accounts) {
        expect(engine.balance(account)).toEqual(recording.balance(account))
        expect(engine.positions(account)).toEqual(recording.positions(account))
        expect(engine.fills(account, anyMarket, Infinity, Infinity)).toEqual(recording.fills(account, anyMarket, Infinity, Infinity))
      }
    }
  })

  it("tells the account's story as the journal does", async () => {
    const subject = { _tag: "Account", accountId: keptId } as const
    const bounds = { from: 300, to: last, limit: 100_000 }
    const tell = (source: Follow.Source) => Effect.runPromise(Story.tell(source, Recorded.capacity, subject, bounds))
    const original = await tell(Source.make(Bundle.read(await bundled(written.folder, { from: 1, to: last }))))
    expect(original.lines.length).toBeGreaterThan(50)
    for (const bytes of [whole, part]) expect((await tell(Source.make(Bundle.read(bytes)))).lines).toEqual(original.lines)
  })

  it("begins with the redacted run's state where a part was asked for", async () => {
    const { base, manifest } = Bundle.read(part)
    const first = written.blocks.find(({ lastSequence }) => lastSequence >= 300)!
    expect(base?.sequence).toBe(first.firstSequence - 1)
    expect(sequences(part)).toEqual(range(first.firstSequence, last))
    expect(manifest.redactedFor).toBe(keptId)
    expect(Recorded.canonical((await followed(part)).state)).toEqual(Recorded.canonical((await followed(whole)).state))
    const digests = await Promise.all([whole, part].map((bytes) => Effect.runPromise(verified(bytes))))
    expect(digests[0]!.stateDigest).toBe(digests[1]!.stateDigest)
    expect(digests[0]!.stateDigest).not.toBe(Verify.digestOf(recording))
  })

  it("is not made for an account that is not there yet", async () => {
    const failure = await Effect.runPromise(Effect.flip(redacted(written.folder, { from: 1, to: 3 }, keptId)))
    expect(failure).toMatchObject({ _tag: "UnknownAccount", message: `the journal knows no account ${keptId} by then` })
  })
})

/** The size of a remembered key's row in a snapshot: of its 32 words, 0 to 3 are the key's digest, 4 to 7 the body's, 8 the account. */
const rowBytes = 128

/** Digests of other accounts' remembered keys and bodies in a snapshot, except bodies that the account sent itself too. */
const keyDigests = (state: State, { taken }: Recorded.RecordingEngine, kept: number): ReadonlyArray<Buffer> => {
  const { buffer } = encoded(state.idempotency).bytes("idempotency.rows")
  const accounts = new Int32Array(buffer).filter((_, at) => at % 32 === 8)
  const rows = Array.from(accounts, (account, entry) => ({
    account,
    key: Buffer.from(buffer, entry * rowBytes, 16),
    body: Buffer.from(buffer, entry * rowBytes + 16, 16)
  }))
  const own = new Set(
    taken.map(({ record }) => record.command).filter(({ account }) => account === kept).map(({ fingerprint: { a, b, c, d } }) =>
      Buffer.from(Int32Array.of(a, b, c, d).buffer).toString("hex")
    )
  )
  return rows
    .filter(({ account }) => account >= -1 && account !== kept)
    .flatMap(({ body, key }) => own.has(body.toString("hex")) ? [key] : [key, body])
}

describe("a redacted bundle of owners and their agents", () => {
  /** Two owners to whom everything happens that can, each with texts that name them. */
  const scene = async () => {
    const recording = new Recorded.RecordingEngine()
    const driver = new Driver(recording)
    const sha = (text: string) => createHash("sha256").update(text).digest("hex")
    const opening = (owner: string, what: string) => ({
      tokenSha256: sha(`${owner} ${what}`),
      expiresAtEpochMs: driver.atEpochMs + 3_600_000,
      remoteAddress: `address-of-${owner}`
    })
    const passkey = (owner: string, name: string) => ({
      credentialId: `${name}-of-${owner}`,
      userHandle: `handle-of-${owner}`,
      publicKey: `public-key-of-${owner}`,
      signCount: 0,
      transports: "internal",
      displayName: `display-of-${owner}`
    })
    const owners = ["alice", "bobby"].map((owner) => {
      driver.send({ kind: "OpenOwnerAccount", ...passkey(owner, "first"), ...opening(owner, "first") })
      const account = recording.findPasskey(`first-of-${owner}`)!.account
      driver.send({ kind: "SignIn", credentialId: `first-of-${owner}`, signCount: 0, ...opening(owner, "second") })
      const by = { account, credential: recording.findSession(sha(`${owner} second`))!.number }
      driver.send({ kind: "AddPasskey", ...by, ...passkey(owner, "other"), provedBy: `first-of-${owner}`, ...opening(owner, "third") })
      const remoteAddress = `address-of-${owner}`
      driver.send({
        kind: "ApproveAgent",
        ...by,
        deviceSha256: sha(`device of ${owner}`),
        codeChallenge: `challenge-of-${owner}`,
        clientName: `agent-of-${owner}`,
        scopes: 3,
        keyLifetimeSeconds: 300,
        grantMs: 600_000,
        remoteAddress
      })
      const keyId = `key_of${owner}`
      const secretSha256 = sha(`secret of ${owner}`)
      const deviceSha256 = sha(`device of ${owner}`)
      driver.send({ kind: "ExchangeGrant", deviceSha256, keyId, displayPrefix: `pk_of_${owner}`, secretSha256, remoteAddress })
      const { credential } = recording.apiKeys(account, 9)[0]!
      driver.send({ kind: "MintTicket", account, credential, scopes: 1 })
      const { family } = recording.state.identity.tickets.liveOf(credential, driver.atEpochMs)[0]!
      // The answer to the first rotation is lost and it is repeated; a repeat after the second comes from somebody who copied the ticket.
      for (const generation of [0, 0, 1, 0]) driver.send({ kind: "RotateTicket", family, generation, remoteAddress })
      driver.send({ kind: "RevokeApiKey", ...by, keyId, remoteAddress })
      const bot = { keyId: `key_bot${owner}`, displayPrefix: `pk_bot-of-${owner}`, secretSha256: sha(`bot of ${owner}`) }
      const operator = (what: string) => ({ idempotencyKey: `${what}-by-the-operator` })
      driver.send({ kind: "IssueBotKey", ofAccount: account, ...bot, subject: `bot-of-${owner}`, ...operator(`bot-for-${owner}`) })
      driver.send({ kind: "RevokeKeyByOperator", keyId: bot.keyId, ...operator(`revocation-for-${owner}`) })
      driver.send({ kind: "CreditAccount", ofAccount: account, amountAtoms: 10_000_000, ...operator(`credit-for-${owner}`) })
      // A withdrawal to the venue's own treasury, whose party no command names: with any other party it would be accepted.
      const withdrawal = { asset: "USDC", amountAtoms: 5_000_000, raw: "", destinationPartyId: "", remoteAddress } as const
      const refused = driver.ask({ kind: "RequestWithdrawal", ...by, idempotencyKey: `withdrawal-of-${owner}`, ...withdrawal })
      expect(refused.refusal).toBe(Refusal.withdrawalToTreasury)
      driver.send({ kind: "NoteSecurity", what: "sign_in_failed", ofAccount: account, credentialId: `first-of-${owner}`, remoteAddress })
      const proof = { provedBy: `first-of-${owner}`, signCount: 0 }
      driver.send({ kind: "ProvePasskey", ...by, credentialId: `first-of-${owner}`, signCount: 0, remoteAddress })
      driver.send({ kind: "RemovePasskey", ...by, credentialId: `other-of-${owner}`, ...proof, remoteAddress })
      driver.send({ kind: "EndSession", ...by, remoteAddress })
      return { owner, account }
    })
    return { recording, owners, written: await Recorded.write(recording, folder()) }
  }

  it("keeps what is the account's own, and no name of another's credentials", async () => {
    const { owners, recording, written } = await scene()
    for (const { account, owner } of owners) {
      const bytes = await Effect.runPromise(redacted(written.folder, { from: 1, to: recording.sequence }, recording.accountId(account)))
      const text = allBytes(bytes).toString("latin1")
      for (const other of owners) expect(text.includes(`-of-${other.owner}`)).toBe(other.owner === owner)
      expect(text.includes("-by-the-operator")).toBe(false)
      const engine = await followed(bytes)
      const events = engine.securityEvents(account, Infinity, 100).map(({ kind }) => kind)
      for (const kind of ["ticket_family_ended", "operator_revoked_key"]) expect(events).toContain(kind)
      expect(engine.passkeys(account)).toEqual(recording.passkeys(account))
      expect(engine.securityEvents(account, Infinity, 100)).toEqual(recording.securityEvents(account, Infinity, 100))
      for (const each of owners) expect(engine.apiKeys(each.account, 9)).toHaveLength(2)
    }
  })
})

describe("redacting a command", () => {
  const pseudonyms = Redact.pseudonymsOf(key)
  const leads = (to: number | undefined): Leads => ({
    account: () => to,
    passkey: () => to,
    grant: () => to,
    api_key: () => to,
    ticket_family: () => to,
    transfer: () => to,
    ledger_command: () => to
  })
  const nobody = leads(undefined)
  const model = { sequence: fc.integer({ min: 1, max: 1_000 }), atEpochMs: fc.nat(), command }
  const record = fc.record(model, { noNullPrototype: true })

  it("gives one that can be journaled and is admitted like any other", () => {
    fc.assert(fc.property(record, (record) => {
      const other = Redact.redact(pseudonyms, record, "acc_none", -1, nobody)
      const { kind: _, ...header } = other
      expect(CommandCodec.decode(CommandCodec.kindCode(other), header, CommandCodec.encode(other))).toEqual(other)
    }))
  })

  it("leaves what the account itself sends, and nothing that another one does", () => {
    fc.assert(fc.property(record, (record) => {
      const { command } = record
      const of = (account: number) => Redact.redact(pseudonyms, record, "acc_any", account, nobody)
      expect(of(command.account)).toEqual(command.account === -1 ? of(0x7fff_ffff) : command)
    }))
  })

  it("leaves what a command says that leads to the account, and no key of whoever sent it", () => {
    fc.assert(fc.property(record, (record) => {
      const command = { ...record.command, account: -1 } as Command
      const leading = Redact.redact(pseudonyms, { ...record, command }, "acc_any", 7, leads(7))
      const hidden = Redact.redact(pseudonyms, { ...record, command }, "acc_any", 7, nobody)
      const { fingerprint, idempotencyKey } = hidden
      const isNamed = typeof declarationOf(command).whose === "object"
      expect(leading).toEqual(isNamed ? { ...command, fingerprint, idempotencyKey } : hidden)
    }))
  })

  it("is keyed: whoever tries texts out without the key finds none", () => {
    const other = Redact.pseudonymsOf(Buffer.alloc(32, 8))
    const fingerprint = { a: 1, b: 2, c: 3, d: 4 }
    expect(other.text(1, "a")).not.toBe(pseudonyms.text(1, "a"))
    expect(pseudonyms.text(1, "a")).not.toBe(pseudonyms.text(2, "a"))
    expect(other.fingerprint(1, fingerprint)).not.toEqual(pseudonyms.fingerprint(1, fingerprint))
    expect(pseudonyms.fingerprint(1, fingerprint)).not.toEqual(pseudonyms.fingerprint(2, fingerprint))
    expect(Ids.isClientOrderId(pseudonyms.text(1, "a"))).toBe(true)
    expect(Ids.isIdempotencyKey(pseudonyms.text(1, "a"))).toBe(true)
  })
})

describe("the commands", () => {
  const here = path.dirname(fileURLToPath(import.meta.url))
  const venue = path.join(here, "../../tools/venue.js")
  const replay = path.join(here, "../../tools/replay.js")
  const settings = { ORDER_CAPACITY: "10000", IDEMPOTENCY_CAPACITY: "10000" }
  const recording = drawn(61, 200)
  let made: string
  let file: string

  beforeAll(async () => {
    made = (await Recorded.write(recording, folder())).folder
    file = path.join(folder(), "incident.bundle")
  })

  it("make a bundle beside a holder of the lock, which is all that a replay needs", async () => {
    const result = await Effect.runPromise(
      Effect.scoped(Effect.gen(function*() {
        yield* Effect.flatMap(Disk, (disk) => disk.lock(SegmentJournal.lockPath))
        return yield* Effect.promise(() => run(venue, ["bundle", "--data", made, "--out", file], settings))
      })).pipe(Effect.provide(NodeDisk.layer(made)))
    )
    expect([result.code, result.stderr]).toEqual([0, ""])
    // These settings differ from the bundle's own, which must be used.
    const few = { ORDER_CAPACITY: "1000", IDEMPOTENCY_CAPACITY: "1000", DATA_DIR: path.join(folder(), "none") }
    const { blocks, folder: kept } = await Recorded.write(recording, folder())
    const middle = blocks[blocks.length >> 1]!
    await Recorded.saveSnapshot(kept, middle, Recorded.stateAt(recording, middle.lastSequence))
    fs.writeFileSync(`${file}.part`, await bundled(kept, { from: middle.lastSequence + 1, to: recording.sequence }))
    const [verified, at, told, part] = await runAll([
      line(replay, ["--bundle", file, "--verify"], few),
      line(replay, ["--bundle", file, "--at", String(recording.sequence)], few),
      line(replay, ["--bundle", file, "--account", recording.accountId(1)], few),
      line(replay, ["--bundle", `${file}.part`, "--verify"], few)
    ])
    expect([verified!.code, at!.code, told!.code, part!.code]).toEqual([0, 0, 0, 0])
    expect(verified!.stdout).not.toContain("before ")
    // Records that are not in the bundle are not reported as verified.
    expect(part!.stdout).toContain(`sequences 1 to ${middle.lastSequence} are not in the bundle, which begins with the state behind them`)
    expect(verified!.stdout).toContain(Verify.digestOf(recording))
    expect(at!.stdout).toContain(`Sequence ${recording.sequence}, `)
    expect(told!.stdout).toContain(`${recording.accountId(1)} opened`)
  })

  it("make the bundle of an order's life, by whatever names the order", async () => {
    const ends = new Map<number, number>()
    let ending: Array<number> = []
    for (const event of recording.events) {
      if (event.event === "OrderEnded") ending.push(event.orderNumber)
      if (event.event !== "RecordDecided") continue
      for (const orderNumber of ending) ends.set(orderNumber, event.sequence)
      ending = []
    }
    const bornIn = (orderNumber: number): number => Math.floor(orderNumber / Ids.idsPerRecord)
    const [ended, endedIn] = [...ends].find(([orderNumber, sequence]) => sequence > bornIn(orderNumber) + 3)!
    const { command } = recording.taken[bornIn(ended) - 1]!.record
    const [open] = Array.from({ length: recording.state.accounts.count }, (_, account) => recording.openOrders(account, anyMarket)).flat()
    const asked = async (name: string, order: string, accountId?: string) => {
      const into = path.join(folder(), name)
      const asking = { file: into, range: { order, accountId }, redact: undefined, capacity: Recorded.capacity }
      await Effect.runPromise(BundleTask.make(asking).pipe(Effect.provide(Recorded.reading(made))))
      return Bundle.read(fs.readFileSync(into)).manifest
    }
    expect((await asked("by-id", Ids.orderId(ended))).asked).toEqual({ from: bornIn(ended), to: endedIn })
    const byKey = await asked("by-key", command.idempotencyKey, recording.accountId(command.account))
    expect(byKey.asked.from).toBeLessThanOrEqual(bornIn(ended))
    expect(byKey.asked.to).toBeGreaterThanOrEqual(endedIn)
    expect((await asked("open", Ids.orderId(open!.orderNumber))).asked).toEqual({ from: bornIn(open!.orderNumber), to: recording.sequence })
    const unknown = BundleTask.make({
      file: path.join(folder(), "unknown"),
      range: { order: "no-such-name", accountId: undefined },
      redact: undefined,
      capacity: Recorded.capacity
    })
    const refused = await Effect.runPromise(Effect.flip(unknown.pipe(Effect.provide(Recorded.reading(made)))))
    expect(refused).toMatchObject({ _tag: "Ended", code: 3 })
  })

  it("make the bundle of a stretch by time, of which the second is exclusive", async () => {
    const timed = recording.taken.map(({ record: { atEpochMs, sequence } }) => ({ atEpochMs, sequence }))
    const { length } = timed
    const [begins, ends] = [timed[Math.floor(length / 3)]!.atEpochMs, timed[Math.floor(2 * length / 3)]!.atEpochMs]
    expect(begins).toBeLessThan(ends)
    const within = timed.filter(({ atEpochMs }) => atEpochMs >= begins && atEpochMs < ends).map(({ sequence }) => sequence)
    const asked = (stretch: Partial<Stretch.Stretch>) => {
      const into = path.join(folder(), "timed")
      const asking = { file: into, range: { ...Stretch.whole, ...stretch }, redact: undefined, capacity: Recorded.capacity }
      return BundleTask.make(asking).pipe(
        Effect.map(() => Bundle.read(fs.readFileSync(into)).manifest.asked),
        Effect.provide(Recorded.reading(made)),
        Effect.either,
        Effect.runPromise
      )
    }
    expect(await asked({ fromEpochMs: begins, untilEpochMs: ends })).toEqual(Either.right({ from: within[0], to: within.at(-1) }))
    expect(await asked({ fromEpochMs: begins, to: length })).toEqual(Either.right({ from: within[0], to: length }))
    expect(await asked({ from: 2, untilEpochMs: ends })).toEqual(Either.right({ from: 2, to: within.at(-1) }))
    const late = timed.at(-1)!.atEpochMs + 1
    expect(await asked({ fromEpochMs: late })).toMatchObject(Either.left({ code: 3, text: `the journal ends at sequence ${length}` }))
    expect(await asked({ from: length, untilEpochMs: begins })).toMatchObject(Either.left({ code: 3 }))
  })

  it("end with 2 for a damaged bundle, 1 for one that differs, and 3 for what is asked wrongly", async () => {
    const bytes = fs.readFileSync(file)
    const flipped = path.join(folder(), "flipped")
    const otherwise = path.join(folder(), "otherwise")
    fs.writeFileSync(flipped, bytes.map((byte, at) => at === bytes.length >> 1 ? byte ^ 1 : byte))
    const small = path.join(folder(), "small")
    const huge = path.join(folder(), "huge")
    const sized = (size: number) => bytes.toString("latin1").replace(/(?<="ORDER_CAPACITY":)\d+/, String(size))
    fs.writeFileSync(small, redigested(Buffer.from(sized(1), "latin1")))
    fs.writeFileSync(huge, redigested(Buffer.from(sized(2 ** 33), "latin1")))
    const lied = bytes.toString("latin1").replace(/"finalStateDigest":"../, "\"finalStateDigest\":\"00")
    fs.writeFileSync(otherwise, redigested(Buffer.from(lied, "latin1")))
    const results = await runAll([
      line(replay, ["--bundle", flipped, "--verify"]),
      line(replay, ["--bundle", otherwise, "--verify"]),
      line(replay, ["--bundle", `${file}.none`, "--verify"]),
      line(replay, ["--bundle", file]),
      line(replay, ["--bundle", file, "--diff"]),
      line(venue, ["bundle", "--data", made, "--out", file], settings),
      line(venue, ["bundle", "--data", made, "--out", `${file}.2`, "--redact", "acc_nobody"], settings),
      line(venue, ["bundle", "--data", made, "--out", `${file}.2`, "--order", "none", "--from", "2"], settings),
      line(venue, ["bundle", "--data", made, "--out", `${file}.2`, "--from", "2026-02-30"], settings),
      line(venue, ["bundle", "--data", made, "--out", `${file}.2`, "--from", "2026-02-02", "--to", "2026-02-01"], settings),
      line(replay, ["--bundle", small, "--verify"]),
      line(replay, ["--bundle", huge, "--verify"])
    ])
    expect(results.map(({ code }) => code)).toEqual([2, 1, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2])
    expect(results[10]!.stderr).toMatch(/ is refused: its manifest has ORDER_CAPACITY 1, and at sequence \d+ its blocks need 2\n/)
    expect(results[11]!.stderr).toContain("its manifest is not one: settings.ORDER_CAPACITY: Expected a number between 1 and 16000000")
    expect(results[8]!.stderr).toContain("--from takes a sequence from 1, an ISO time or epoch ms")
    expect(results[0]!.stderr).toContain("its digest does not match its bytes: it was altered")
    expect(results[5]!.stderr).toContain("is there already")
    expect(fs.existsSync(`${file}.2`)).toBe(false)
  })

  it("leave no file of a bundle that there is no room for, which would keep the next one from its name", () => {
    const out = path.join(folder(), "full.bundle")
    // The shell lets the tool write 512 bytes to a file.
    const words = ["-c", "ulimit -f 1; exec \"$@\"", "sh", process.execPath, venue, "bundle", "--data", made, "--out", out]
    const { status, stderr } = spawnSync("sh", words, { env: { ...process.env, ...settings }, encoding: "utf8" })
    expect([status, stderr]).toEqual([3, expect.stringContaining("cannot be written: EFBIG")])
    expect(fs.existsSync(out)).toBe(false)
  })
})

describe("a bundle of another version", () => {
  const directory = Recorded.newFolder()
  afterAll(() => fs.rmSync(directory, { recursive: true }))
  const kept = fs.readdirSync("fixtures/bugs").filter((name) => name.endsWith(".bundle")).map((name) => path.join("fixtures/bugs", name))
  /** The version of the program that found the bug of a bundle. */
  const versionOf = (file: string): string => JSON.parse(fs.readFileSync(file.replace(/bundle$/, "json"), "utf8")).program
  /** The version's second number is that of its rules. */
  const rulesOf = (file: string): number => Number(versionOf(file).split(".")[1])
  let told: ReadonlyArray<Result>
  beforeAll(async () => {
    told = await runAll(kept.map((file) => line("dist/tools/replay.js", ["--bundle", file, "--verify"])))
  })

  it.each(kept.filter((file) => rulesOf(file) < versions.rules))("%s names the version that replays it", (file) => {
    expect(() => Bundle.read(fs.readFileSync(file))).toThrow(Bundle.OtherVersion)
    const { code, stderr } = told[kept.indexOf(file)]!
    const by = `version ${versionOf(file)} under rules ${rulesOf(file)}`
    expect(stderr).toBe(`${file} is refused: it was made by ${by}: that version replays it\n`)
    expect(code).toBe(2)
  })

  it("those of rules that this one has replay", () => {
    for (const file of kept.filter((each) => rulesOf(each) >= versions.rules)) {
      const { code, stderr } = told[kept.indexOf(file)]!
      expect([file, code, stderr]).toEqual([file, 0, ""])
    }
  })

  it("a newer one is not called damaged", async () => {
    const file = path.join(directory, "newer.bundle")
    fs.writeFileSync(file, redigested(Buffer.from(`perpetuum incident bundle 3\n{}\n${" ".repeat(32)}`)))
    const { code, stderr } = await run("dist/tools/replay.js", ["--bundle", file, "--verify"])
    expect(stderr).toBe(`${file} is refused: it was made by a newer version, in format 3 of bundles: that version replays it\n`)
    expect(code).toBe(2)
  })

  it("one of other rules names the version that made it", async () => {
    const recording = new Recorded.RecordingEngine()
    recording.apply(complete({ kind: "OpenVenue", environment: "development", ...versions }), 1, 1)
    const { blocks } = await Recorded.write(recording, path.join(directory, "data"))
    const contents = Collect.describe({
      base: undefined,
      blocks: Bundle.blocksOf(Buffer.concat(blocks.map(({ bytes }) => bytes))),
      capacity: Recorded.capacity,
      asked: { from: 1, to: 1 },
      notes: {}
    })
    const bytes = Bundle.write({ ...contents, rules: 99, program: "9.9.0" })
    expect(() => Bundle.read(bytes)).toThrow("it was made by version 9.9.0 under rules 99: that version replays it")
    // It may have bounds that this version does not know.
    const bounded = bytes.toString("latin1").replace(/"asked"/, "\"bounds\":{\"new\":1},\"asked\"")
    expect(() => Bundle.read(redigested(Buffer.from(bounded, "latin1")))).toThrow("it was made by version 9.9.0 under rules 99")
  })
})

it("the tools name the version in package.json", () => {
  const { version } = JSON.parse(fs.readFileSync("package.json", "utf8")) as { readonly version: string }
  expect(programVersion).toBe(version)
})
