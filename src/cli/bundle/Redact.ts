/**
 * A bundle that may be handed to whoever is concerned with one account. README.md says what is hidden and what is
 * not.
 *
 * Texts decide nothing by what they say, only by which are equal. So each text of others becomes a pseudonym, equal
 * for equal texts of one owner, under a key that is drawn for the bundle and kept nowhere. The stream is run twice
 * from the journal's first record, as it was and redacted, and nothing is copied from the first run to the bundle:
 * blocks and their chain are built anew, and the state to begin with is that of the redacted run. Every block must
 * decide, number for number, what the original's digest says; and all that the account has must come out equal.
 */
import * as crypto from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { assert, unreachable } from "../../domain/Assert.js"
import type { CancelEntry, ClientCommand, Command, KeyGrant, OpenDemoAccounts, PlaceEntry } from "../../domain/Command.js"
import { isClient } from "../../domain/Command.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../engine/Accounts.js"
import { Engine } from "../../engine/Engine.js"
import * as EngineSnapshot from "../../engine/Snapshot.js"
import type { Capacity } from "../../engine/State.js"
import * as Block from "../../journal/Block.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Corrupt } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Snapshot } from "../../journal/SnapshotStore.js"
import { applyBlock, type Diverged } from "../../sequencer/Recovery.js"
import { sectionsDigest } from "../../sequencer/Writer.js"
import * as Bundle from "./Bundle.js"
import { maker, type Range, TooLarge } from "./Collect.js"
import * as RawBlocks from "./RawBlocks.js"

/** The journal knows no such account. */
class UnknownAccount extends Data.TaggedError("UnknownAccount")<{ readonly accountId: string }> {
  override get message() {
    return `the journal knows no account ${this.accountId} by then`
  }
}

/** Replaces texts by pseudonyms: equal for equal texts of one owner, valid wherever the text was, telling nothing of it. */
export class Pseudonyms {
  constructor(private readonly key: Uint8Array) {}

  private digest(kind: string, owner: number, text: string): string {
    return crypto.createHmac("sha256", this.key).update(`${kind}\n${owner}\n${text}`).digest("hex")
  }

  /** For an Idempotency-Key, a clientOrderId, or what a client sent; empty for empty. */
  text(kind: "key" | "clientOrderId" | "raw", owner: number, text: string): string {
    return text === "" ? "" : `x${this.digest(kind, owner, text).slice(0, 32)}`
  }

  /** For an API key: nobody knows a text with this SHA-256. */
  grant(grant: KeyGrant): KeyGrant {
    const body = this.digest("keyId", none, grant.keyId).slice(0, 20)
    return {
      keyId: `key_${body}`,
      displayPrefix: `pk_redacted_${body}`,
      secretSha256: this.digest("secret", none, grant.secretSha256),
      scopes: grant.scopes,
      expiresAtEpochMs: grant.expiresAtEpochMs
    }
  }
}

/** Owner of what operators send. */
const operator = none

/** A record with everything under pseudonyms that is not `keptId`'s, whose index is `kept` (-1 before it was opened). */
export const redact = (pseudonyms: Pseudonyms, { command, sequence }: Record, keptId: string, kept: number): Command => {
  if (isClient(command)) return kept !== none && command.account === kept ? command : redactClient(pseudonyms, command)
  switch (command.kind) {
    case "OpenDemoAccounts":
      return redactAccounts(pseudonyms, command, (index) => Ids.accountId(Ids.ordinal(sequence, index)) === keptId)
    case "PutMarket":
    case "SetMarketStatus":
    case "SetIndexPrice":
    case "HaltEngine":
    case "ResumeEngine":
      return { ...command, idempotencyKey: pseudonyms.text("key", operator, command.idempotencyKey) }
    case "OpenVenue":
    case "PassTime":
      return command
    default:
      return unreachable(command)
  }
}

const redactClient = (pseudonyms: Pseudonyms, command: ClientCommand): Command => {
  const owner = command.account
  const idempotencyKey = pseudonyms.text("key", owner, command.idempotencyKey)
  const raw = <E extends PlaceEntry | CancelEntry>(entry: E): E => ({ ...entry, raw: pseudonyms.text("raw", owner, entry.raw) })
  switch (command.kind) {
    case "PlaceOrders": {
      const entries = command.entries.map((entry) => ({
        ...raw(entry),
        clientOrderId: pseudonyms.text("clientOrderId", owner, entry.clientOrderId)
      }))
      return { ...command, idempotencyKey, entries }
    }
    case "CancelOrders":
      return { ...command, idempotencyKey, entries: command.entries.map(raw) }
    case "AmendOrder":
    case "CancelAllOrders":
      return { ...command, idempotencyKey, raw: pseudonyms.text("raw", owner, command.raw) }
    case "SetCancelAllAfter":
      return { ...command, idempotencyKey }
    case "FenceOutcome": {
      const fencedKey = pseudonyms.text("key", owner, command.fencedKey)
      const fencedClientOrderId = pseudonyms.text("clientOrderId", owner, command.fencedClientOrderId)
      return { ...command, idempotencyKey, fencedKey, fencedClientOrderId }
    }
    default:
      return unreachable(command)
  }
}

const redactAccounts = (pseudonyms: Pseudonyms, command: OpenDemoAccounts, isKept: (index: number) => boolean): Command => ({
  ...command,
  idempotencyKey: pseudonyms.text("key", operator, command.idempotencyKey),
  keys: command.keys.map((grant, index) => isKept(index) ? grant : pseudonyms.grant(grant))
})

export interface Options {
  readonly range: Range
  readonly capacity: Capacity
  readonly accountId: string
  /** 32 secret bytes, drawn for this bundle: whoever has them can try texts out. */
  readonly key: Uint8Array
}

