/**
 * Follows the journal as it becomes durable: feeds the reference model with every record, and has the engine
 * looked at whenever it stands at the same record as the model.
 */
import type { Reads } from "../../src/engine/Reads.js"
import { isKept, type NaiveDecision, type NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { Glance } from "../properties/Glance.js"
import type { Observation } from "../properties/Observation.js"
import * as BlockLayout from "../world/BlockLayout.js"
import * as JournalTap from "../world/JournalTap.js"
import type { World } from "./World.js"

/** The engine is compared as a whole after this many records. */
const wholeEvery = 251

/** What was decided since the engine was last looked at. */
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
  /** What the blocks take that were read and not yet followed. */
  readonly #read: Array<{ readonly bytes: number; readonly misread: string | undefined }> = []
  /** While what lies on the disk is no history of this run. */
  paused = false
  #uncompared = nothing()
  #lastWhole = 0
  /** Whether all of the engine is to be looked at as soon as it stands where the model does. */
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

  /** Follows if the disk was used since this was last asked. */
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
   * Has the engine looked at, once it stands where the model does: what was touched, and if `whole` all of it too. A process that is
   * ready is a record ahead as a rule, its own version's: what it restored is looked at behind that.
   */
  inspect(whole: boolean): void {
    const { model } = this
    const reads = this.reads()
    this.#isWholeDue ||= whole
    if (reads === undefined || reads.sequence !== model.sequence) return
    const { accounts, last, orders } = this.#uncompared
    this.#uncompared = nothing()
    // Records of a day apart may be looked at together: what ended in the first is forgotten by the last.
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
