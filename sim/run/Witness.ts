/**
 * Observes everything that happens in a run: shows it to every property, keeps the first verdict against it, and folds it into the digest
 * by which two runs are compared.
 */
import * as crypto from "node:crypto"
import type { Branch } from "../../src/domain/Branches.js"
import { anyMarket } from "../../src/domain/None.js"
import type { Reads } from "../../src/engine/Reads.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { watchers } from "../properties/All.js"
import type { Observation } from "../properties/Observation.js"
import { holds, type Watcher } from "../properties/Property.js"
import type { Failure } from "./Request.js"
import type { World } from "./World.js"

/** Characters of observations that are hashed at a time. */
const hashedAtOnce = 1 << 16

export class Witness {
  /** The first thing that went wrong. */
  failure: Failure | undefined
  /** Whether the restarts that prove replay and detection of damage have begun. */
  proving = false
  /** How often each kind of observation was made, and other counts. */
  readonly counts: { [name: string]: number } = {}
  /** How often each rare branch of the venue's code was reached. */
  readonly marks: { [B in Branch]?: number } = {}
  /** How many calls had begun when each of them was first reached. */
  readonly callsUntil: { [B in Branch]?: number } = {}
  /** Lines that the venue logged. */
  readonly logged: Array<string> = []
  readonly #watching = watchers()
  readonly #hash = crypto.createHash("sha256")
  /** Lines observed and not yet in the digest. */
  #unhashed = ""
  #steps = 0

  constructor(
    readonly world: World,
    readonly model: NaiveVenue,
    readonly reads: () => Reads | undefined,
    readonly calls: () => number
  ) {}

  see(seen: Observation): void {
    const { request, time } = this.world
    this.#steps++
    this.count(seen._tag)
    const line = describe(seen)
    this.#unhashed += line
    if (this.#unhashed.length > hashedAtOnce) this.#hashSeen()
    this.trace(line)
    request.listen?.(time.nowEpochMs(), seen)
    this.#judge(seen)
  }

  /**
   * Shows properties the state of the world, at moments that are not part of the run's events: a run from its script has other such
   * moments, so nothing of this is in the digest.
   */
  look(seen: Extract<Observation, { readonly _tag: "Watched" }>): void {
    this.trace(describe(seen))
    this.#judge(seen)
  }

  /** Whether no property would object to an observation if it was made now. */
  wouldHold(seen: Observation): boolean {
    return this.#watching.every(({ foresee }) => foresee(seen) === holds)
  }

  count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1
  }

  readonly reached = (branch: Branch): void => {
    this.marks[branch] = (this.marks[branch] ?? 0) + 1
    this.callsUntil[branch] ??= this.calls()
  }

  /** Keeps a line that the venue logged, and shows properties the defect of which it tells. */
  log(line: string, defect?: string): void {
    this.logged.push(line)
    this.trace(`log ${line}`)
    if (defect !== undefined) this.see({ _tag: "Defect", line, defect })
  }

  /** Adds a line to the trace, if there is one, that is not an observation. */
  trace(line: string): void {
    this.world.request.trace?.(this.#steps, this.world.time.nowEpochMs(), line)
  }

  /** Reports that a scenario's expectation is not met; an earlier verdict of a property takes precedence. */
  found(scenario: string, what: string): void {
    this.failure ??= { kind: "safety", properties: [scenario], invariant: "scenario", what, ...this.#now() }
  }

  /** The program itself threw, and the run ends here. */
  threw(error: unknown): void {
    this.failure = {
      kind: "crash",
      properties: ["no-crash"],
      invariant: "",
      what: error instanceof Error ? error.stack ?? error.message : String(error),
      ...this.#now()
    }
  }

  /** SHA-256 over all observations and the journal's last digest. Nothing can be observed after this. */
  digest(ofJournal: string): string {
    this.#hashSeen()
    this.#hash.update(ofJournal)
    return this.#hash.digest("hex")
  }

  #hashSeen(): void {
    this.#hash.update(this.#unhashed)
    this.#unhashed = ""
  }

  #now(): Pick<Failure, "step" | "atMs" | "unproven"> {
    return { step: this.#steps, atMs: this.world.elapsedMs(), unproven: !this.proving }
  }

  #judge(seen: Observation): void {
    const brokenNow: Array<{ readonly watcher: Watcher; readonly verdict: string }> = []
    for (const watcher of this.#watching) {
      const verdict = watcher.observe(seen)
      if (verdict !== undefined) brokenNow.push({ watcher, verdict })
    }
    const [first] = brokenNow
    if (first === undefined || this.failure !== undefined) return
    this.failure = {
      kind: first.watcher.kind,
      properties: brokenNow.map(({ watcher }) => watcher.name),
      invariant: first.watcher.invariant,
      what: brokenNow.map(({ verdict, watcher }) => `${watcher.name}: ${verdict}`).join("\n"),
      ...this.#now()
    }
    if (this.world.request.trace !== undefined) this.#traceState()
  }