/**
 * The blocks that hold `range`, redacted, behind the state of the redacted run before them. A journal that this
 * program decides otherwise cannot be redacted: nothing could be compared.
 */
export const collect = (
  { accountId, capacity, key, range }: Options
): Effect.Effect<Bundle.Contents, Corrupt | Diverged | DiskError | TooLarge | UnknownAccount, Disk> =>
  Effect.gen(function*() {
    const original = Engine.make(capacity)
    const run = new Redaction(capacity, range, accountId, new Pseudonyms(key))
    yield* RawBlocks.each(1, range.to, (sealed) =>
      Effect.gen(function*() {
        const block = yield* decode(sealed)
        run.before(block)
        const kept = original.findAccount(accountId)
        const diverged = applyBlock(original, block)
        if (diverged !== undefined) return yield* diverged
        run.take(block, kept)
        if (run.bytes > Bundle.maxBytes) return yield* new TooLarge({ sequence: block.firstSequence })
      }))
    const account = original.findAccount(accountId)
    if (account === none) return yield* new UnknownAccount({ accountId })
    const same = ownLines(original, account).join("\n") === ownLines(run.engine, account).join("\n")
    assert(same, "redaction changes nothing of the account it is for")
    return run.contents()
  })

const decode = (sealed: Bundle.Sealed): Effect.Effect<Block.Block, Corrupt> =>
  Effect.try({
    try: () => Bundle.decode(sealed),
    catch: (error) => {
      if (!(error instanceof Block.Malformed)) throw error
      return new Corrupt({ segment: "the journal", offset: 0, sequence: error.sequence, reason: error.message })
    }
  })

/** The redacted run: an engine beside the original's, and the blocks that it leaves. */
class Redaction {
  readonly engine: Engine
  /** Of what goes into the bundle so far. */
  bytes = 0
  private readonly builder = new Block.Builder()
  private readonly blocks: Array<Block.Encoded> = []
  private previousDigest: Uint8Array = Block.genesisDigest
  private base: Snapshot | undefined
  private blocksBytes = 0

  constructor(
    private readonly capacity: Capacity,
    private readonly range: Range,
    private readonly accountId: string,
    private readonly pseudonyms: Pseudonyms
  ) {
    this.engine = Engine.make(capacity)
  }

  /** Takes the state to begin with, where the block is the first of the bundle. */
  before(block: Block.Block): void {
    if (this.blocks.length > 0 || block.lastSequence < this.range.from || block.firstSequence === 1) return
    const sections = EngineSnapshot.encode(this.engine.state)
    this.bytes += sections.reduce((sum, { bytes }) => sum + bytes.length, 0)
    this.base = {
      sequence: this.engine.sequence,
      blockDigest: this.previousDigest,
      stateDigest: sectionsDigest(sections),
      sections
    }
  }

  /** Runs and keeps a block; `kept` is the account's index before it. */
  take(block: Block.Block, kept: number): void {
    const { builder, engine } = this
    builder.begin({ epoch: block.epoch, firstSequence: block.firstSequence, previousDigest: this.previousDigest })
    engine.state.events.clear()
    let account = kept
    for (const record of block.records) {
      if (account === none) account = engine.findAccount(this.accountId)
      const command = redact(this.pseudonyms, record, this.accountId, account)
      builder.add(record.sequence, record.atEpochMs, command)
      engine.apply(command, record.sequence, record.atEpochMs)
    }
    const decided = Block.sha256(engine.state.events.bytes())
    const same = decided.equals(block.outcomeDigest)
    assert(same, `the redacted block of sequence ${block.firstSequence} decides what the original did`)
    const redacted = builder.finish(decided)
    this.previousDigest = redacted.digest
    if (block.lastSequence < this.range.from) return
    const first = this.blocks[0]?.firstSequence ?? redacted.firstSequence
    Block.place(redacted, { segment: first, offset: this.blocksBytes }, redacted.firstSequence - 1)
    this.blocksBytes += redacted.bytes.length
    this.bytes += redacted.bytes.length
    this.blocks.push(redacted)
  }

  contents(): Bundle.Contents {
    return {
      ...maker,
      environment: this.engine.environment,
      rules: this.engine.rules,
      capacity: this.capacity,
      asked: this.range,
      base: this.base,
      blocks: this.blocks.map(({ bytes }) => bytes),
      finalStateDigest: sectionsDigest(EngineSnapshot.encode(this.engine.state)),
      divergedAt: undefined,
      redactedFor: this.accountId,
      notes: {}
    }
  }
}

/** All that an account has, as lines. */
const ownLines = (engine: Engine, account: number): ReadonlyArray<string> => {
  const everything = Number.POSITIVE_INFINITY
  return [
    JSON.stringify(engine.balance(account)),
    ...engine.positions(account).map((position) => JSON.stringify(position)),
    ...ordersOf(engine, account),
    ...engine.fills(account, none, everything, everything).map((fill) => JSON.stringify(fill)),
    ...engine.state.accounts.apiKeys.filter((key) => key.account === account).map((key) => JSON.stringify(key)),
    `${engine.cancelAllAtEpochMs(account)} ${engine.hasForgotten(account)}`
  ]
}

const ordersOf = (engine: Engine, account: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  const { accounts, orders } = engine.state
  for (let slot = accounts.newestOrder(account); slot !== none; slot = orders.ownOlder(slot)) {
    const number = orders.number(slot)
    const order = engine.findOrder(account, number)
    assert(order !== undefined, "an account's order is found by its number")
    lines.push(JSON.stringify({ ...order, outcomes: engine.findOutcomes(account, order.idempotencyKey) }))
  }
  return lines
}
