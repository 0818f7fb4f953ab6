/**
 * Follows the journal as it becomes durable: feeds the reference model with every record, and has the engine compared whenever it stands
 * at the same record as the model.
 */
import type { Reads } from "../../src/engine/Reads.js"
import { isKept, type NaiveDecision, type NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { Glance } from "../properties/Glance.js"
import type { Observation } from "../properties/Observation.js"
import * as BlockLayout from "../world/BlockLayout.js"
import * as JournalTap from "../world/JournalTap.js"
import type { World } from "./World.js"

/** The whole engine is compared after this many records. */
const wholeEvery = 251

/** Decisions since the engine was last compared. */
interface Uncompared {
  readonly orders: Set<NaiveOrder>
  readonly accounts: Set<number>
  last: NaiveDecision | undefined
}

const nothing = (): Uncompared => ({ orders: new Set(), accounts: new Set(), last: undefined })

export class Follower {
  readonly #tap: JournalTap.JournalTap
  records = 0
  fills = 0
  /** Bytes of the blocks that were read and not yet applied. */
  readonly #read: Array<{ readonly bytes: number; readonly misread: string | undefined }> = []
  /** Set while the contents of the disk are not a history of this run. */
  paused = false
  #uncompared = nothing()
  #lastWhole = 0
  /** Whether the whole engine is to be compared as soon as it stands at the model's record. */
  #isWholeDue = false
  #lastDiskCalls = -1

  /** `reads`: the engine, while a process is ready. */
  constructor(
    readonly world: World,
    readonly model: NaiveVenue,
    readonly reads: () => Reads | undefined,
    readonly see: (seen: Observation) => void
  ) {
    this.#tap = JournalTap.make(world.disk, (bytes, place, previousDigest, { records }) => {
      this.#read.push({ bytes: bytes.length, misread: BlockLayout.misread(bytes, place, previousDigest, records) })
    })
  }

  /** The digest of the last durable block, hex. */
  digest(): string {
    return this.#tap.digest()
  }

  /** Follows the journal if the disk was used since the last call. */
  drainIfWritten(): void {
    const calls = this.world.disk.calls()
    if (calls === this.#lastDiskCalls) return
    this.#lastDiskCalls = calls
    this.drain()
  }

  /** Feeds the model with what is durable by now, and compares the engine where it stands at the same record. */
  drain(): void {
    if (this.paused) return
    const { model } = this
    for (const block of this.#tap.next()) {
      const where = {
        epoch: block.epoch,
        digest: Buffer.from(block.digest).toString("hex"),
        firstSequence: block.firstSequence,
        count: block.records.length,
        ...this.#read.shift()!
      }
      for (const record of block.records) {
        const decision = model.apply(record)
        this.records++
        this.fills += decision.fills.length
        for (const order of decision.touchedOrders) this.#uncompared.orders.add(order)
        for (const account of decision.touchedAccounts) this.#uncompared.accounts.add(account)
        this.#uncompared.last = decision
        this.see({ _tag: "Committed", record, decision, model, block: where })
      }
    }
    if (this.#uncompared.last !== undefined || this.#isWholeDue) this.inspect(this.records - this.#lastWhole >= wholeEvery)
  }

  /**
   * Has the engine compared once it stands at the model's record: what was touched, or, if `whole`, all of it. A process that is ready is
   * usually one record ahead, that of its version: its restored state is compared after that.
   */
  inspect(whole: boolean): void {
    const { model } = this
    const reads = this.reads()
    this.#isWholeDue ||= whole
    if (reads === undefined || reads.sequence !== model.sequence) return
    const { accounts, last, orders } = this.#uncompared
    this.#uncompared = nothing()
    // Records of more than a day may be compared together: what ended in the first is forgotten by the last.
    const touchedOrders = new Set([...orders].filter((order) => isKept(order, model.atEpochMs)))
    const decision = last === undefined ? undefined : { ...last, touchedOrders, touchedAccounts: accounts }
    const glance = new Glance(reads)
    this.see({ _tag: "Inspected", reads: glance, model, decision, whole: false })
    if (!this.#isWholeDue) return
    this.#isWholeDue = false
    this.#lastWhole = this.records
    this.see({ _tag: "Inspected", reads: glance, model, decision: undefined, whole: true })
  }
}
