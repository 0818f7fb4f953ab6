/** The reference model's bankruptcy price, compared with the worked table of the rules; the model was written from their text alone. */
import { expect, test } from "vitest"
import { bankruptcyPrice } from "../../sim/model/NaiveLiquidation.js"

test.each([
  [10, 40n, 50n, 50n, 996n],
  [10, 45n, 50n, 100n, 998n],
  [-10, 45n, 50n, 100n, 1002n],
  [10, -35n, 50n, 50n, 1004n],
  [-10, -35n, 50n, 50n, 996n],
  [3, -10n, 20n, 30n, 1003n]
])("%i atoms with an equity of %i, %i of %i maintenance margin, are bankrupt at %i", (quantity, equity, own, all, price) => {
  expect(bankruptcyPrice({ mark: 1000, factor: 1n }, quantity, equity, own, all)).toBe(price)
})
