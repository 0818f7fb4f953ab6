/** The holders of a market, ordered by their triggers: a look-up finds the same one as a search of all. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { none } from "../../src/domain/None.js"
import { Accounts } from "../../src/engine/Accounts.js"
import { Triggers } from "../../src/engine/accounts/Triggers.js"
import { Positions } from "../../src/engine/Positions.js"
import { encoded } from "./Sections.js"

const accountsThere = 24

const made = () => {
  const accounts = new Accounts()
  const positions = new Positions()
  for (let account = 0; account < accountsThere; account++) {
    accounts.open(account + 1, 1)
    positions.touch(accounts, account, 0)
  }
  return { positions, triggers: new Triggers() }
}

/** The position whose trigger a mark has crossed, by a search of all: longs first, then the nearest trigger, then the account. */
const crossedOf = (positions: Positions, mark: number): number => {
  const slots = Array.from({ length: accountsThere }, (_, slot) => slot).filter((slot) => positions.trigger(slot) !== 0)
  const longs = slots.filter((slot) => positions.quantity(slot) > 0 && positions.trigger(slot) >= mark)
  const shorts = slots.filter((slot) => positions.quantity(slot) < 0 && positions.trigger(slot) <= mark)
  longs.sort((one, other) => positions.trigger(other) - positions.trigger(one) || one - other)
  shorts.sort((one, other) => positions.trigger(one) - positions.trigger(other) || one - other)
  return longs[0] ?? shorts[0] ?? none
}

const change = fc.record({
  slot: fc.nat(accountsThere - 1),
  quantity: fc.integer({ min: -2, max: 2 }),
  trigger: fc.nat(6),
  mark: fc.integer({ min: 1, max: 7 })
})

test("whoever a mark has crossed is found, whatever became of positions and their triggers before, and after a restart", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const { positions, triggers } = made()
      for (const { mark, quantity, slot, trigger } of changes) {
        if (Math.sign(positions.quantity(slot)) !== Math.sign(quantity)) {
          positions.setQuantity(slot, quantity)
          triggers.drop(positions, slot)
          expect(positions.trigger(slot)).toBe(0)
          expect(triggers.crossed(0, mark)).toBe(crossedOf(positions, mark))
        }
        triggers.set(positions, slot, trigger)
        expect(triggers.crossed(0, mark)).toBe(crossedOf(positions, mark))
      }
      const restored = Triggers.restore(Positions.decode(encoded(positions)))
      for (let mark = 1; mark < 8; mark++) expect(restored.crossed(0, mark)).toBe(crossedOf(positions, mark))
    })
  )
})
