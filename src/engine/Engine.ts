/**
 * The venue's deterministic state machine. `(state, command, at) -> outcome + events`: no I/O, no clock, no randomness. The
 * sequencer alone calls `apply`; everyone else only reads.
 *
 *  1. `admit` without a record: authority, remembered keys, the global halt, room. May answer at once.
 *  2. `apply` under a sequence and a time: forget what has expired, do what is due, decide, remember, log.
 *
 * Each capability decides its own commands; this file only puts the steps in order.
 */
import { assert } from "../domain/Assert.js"
import { Refusal } from "../domain/Refusal.js"
import { type Command, type Outcome, pack } from "../operations/Operations.js"
import { Packed, refusedCode } from "../operations/Outcome.js"
import * as Admission from "./Admission.js"
import { decide } from "./Deciders.js"
import * as AutoClose from "./accounts/AutoClose.js"
import * as Watch from "./accounts/Watch.js"
import * as Due from "./Due.js"
import { Event, type EventLog } from "./EventLog.js"
import { forget as forgetKeys } from "./identity/Keying.js"
import type { ShownTicket } from "./identity/Tickets.js"
import { isAwaited, nextTickEpochMs } from "./markets/Mark.js"
import { forget } from "./orders/Forgetting.js"
import { OrderReads } from "./orders/Reads.js"
import type { Reads } from "./Reads.js"
import { type Capacity, State } from "./State.js"

/**
 * The version of the rules. It is incremented with every change of what is decided or how that is digested, once for all changes of
 * one release, since unreleased rules bind nobody.
 */
export const rulesVersion = 8

export class Engine extends OrderReads implements Reads {
  /** The packed outcomes of the current command's entries, shared by the key table and the event log; the objects are reused. */
  private readonly packed: Array<Packed> = []

  static make(capacity: Capacity): Engine {
    return new Engine(new State(capacity))
  }

  /** See `Admission.admit`. */
  admit(command: Command, atEpochMs: number, shown?: ShownTicket): Outcome | undefined {
    return Admission.admit(this.state, command, atEpochMs, shown)
  }

  /** Decides a command that `admit` let through. Its events follow in `state.events`. */
  apply(command: Command, sequence: number, atEpochMs: number): Outcome {
    const { packed, state } = this
    assert(sequence === state.sequence + 1, "sequences are gapless")
    assert(atEpochMs >= state.atEpochMs, "times never go back")
    state.sequence = sequence
    state.atEpochMs = atEpochMs
    state.beginMeeting()
    state.liquidating.begin()
    forget(state, atEpochMs)
    forgetKeys(state)
    // A restart ends every connection to the previous process, and no other record says so. This comes first, so that due work does
    // not match their orders.
    if (command.kind === "StartVenue") state.connections.endAll()
    Due.run(state, command.account)
    // What the venue's own orders have met is not what the command's may meet.
    state.beginMeeting()
    if (state.capacity.reached !== undefined && Due.isWaiting(state)) state.capacity.reached("something fell due under a halt")
    const entries = decide(state, command)
    Watch.run(state)
    AutoClose.noteTrades(state)
    while (packed.length < entries.length) packed.push(new Packed())
    for (let index = 0; index < entries.length; index++) pack(entries[index]!, packed[index]!)
    state.idempotency.remember(command, sequence, atEpochMs, packed, entries.length)
    this.log(entries.length)
    return { sequence, atEpochMs, refusal: Refusal.none, replayed: false, entries }
  }

  /** When a `PassTime` record is due next: 0 for at once, `Infinity` when nothing is, or while nothing may be done. */
  get nextDueEpochMs(): number {
    return Due.nextEpochMs(this.state)
  }

  /** When a `MarkTick` record is due, given a time no earlier than the last record's; `Infinity` while no market is live. */
  nextTickEpochMs(nowEpochMs: number): number {
    return nextTickEpochMs(this.state, Math.max(nowEpochMs, this.state.atEpochMs))
  }

  /**
   * Whether a market has come back and a `MarkTick` at this time, no earlier than the last record's, would make its first mark. Its
   * present mark is outdated, while its index is known to everybody: such a tick precedes any other command.
   */
  isMarkAwaited(atEpochMs: number): boolean {
    return isAwaited(this.state, atEpochMs)
  }

  /** Logs the packed outcomes of the entries, and the end of the record. */
  private log(entries: number): void {
    const { packed } = this
    const { events, sequence, atEpochMs } = this.state
    for (let index = 0; index < entries; index++) logEntry(events, packed[index]!)
    events.event3(Event.RecordDecided, sequence, atEpochMs, entries)
  }
}

/**
 * The values that a refusal compared are not logged: they only explain it, and a better explanation must not invalidate old
 * journals.
 */
const logEntry = (events: EventLog, { codes, numbers }: Packed): void => {
  if ((codes & 0xff) === refusedCode) return events.event7(Event.EntryDecided, codes, numbers[0]!, 0, 0, 0, 0, 0)
  events.event7(
    Event.EntryDecided,
    codes,
    numbers[0]!,
    numbers[1]!,
    numbers[2]!,
    numbers[3]!,
    numbers[4]!,
    numbers[5]!
  )
}