  /** Traces the state of engine and model where a run failed. */
  #traceState(): void {
    const { model } = this
    const reads = this.reads()
    for (const market of model.markets) {
      const [bids, asks] = [JSON.stringify(model.levels(market.index, 0)), JSON.stringify(model.levels(market.index, 1))]
      this.trace(`market ${market.index} ${market.status} mark ${market.mark}, model's bids ${bids}, asks ${asks}`)
    }
    for (const account of model.accounts) {
      const positions = [...account.positions].map(([market, position]) => [market, position.quantity, Number(position.entryNotional)])
      const open = account.open.map((order) => [
        order.number,
        order.market,
        order.side,
        order.price,
        order.quantity - order.filled - order.canceled,
        order.reduceOnly
      ])
      this.trace(
        `account ${account.index} model: collateral ${account.collateral}, positions ${JSON.stringify(positions)}, `
          + `open ${JSON.stringify(open)}`
      )
      if (reads === undefined) continue
      const held = reads.positions(account.index).map((position) => [position.market, position.quantityAtoms, position.entryNotionalAtoms])
      const resting = reads.openOrders(account.index, anyMarket).map((order) => [
        order.orderNumber,
        order.market,
        order.side,
        order.priceAtoms,
        order.quantityAtoms - order.filledAtoms - order.canceledAtoms,
        order.reduceOnly
      ])
      this.trace(
        `account ${account.index} engine: collateral ${reads.balance(account.index).collateralAtoms}, `
          + `positions ${JSON.stringify(held)}, open ${JSON.stringify(resting)}`
      )
    }
  }
}

/** A failure without its stack lines: the location of the source and the length of its files do not belong to the run. */
const withoutPlaces = (failure: string): string => failure.replace(/\n\s+at .*/g, "")

type OfProcess = Extract<Observation, {
  readonly _tag:
    | "Started"
    | "StartRefused"
    | "Ready"
    | "Crashed"
    | "LockTaken"
    | "LockLeft"
    | "RepliedUnlocked"
    | "Watched"
    | "DiskFull"
    | "Healed"
    | "Quoted"
    | "AskedOfBank"
    | "LookedFor"
    | "Executing"
    | "Ended"
    | "Defect"
}>

/** A line about an event of the process. */
const describeProcess = (seen: OfProcess): string => {
  switch (seen._tag) {
    case "Started":
      return `started ${seen.incarnation} at ${seen.atEpochMs} under rules ${seen.rules}`
    case "StartRefused":
      return `refused to start ${seen.incarnation} under rules ${seen.rules}: ${withoutPlaces(seen.why)}`
    case "Ready":
      return `ready ${seen.incarnation} at record ${seen.sequence}`
    case "Crashed":
      return `crashed ${seen.incarnation} at ${seen.atEpochMs}`
    case "LockTaken":
      return `took the lock of ${seen.incarnation} at record ${seen.sequence}${seen.byStranger ? " for another" : ""}`
    case "LockLeft":
      return "left the lock to the venue"
    case "Defect":
      return `met a defect: ${seen.line}`
    case "RepliedUnlocked":
      return `replied without the lock to ${seen.call.id} of record ${seen.record ?? "none"}`
    case "Watched":
      return `watched at ${seen.clockEpochMs}${seen.isWriting ? " writing" : ""}`
    case "Healed":
      return "healed"
    case "Quoted":
      return `quoted ${seen.marketId} ${seen.priceAtoms} of ${seen.sourceEpochMs}`
    case "AskedOfBank":
      return `asked of the bank ${seen.what} ${seen.of}`
    case "LookedFor":
      return `looked for ${seen.hash} ${seen.sinceMs ?? "at first"}`
    case "Executing":
      return `executing ${seen.submissionId} at ${seen.atEpochMs}`
    case "DiskFull":
      return `the disk ${seen.isFull ? "is full" : "has room"} at ${seen.atEpochMs}`
    case "Ended":
      return `ended ${seen.incarnation} ${seen.asked ? "asked" : "by itself"} ${withoutPlaces(seen.failure ?? "")}`
  }
}

