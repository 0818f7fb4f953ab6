/** Exact sums: whatever is added, and in whatever order, the sum is that of big integers. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { Total } from "../../src/engine/Total.js"

const limb = 2 ** 40

test("a total is the exact sum of what was added, of any size and sign, and its nearest number is rounded once", () => {
  const size = fc.oneof(
    fc.nat(1_000),
    fc.maxSafeNat(),
    fc.integer({ min: 0, max: 2 * limb }).map((less) => Number.MAX_SAFE_INTEGER - less),
    fc.nat(3).chain((times) => fc.integer({ min: -2, max: 2 }).map((more) => Math.max(0, times * limb + more))),
    fc.integer({ min: 1, max: 1_000 }).map((times) => times * 2 ** 60)
  )
  const amount = fc.tuple(size, fc.boolean()).map(([atoms, isNegative]) => isNegative ? 0 - atoms : atoms)
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 30 }), (amounts) => {
      const total = new Total()
      let exact = 0n
      for (const atoms of amounts) {
        total.add(atoms)
        exact += BigInt(atoms)
        expect(total.atoms).toBe(exact)
        expect(total.nearest).toBe(Number(exact))
        expect(Math.abs(total.low)).toBeLessThan(limb)
      }
    }),
    { examples: [[[2, Number.MAX_SAFE_INTEGER]], [[limb - 1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]]] }
  )
})
