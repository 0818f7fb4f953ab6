/**
 * A bundle that may be given to somebody concerned with a single account. README.md lists what is hidden and what is not.
 *
 * Texts influence decisions only by which of them are equal. So each text of others becomes a pseudonym, the same for equal texts of one
 * owner, under a key that is random for each bundle and not stored. The stream is run twice from the journal's first record, once as it was
 * and once redacted, and nothing is copied from the first run into the bundle: blocks and their chain are built anew, and the initial state
 * is that of the redacted run. The decisions of every redacted block must equal, number for number, those in the original's digest; and
 * everything that the account has must be the same in both runs.
 */
import * as crypto from "node:crypto"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { assert } from "../../domain/Assert.js"
import type { Command } from "../../operations/Operations.js"
import { transferKinds } from "../../operations/funds/Transfers.js"
import { redact as redactMarked } from "../../operations/Redaction.js"
import type { Pseudonyms } from "../../operations/Redaction.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { Engine } from "../../engine/Engine.js"
import * as EngineSnapshot from "../../engine/Snapshot.js"
import type { Capacity } from "../../engine/State.js"
import * as Block from "../../journal/Block.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Corrupt, OlderFormat, type Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Snapshot } from "../../journal/SnapshotStore.js"
import { applyBlock, type Diverged } from "../../sequencer/Recovery.js"
import { stateDigest } from "../../sequencer/StateDigest.js"
import { versions } from "../../sequencer/Versions.js"
import { accountOf, type Leads, leadsOf, opens } from "../Whose.js"
import * as Bundle from "./Bundle.js"
import { maker, type Range, TooLarge } from "./Collect.js"
import * as RawBlocks from "./RawBlocks.js"

/** The journal knows no such account. */
class UnknownAccount extends Data.TaggedError("UnknownAccount")<{ readonly accountId: string }> {
  override get message() {
    return `the journal knows no account ${this.accountId} by then`
  }
}

/** Pseudonyms under a key: the same for equal texts of one owner, valid in place of the text, and revealing nothing about it. */
export const pseudonymsOf = (key: Uint8Array): Pseudonyms => {
  const digest = (kind: string, owner: number, text: string): string =>
    crypto.createHmac("sha256", key).update(`${kind}\n${owner}\n${text}`).digest("hex")
  return {
    text: (owner, text) => text === "" ? "" : `x${digest("text", owner, text).slice(0, 32)}`,
    apiKey: (owner, text) => text === "" ? "" : `key_${digest("apiKey", owner, text).slice(0, 20)}`,
    secret: (owner, text) => digest("secret", owner, text),
    fingerprint: (owner, { a, b, c, d }) => {
      const words = Buffer.from(digest("fingerprint", owner, `${a} ${b} ${c} ${d}`), "hex")
      return { a: words.readInt32LE(0), b: words.readInt32LE(4), c: words.readInt32LE(8), d: words.readInt32LE(12) }
    }
  }
}

/**
 * A record in which everything that is not `keptId`'s is pseudonymized; `kept` is that account's index (-1 before it was opened). `leads`
 * look things up in the redacted run, where the kept account's things have their real names. Where an operator or the venue sent a command
 * that belongs to the account, its idempotency key and body digest remain the sender's, and are hidden.
 */
export const redact = (pseudonyms: Pseudonyms, record: Record, keptId: string, kept: number, leads: Leads): Command => {
  const { command, sequence } = record
  if (kept !== none && command.account === kept) return command
  const opened = (index: number): boolean => Ids.accountId(Ids.ordinal(sequence, index)) === keptId
  const hidden = redactMarked(command, pseudonyms, opened)
  const isOf = opens(command, sequence, keptId) || (kept !== none && accountOf(command, leads) === kept)
  return isOf ? { ...command, idempotencyKey: hidden.idempotencyKey, fingerprint: hidden.fingerprint } : hidden
}

export interface Options {
  readonly range: Range
  readonly capacity: Capacity
  readonly accountId: string
  /** 32 secret bytes, random for this bundle: with them, guesses of the hidden texts could be tested. */
  readonly key: Uint8Array
}

/**
 * The blocks that hold `range`, redacted, after the state of the redacted run before them. A journal that this program decides differently
 * cannot be redacted, since nothing could be compared.
 */
export const collect = (
  { accountId, capacity, key, range }: Options
): Effect.Effect<Bundle.Contents, Unreadable | Diverged | DiskError | TooLarge | UnknownAccount, Disk> =>
  Effect.gen(function*() {
    const original = Engine.make(capacity)
    const run = new Redaction(capacity, range, accountId, pseudonymsOf(key))
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

const decode = (sealed: Bundle.Sealed): Effect.Effect<Block.Block, Unreadable> =>
  Effect.suspend((): Effect.Effect<Block.Block, Unreadable> => {
    const { codec, firstSequence } = sealed.header
    // Blocks that another version decided cannot be run here, so nothing could be compared.
    if (codec !== Block.codecVersion) return new OlderFormat({ sequence: firstSequence, codec })
    try {
      return Effect.succeed(Bundle.decode(sealed))
    } catch (error) {
      if (!(error instanceof Block.Malformed)) throw error
      return new Corrupt({ segment: "the journal", offset: 0, sequence: error.sequence, reason: error.message })
    }
  })

/** The redacted run: an engine that runs beside the original's, and the blocks that it produces. */
class Redaction {
  readonly engine: Engine
  /** Bytes that go into the bundle so far. */
  bytes = 0
  private readonly leads: Leads
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
    this.leads = leadsOf(this.engine.state)
  }

  /** Takes the initial state, if the block is the bundle's first. */
  before(block: Block.Block): void {
    if (this.blocks.length > 0 || block.lastSequence < this.range.from || block.firstSequence === 1) return
    const sections = EngineSnapshot.encode(this.engine.state)
    this.bytes += sections.reduce((sum, { bytes }) => sum + bytes.length, 0)
    this.base = {
      sequence: this.engine.sequence,
      blockDigest: this.previousDigest,
      schema: EngineSnapshot.schema,
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
      const command = redact(this.pseudonyms, record, this.accountId, account, this.leads)
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
      rules: versions.rules,
      capacity: this.capacity,
      asked: this.range,
      base: this.base,
      blocks: this.blocks.map(({ bytes }) => bytes),
      finalStateDigest: stateDigest(this.engine.state),
      divergedAt: undefined,
      redactedFor: this.accountId,
      notes: {}
    }
  }
}

/** Everything that an account has, as lines. */
const ownLines = (engine: Engine, account: number): ReadonlyArray<string> => {
  const everything = Number.POSITIVE_INFINITY
  return [
    JSON.stringify(engine.balance(account)),
    ...engine.positions(account).map((position) => JSON.stringify(position)),
    ...ordersOf(engine, account),
    ...engine.fills(account, none, everything, everything).map((fill) => JSON.stringify(fill)),
    ...engine.state.apiKeys.all().filter((key) => key.account === account).map((key) => JSON.stringify(key)),
    ...engine.passkeys(account).map((passkey) => JSON.stringify(passkey)),
    ...transferKinds.flatMap((kind) =>
      engine.transfersOf(account, kind, everything, everything).map((transfer) => JSON.stringify(transfer))
    ),
    JSON.stringify(engine.party(account) ?? null),
    ...engine.securityEvents(account, everything, everything).map((event) => JSON.stringify(event)),
    `${engine.cancelAllAtEpochMs(account)} ${engine.hasForgotten(account, "")}`
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
