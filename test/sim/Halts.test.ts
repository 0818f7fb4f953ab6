/** What a halt stops is stated twice: with each operation, and independently in the simulator. */
import { expect, test } from "vitest"
import { isStopped } from "../../sim/reading/Halts.js"
import { cancel } from "../../sim/properties/cancel.js"
import * as Property from "../../sim/properties/Property.js"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { all, type Command, type Outcome } from "../../src/operations/Operations.js"

/** A command of which only the kind is read. */
const commandOf = (kind: string): Command => ({ kind }) as unknown as Command

test("the simulator has a halt stop what the declarations have it stop", () => {
  expect(all.filter(({ kind, underHalt }) => isStopped(commandOf(kind)) !== (underHalt === "refused"))).toEqual([])
})

test.each([
  ["PlaceOrders", Property.holds],
  ["EndConnection", expect.stringContaining("EndConnection was refused behind record 7 for a halt")]
])("%s is refused under a halt", (kind, expected) => {
  const answered = { refusal: Refusal.engineHalted } as Outcome
  const taken = { waited: true, sequence: 7, atEpochMs: 1_700_000_000_000, answered, preview: undefined, model: new NaiveVenue() }
  expect(Property.watch(cancel).observe({ _tag: "Taken", command: commandOf(kind), ...taken })).toEqual(expected)
})
