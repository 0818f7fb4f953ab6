/**
 * Compares the clients' requests in the journal with what the clients believe: each was decided in the record that its client was told,
 * none twice, none that never arrived, and none under a key that no client used.
 */
import { Effect, Layer, Stream } from "effect"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { Principal } from "../../src/operations/Header.js"
import type { Command } from "../../src/operations/Operations.js"
import { ownerOf } from "./Calls.js"
import type { Believed } from "./Decision.js"

/** A client's beliefs about its account's requests, by their numbers. */
export type Beliefs = ReadonlyMap<number, Believed>

/** Principals that send under keys of their own. */
const senders: ReadonlySet<Principal> = new Set([Principal.key, Principal.session, Principal.ticket])

/**
 * Commands whose key is not kept where they find nothing to cancel, so that they take no room: there is a record, nothing was done, and a
 * later lookup says that the command never arrived. One that did cancel something is remembered, and never reported so.
 */
const mayFindNothing: ReadonlySet<Command["kind"]> = new Set<Command["kind"]>(["CancelOrders", "CancelAllOrders"])

export class Journaled {
  private readonly found: Array<string> = []
  private readonly seen = new Map<string, Set<number>>()

  constructor(private readonly believed: ReadonlyMap<string, Beliefs>) {}

  /** Checks the next record. */
  take(sequence: number, { idempotencyKey: key, kind, principal }: Pick<Command, "idempotencyKey" | "kind" | "principal">): void {
    if (!senders.has(principal) || key === "") return
    const owner = ownerOf(key)
    if (owner === undefined) {
      // The only keys that a client creates by itself here are those of its fences.
      if (kind !== "FenceOutcome") this.found.push(`record ${sequence} is a ${kind} under ${key}, which nobody gave to anything`)
      return
    }
    const told = this.believed.get(owner.accountId)?.get(owner.serial)
    if (told === undefined) this.found.push(`record ${sequence} is of ${key}, which was never sent`)
    if (told === "never" && !mayFindNothing.has(kind)) this.found.push(`${key} never arrived, says its client, and is record ${sequence}`)
    if (typeof told === "number" && told !== sequence) this.found.push(`${key} was told to be record ${told}, and is record ${sequence}`)
    const seen = this.seen.get(owner.accountId) ?? new Set()
    this.seen.set(owner.accountId, seen)
    if (seen.has(owner.serial) && told !== "found nothing") this.found.push(`${key} was decided again in record ${sequence}`)
    seen.add(owner.serial)
  }

  /** The findings after the last record. */
  end(): ReadonlyArray<string> {
    for (const [accountId, beliefs] of this.believed) {
      for (const [serial, told] of beliefs) {
        if (typeof told === "number" && this.seen.get(accountId)?.has(serial) !== true) {
          this.found.push(`${accountId}-${serial} was told to be record ${told}, and no record is of it`)
        }
      }
    }
    return this.found
  }
}

/** Reads the whole journal of a data directory. */
export const check = (directory: string, believed: ReadonlyMap<string, Beliefs>): Promise<ReadonlyArray<string>> => {
  const journaled = new Journaled(believed)
  return Effect.flatMap(Journal, (journal) =>
    Stream.runForEach(journal.replay(1), ({ records }) =>
      Effect.sync(() => {
        for (const { command, sequence } of records) journaled.take(sequence, command)
      }))).pipe(
      Effect.map(() => journaled.end()),
      Effect.provide(SegmentJournal.layerReadOnly.pipe(Layer.provide(NodeDisk.layer(directory)))),
      Effect.runPromise
    )
}
