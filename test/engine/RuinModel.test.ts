/**
 * Random ruin, compared with the naive model: whatever falls due in whatever order, and however little a record may do of it, engine and
 * model liquidate, take over, rank and deleverage the same, and the published steps satisfy the properties of `liquidation`.
 */
import { expect, test } from "vitest"
import { venueBounds } from "../../sim/model/NaiveLiquidation.js"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { Glance } from "../../sim/properties/Glance.js"
import { liquidation } from "../../sim/properties/liquidation.js"
import type { Bounds, Observation } from "../../sim/properties/Observation.js"
import { type Verdict, watch } from "../../sim/properties/Property.js"
import { stateEqualsModel } from "../../sim/properties/stateEqualsModel.js"
import { Engine } from "../../src/engine/Engine.js"
import * as EventLog from "../../src/engine/EventLog.js"
import type { Command } from "../../src/operations/Operations.js"
import { RuinousDriver } from "./drive.js"

/** Limits per record so low that most of the work is left to later records. */
const boundsOf = (seed: number) => ({
  ...venueBounds,
  looks: [16, 2, 1][seed % 3]!,
  deleveraged: [64, 1, 64][seed % 3]!,
  places: [1, 2, 3, 1024][seed % 4]!,
  ranked: [256, 256, 1, 2, 256][seed % 5]!
})

/** Settings of a process that the properties read but that mean nothing here. */
const ofNoProcess = {
  inbox: { capacity: 64, reserved: 8 },
  fullBytes: 65_536,
  segmentBytes: 2 ** 20,
  maxBlockBytes: 2 ** 18,
  maxRecords: 1
}

/** A `Started` observation with bounds alone, since there is no process here. */
const started = (bounds: Bounds): Observation => ({ _tag: "Started", bounds } as Partial<Observation> as Observation)

/** An engine whose every record is also given to the model and to the properties; `differs` is the first difference. */
class Told {
  readonly reached = new Map<string, number>()
  readonly engine: Engine
  readonly model: NaiveVenue
  private readonly rules = watch(liquidation)
  private readonly states = watch(stateEqualsModel)
  differs: Verdict

  constructor(seed: number) {
    const liquidatedAtOnce = boundsOf(seed)
    const reached = (mark: string) => void this.reached.set(mark, (this.reached.get(mark) ?? 0) + 1)
    this.engine = Engine.make({ orders: 10_000, idempotencyKeys: 10_000, liquidatedAtOnce, reached })
    this.model = new NaiveVenue(undefined, undefined, undefined, liquidatedAtOnce)
    this.rules.observe(started({ ...ofNoProcess, orders: 10_000, idempotencyKeys: 10_000, liquidatedAtOnce }))
    const apply = this.engine.apply.bind(this.engine)
    this.engine.apply = (command, sequence, atEpochMs) => {
      const { events } = this.engine.state
      events.clear()
      const outcome = apply(command, sequence, atEpochMs)
      this.tell(command, sequence, atEpochMs, EventLog.decode(events.words, 0, events.length))
      return outcome
    }
  }

  private tell(command: Command, sequence: number, atEpochMs: number, events: ReturnType<typeof EventLog.decode>): void {
    const record = { sequence, atEpochMs, command }
    const decision = this.model.apply(record)
    const block = { epoch: 1, firstSequence: sequence, count: 1, bytes: 512, digest: "", misread: undefined }
    for (const each of [this.rules, this.states]) {
      this.differs ??= each.observe({ _tag: "Committed", record, decision, model: this.model, block })
    }
    this.differs ??= this.rules.observe({ _tag: "Fed", decided: { record, events } })
  }

  /** Compares the present states of both. */
  compare(): void {
    this.differs ??= this.states.observe({
      _tag: "Inspected",
      reads: new Glance(this.engine),
      model: this.model,
      decision: undefined,
      whole: true
    })
  }
}

const play = (seed: number, steps: number): Told => {
  const told = new Told(seed)
  const driver = new RuinousDriver(seed, told.engine)
  const markets = [0, 1, 2]
  for (let step = 0; step < steps && told.differs === undefined; step++) {
    if (driver.below(60) === 0) driver.index(driver.below(3), [400, 700, 1300, 2000][driver.below(4)]!)
    else driver.step()
    for (const market of markets) {
      if (driver.engine.market(market).status === "halted" && driver.below(4) === 0)
        driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market, status: "open" })
    }
    while (told.differs === undefined && driver.engine.nextDueEpochMs <= driver.atEpochMs) driver.send({ kind: "PassTime" })
    if (step % 10 === 9) told.compare()
  }
  return told
}

test("whoever is ruined, engine and model come to the same, record by record", () => {
  const reached = new Map<string, number>()
  for (let seed = 0; seed < 20; seed++) {
    const told = play(seed, 250)
    expect(told.differs, `seed ${seed}, record ${told.engine.sequence}`).toBe(undefined)
    for (const [mark, times] of told.reached) reached.set(mark, (reached.get(mark) ?? 0) + times)
  }
  for (
    const mark of [
      "a part of a position was liquidated",
      "the insurance fund took a part of a position over",
      "a position was deleveraged",
      "a ranking went on in the next record",
      "a deleveraging went on in the next record",
      "a deleveraging found nobody"
    ]
  ) expect(reached.get(mark), mark).toBeGreaterThan(0)
})