type OfStream = Extract<Observation, {
  readonly _tag:
    | "OnConnection"
    | "AnsweredOver"
    | "SaidBy"
    | "Streamed"
    | "Resynced"
    | "StreamRests"
    | "SaidOver"
    | "FrameTaken"
    | "FrameDone"
    | "FrameLeft"
    | "LineClosed"
    | "LineRests"
    | "OpenedElsewhere"
    | "Arming"
    | "HungUp"
    | "Shown"
    | "TurnedAway"
}>

/** What is told of an event on a connection: without the bytes that are no request, which are many. */
const shown = (member: string, value: unknown): unknown => member === "bytes" && typeof value === "string" ? value.length : value

/** A line about an event on a connection, also of the stream, or about its client's content. */
const describeStream = (seen: OfStream): string => {
  switch (seen._tag) {
    case "OnConnection":
      return `connection ${seen.connection} ${JSON.stringify(seen.event, shown)}`
    case "Arming":
      return `${seen.connectionId} is to cancel its orders`
    case "HungUp":
      return `${seen.connectionId} is ${seen.isSilent ? "dead" : "gone"}`
    case "Shown":
      return `${seen.client} shows a ticket, ${seen.id}`
    case "TurnedAway":
      return `${seen.client} is turned away, ${seen.id}: ${seen.failure}`
    case "FrameTaken":
      return `takes ${seen.kind} of ${seen.line} at ${seen.atEpochMs} ${seen.text}`
    case "FrameDone":
      return `has taken it of ${seen.line}`
    case "FrameLeft":
      return `${seen.frame.type} leaves over ${seen.line} ${seen.frame.id ?? ""} ${seen.frame.channel ?? ""} ${
        seen.frame.error?.code ?? ""
      }`
    case "LineClosed":
      return `${seen.line} is closed with ${seen.code}`
    case "LineRests":
      return `${seen.line} is open`
    case "OpenedElsewhere":
      return `a connection is taken at ${seen.target}`
    case "SaidBy":
      return `${seen.scope} by a ticket`
    case "AnsweredOver":
      return `over a connection ${seen.answered.call.id} ${seen.answered.answer.status} ${seen.answered.answer.text}`
    case "Streamed":
      return `streamed ${seen.stream} ${seen.isSnapshot ? "snapshot" : seen.previousSequence} ${seen.sequence} to ${seen.client}`
    case "Resynced":
      return `resync of ${seen.stream} for ${seen.reason} behind ${seen.before} to ${seen.client}`
    case "StreamRests":
      return `${seen.client} has ${seen.stream} ${seen.held}`
    case "SaidOver":
      return `${seen.scope} over ${seen.connectionId}`
  }
}

type OfProof = Extract<Observation, {
  readonly _tag:
    | "SnapshotBegun"
    | "SnapshotRemoved"
    | "SnapshotsCounted"
    | "Replayed"
    | "Rebuilt"
    | "Flipped"
    | "Misdirected"
    | "Planted"
    | "Probed"
    | "Fed"
    | "FeedBroke"
    | "Drilled"
    | "Searched"
    | "Reconciled"
    | "FollowerStarted"
    | "FollowerEnded"
    | "FollowerRests"
    | "WentOn"
    | "SegmentNamed"
}>

/** A line about a finding in the venue's storage, or about a start over damage. */
const describeProof = (seen: OfProof): string => {
  switch (seen._tag) {
    case "SnapshotBegun":
      return `begins a snapshot of ${seen.sequence}, and ${seen.durable} is durable`
    case "SnapshotRemoved":
      return `removes the snapshot of ${seen.sequence}, and ${seen.left} are left`
    case "SnapshotsCounted":
      return `the newest snapshot is of ${seen.newest} at ${seen.sequence}`
    case "FollowerRests":
      return `the follower rests at ${seen.sequence}`
    case "Replayed":
      return `replayed from ${seen.from} to ${seen.sequence} ${seen.digest} ${seen.fault ?? ""}`
    case "Rebuilt":
      return `made histories anew up to ${seen.sequence} ${seen.fault ?? ""}`
    case "Flipped":
      return `flipped bit ${seen.bit} of byte ${seen.byte} of ${seen.path}: ${withoutPlaces(seen.refusal ?? "served")}`
    case "Misdirected":
      return `a write to ${seen.path} went astray: ${withoutPlaces(seen.refusal ?? "served")}`
    case "Probed":
      return `${seen.what}: ${withoutPlaces(seen.came)}`
    case "Fed":
      return `fed ${seen.decided.record.sequence} ${seen.decided.events.length}`
    case "FeedBroke":
      return `the feed broke: ${withoutPlaces(seen.why)}`
    case "Drilled":
      return `drilled ${seen.what}: ${seen.fault ?? "as it must be"}`
    case "FollowerStarted":
      return "a follower starts"
    case "FollowerEnded":
      return `the follower ended: ${withoutPlaces(seen.reason)}`
    case "Reconciled":
      return `reconciled ${seen.book.done.length} acceptances, ${seen.book.treasuryAtoms} atoms`
    case "WentOn":
      return `goes on at ${seen.position} of ${seen.path}, zeroed to ${seen.zeroedTo}`
    case "SegmentNamed":
      return `names a segment of which ${seen.durableBytes} of ${seen.bytes} bytes are durable`
    case "Searched":
      return `searched for ${seen.secrets} secrets, found ${seen.found.length}`
    case "Planted":
      return `planted ${seen.what}: ${withoutPlaces(seen.came)} ${seen.digest}`
  }
}

