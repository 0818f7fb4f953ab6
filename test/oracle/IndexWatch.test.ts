/** The outcomes of index samples, as the watch counts them. */
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import { done, refused } from "../../src/operations/Outcome.js"
import * as IndexWatch from "../../src/oracle/IndexWatch.js"

const sample = (market: number): Command => ({
  kind: "SetIndexPrice",
  ...internal(Principal.feed),
  market,
  priceAtoms: 1,
  sourceEpochMs: 1
})

const outcome = (refusal: Refusal, more: Partial<Outcome> = {}): Outcome => ({
  sequence: 1,
  atEpochMs: 1,
  refusal: Refusal.none,
  replayed: false,
  entries: [
    refusal === Refusal.none
      ? { _tag: "MarketChanged", market: 0, effectiveAtEpochMs: 0, underInitialMargin: 0, underMaintenanceMargin: 0 }
      : refused(refusal, -1)
  ],
  ...more
})

const watched = () => {
  const watch = IndexWatch.make()
  let next: Outcome = outcome(Refusal.none)
  const { submit } = watch.over({ submit: (_command, answer) => answer(next) })
  const come = (command: Command, to: Outcome): void => {
    next = to
    let answered = 0
    submit(command, (told) => {
      answered++
      expect(told).toBe(to)
    })
    expect(answered).toBe(1)
  }
  return { watch, come }
}

test.each<readonly [IndexWatch.Fate, Outcome]>([
  ["taken", outcome(Refusal.none)],
  ["held", outcome(Refusal.indexPriceHeld)],
  ["out_of_order", outcome(Refusal.indexPriceOutOfOrder)],
  ["refused", outcome(Refusal.indexPriceInvalid)],
  ["refused", refuse(Refusal.inboxFull, 1, 1)]
])("a sample is %s", (fate, decided) => {
  const { come, watch } = watched()
  come(sample(3), decided)
  expect(watch.counts(3, "feed")).toEqual({ taken: 0, held: 0, out_of_order: 0, refused: 0, [fate]: 1 })
  expect(watch.counts(2, "feed")).toEqual({ taken: 0, held: 0, out_of_order: 0, refused: 0 })
})

test("what is told again under its key, and other commands, are not counted", () => {
  const { come, watch } = watched()
  come(sample(0), outcome(Refusal.indexPriceHeld, { replayed: true }))
  come({ kind: "PassTime", ...internal(Principal.timer) }, outcome(Refusal.none, { entries: [done] }))
  expect(watch.counts(0, "feed")).toEqual({ taken: 0, held: 0, out_of_order: 0, refused: 0 })
})

test("what is no price of the grid, and so never decided, is counted as refused for who sent it", () => {
  const { come, watch } = watched()
  come(sample(0), outcome(Refusal.none))
  watch.refuse(0, "operator")
  expect([watch.counts(0, "feed"), watch.counts(0, "operator")]).toEqual([
    { taken: 1, held: 0, out_of_order: 0, refused: 0 },
    { taken: 0, held: 0, out_of_order: 0, refused: 1 }
  ])
})

test("whoever sent a sample is answered although a defect kept it from being counted", () => {
  const { submit } = IndexWatch.make().over({
    submit: (_command, answer) => answer(outcome(Refusal.none, { entries: undefined as never }))
  })
  let answered = 0
  expect(() => submit(sample(0), () => answered++)).toThrow()
  expect(answered).toBe(1)
})