type OfHandling = Extract<Observation, { readonly _tag: "Handling" | "Handled" | "Offered" | "Taken" }>

/** A line about a request that the process takes up, or about its command. */
const describeHandling = (seen: OfHandling): string => {
  switch (seen._tag) {
    case "Handling":
      return `handling ${seen.call.id} ${seen.call.target}`
    case "Handled":
      return `handled ${seen.call.id} at ${seen.atEpochMs} ${seen.answer?.status ?? "later"}`
    case "Offered":
      return `offered ${seen.command.kind} ${seen.command.idempotencyKey} ${seen.taken ? "taken" : "refused"}`
    case "Taken":
      return `took ${seen.command.kind} ${seen.command.idempotencyKey} at ${seen.sequence} ${seen.answered?.refusal ?? "decided"}`
  }
}

/** A line about an observation: the input of the run's digest, and the content of a trace. */
const describe = (seen: Observation): string => {
  switch (seen._tag) {
    case "Asked":
      return `asked ${seen.call.id}.${seen.attempt} ${seen.call.client} ${seen.call.intent} ${seen.call.method} ${seen.call.target} ${seen.call.idempotencyKey} ${seen.call.body}`
    case "Answered":
      return `answered ${seen.call.id}.${seen.attempt} ${seen.answer.status} ${seen.answer.text}`
    case "RepliedLate":
      return `replied to ${seen.call.id} after ${seen.tookMs} ms`
    case "Unanswered":
      return `unanswered ${seen.call.id}.${seen.attempt} ${seen.refused ? "refused" : "lost"}`
    case "Settled":
      return `settled ${seen.call.id}`
    case "Committed":
      return `committed ${seen.record.sequence} at ${seen.record.atEpochMs} ${JSON.stringify(seen.record.command)}`
    case "Inspected":
      return `inspected ${seen.model.sequence}${seen.whole ? " whole" : ""}`
    case "OnConnection":
    case "AnsweredOver":
    case "SaidBy":
    case "Streamed":
    case "Resynced":
    case "StreamRests":
    case "SaidOver":
    case "FrameTaken":
    case "FrameDone":
    case "FrameLeft":
    case "LineClosed":
    case "LineRests":
    case "OpenedElsewhere":
    case "Arming":
    case "HungUp":
    case "Shown":
    case "TurnedAway":
      return describeStream(seen)
    case "Started":
    case "StartRefused":
    case "Ready":
    case "Crashed":
    case "LockTaken":
    case "LockLeft":
    case "RepliedUnlocked":
    case "Watched":
    case "DiskFull":
    case "Healed":
    case "Quoted":
    case "AskedOfBank":
    case "LookedFor":
    case "Executing":
    case "Ended":
    case "Defect":
      return describeProcess(seen)
    case "SnapshotBegun":
    case "SnapshotRemoved":
    case "SnapshotsCounted":
    case "FollowerRests":
    case "Replayed":
    case "Rebuilt":
    case "Flipped":
    case "Misdirected":
    case "Planted":
    case "Probed":
    case "Fed":
    case "FeedBroke":
    case "Drilled":
    case "Searched":
    case "Reconciled":
    case "FollowerStarted":
    case "FollowerEnded":
    case "WentOn":
    case "SegmentNamed":
      return describeProof(seen)
    case "Handling":
    case "Handled":
    case "Offered":
    case "Taken":
      return describeHandling(seen)
    case "Finished":
      return `finished with ${seen.unsettled.length} unanswered`
  }
}
