/** Atoms: exact arithmetic against bigints, and decimal text both ways. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Units from "../../src/domain/Units.js"

const safe = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(),
  fc.constantFrom(0, 1, 2, 9_999, 10_000, 2 ** 31, 2 ** 32, 2 ** 52, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER)
)

/** Arbitrary a, b and c for which a * b / c is a safe integer, also after adding half for rounding. */
const mulDiv = fc.tuple(safe, safe, safe.map((value) => Math.max(1, value))).filter(([a, b, c]) =>
  (2n * BigInt(a) * BigInt(b) + BigInt(c)) / (2n * BigInt(c)) < BigInt(Number.MAX_SAFE_INTEGER)
)

describe("exactSum", () => {
  test("is a number where a number holds the sum, and otherwise the bigint that a number would have rounded", () => {
    const whole = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })
    fc.assert(fc.property(whole, whole, (left, right) => {
      const sum = Units.exactSum(left, right)
      expect(BigInt(sum)).toBe(BigInt(left) + BigInt(right))
      expect(typeof sum).toBe(Number.isSafeInteger(left + right) ? "number" : "bigint")
    }))
    expect(Units.exactSum(Number.MAX_SAFE_INTEGER, 2)).toBe(9_007_199_254_740_993n)
  })
})

describe("mulDiv", () => {
  test("rounds down, up and half up as its name says, exactly", () => {
    fc.assert(
      fc.property(mulDiv, ([a, b, c]) => {
        const product = BigInt(a) * BigInt(b)
        const divisor = BigInt(c)
        expect(BigInt(Units.mulDivFloor(a, b, c))).toBe(product / divisor)
        expect(BigInt(Units.mulDivCeil(a, b, c))).toBe((product + divisor - 1n) / divisor)
        const doubled = 2n * (product % divisor)
        expect(BigInt(Units.mulDivHalfUp(a, b, c))).toBe(product / divisor + (doubled >= divisor ? 1n : 0n))
      }),
      { numRuns: 2_000 }
    )
  })

  test.each([
    [0, 5, 3, 0, 0, 0],
    [7, 1, 2, 3, 4, 4],
    [5, 1, 3, 1, 2, 2],
    [4, 1, 3, 1, 2, 1],
    [6, 1, 3, 2, 2, 2],
    [Number.MAX_SAFE_INTEGER, 10_000, 10_000, 9_007_199_254_740_991, 9_007_199_254_740_991, 9_007_199_254_740_991],
    [Number.MAX_SAFE_INTEGER, 3, 4, 6_755_399_441_055_743, 6_755_399_441_055_744, 6_755_399_441_055_743]
  ])("%i x %i / %i is %i, %i, %i", (a, b, c, floor, ceil, halfUp) => {
    expect([Units.mulDivFloor(a, b, c), Units.mulDivCeil(a, b, c), Units.mulDivHalfUp(a, b, c)]).toEqual([floor, ceil, halfUp])
  })
})

test("powers of ten are exact from 0 to 15, and nothing else is asked for", () => {
  for (let exponent = 0; exponent <= 15; exponent++) expect(BigInt(Units.powerOfTen(exponent))).toBe(10n ** BigInt(exponent))
  for (const exponent of [-1, 16, 0.5]) expect(() => Units.powerOfTen(exponent)).toThrow("0..15")
})

describe("parseDecimal", () => {
  test.each<[string, number, number | Units.DecimalFault]>([
    ["0", 0, 0],
    ["0", 6, 0],
    ["-0", 2, 0],
    ["-0.00", 2, 0],
    ["1", 0, 1],
    ["1.5", 1, 15],
    ["1.5", 3, 1500],
    ["-1.5", 1, -15],
    ["0.000001", 6, 1],
    ["60000.0", 1, 600_000],
    ["9007199254740991", 0, Number.MAX_SAFE_INTEGER],
    ["9007199254.740991", 6, Number.MAX_SAFE_INTEGER],
    ["-9007199254.740991", 6, -Number.MAX_SAFE_INTEGER],
    ["9007199254.740992", 6, "too_large"],
    ["9007199254740992", 0, "too_large"],
    ["9007199254740993", 0, "too_large"],
    ["900719925474099300000000000000000000", 0, "too_large"],
    ["1.25", 1, "too_fine"],
    ["1.0", 0, 1],
    ["-12.0", 0, -12],
    ["0.0", 0, 0],
    ["1.00", 0, "too_fine"],
    ["1.5", 0, "too_fine"],
    ["01.0", 0, "malformed"],
    ["1.50", 1, "too_fine"],
    ["", 2, "malformed"],
    [" 1", 2, "malformed"],
    ["1 ", 2, "malformed"],
    ["1\n", 2, "malformed"],
    ["+1", 2, "malformed"],
    ["--1", 2, "malformed"],
    ["01", 2, "malformed"],
    ["00", 2, "malformed"],
    [".5", 2, "malformed"],
    ["5.", 2, "malformed"],
    ["1.2.3", 2, "malformed"],
    ["1e3", 2, "malformed"],
    ["1E3", 2, "malformed"],
    ["0x10", 2, "malformed"],
    ["1_000", 2, "malformed"],
    ["1,5", 2, "malformed"],
    ["NaN", 2, "malformed"],
    ["Infinity", 2, "malformed"],
    ["١", 2, "malformed"],
    ["1".repeat(41), 2, "malformed"]
  ])("%j at scale %i is %s", (text, scale, expected) => {
    expect(Units.parseDecimal(text, scale)).toBe(expected)
  })

  test("reads back what formatDecimal writes, at every scale and sign", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: 8 }), (atoms, scale) => {
        const text = Units.formatDecimal(atoms, scale)
        expect(text).toMatch(new RegExp(`^-?[0-9]+\\.[0-9]{${Math.max(1, scale)}}$`))
        expect(Units.parseDecimal(text, scale)).toBe(atoms === 0 ? 0 : atoms)
      })
    )
  })

  test("says the same as bigint arithmetic on any plain decimal", () => {
    const text = fc.tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.stringMatching(/^[0-9]{0,8}$/))
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 6 }), ([negative, whole, fraction], scale) => {
        const parsed = Units.parseDecimal(`${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`, scale)
        const digits = scale === 0 && fraction === "0" ? "" : fraction
        const atoms = digits.length > scale ? undefined : BigInt(`${whole}${digits}`) * 10n ** BigInt(scale - digits.length)
        if (atoms === undefined) expect(parsed).toBe("too_fine")
        else if (atoms > BigInt(Number.MAX_SAFE_INTEGER)) expect(parsed).toBe("too_large")
        else expect(BigInt(parsed as number)).toBe(negative ? -atoms : atoms)
      }),
      { numRuns: 1_000 }
    )
  })
})

test.each([
  [0, 0, "0.0"],
  [12, 0, "12.0"],
  [-12, 0, "-12.0"],
  [0, 3, "0.000"],
  [5, 3, "0.005"],
  [-5, 3, "-0.005"],
  [123, 3, "0.123"],
  [1234, 3, "1.234"],
  [Number.MAX_SAFE_INTEGER, 6, "9007199254.740991"]
])("formatDecimal of %i at scale %i is %s", (atoms, scale, text) => {
  expect(Units.formatDecimal(atoms, scale)).toBe(text)
})

describe("numbers of the compatibility layer", () => {
  test.each<[number, number, number | Units.DecimalFault]>([
    [1, 1, 10],
    [-0, 1, 0],
    [0.1, 1, 1],
    [0.3, 1, 3],
    [0.1 + 0.2, 1, "too_fine"],
    [1e-7, 6, "too_fine"],
    [1e-6, 6, 1],
    [1.5e-5, 6, 15],
    [1e15, 0, 1e15],
    [1e21, 0, "too_large"],
    [60_000.5, 1, 600_005],
    [Number.NaN, 1, "malformed"],
    [Number.POSITIVE_INFINITY, 1, "malformed"],
    [Number.MIN_VALUE, 6, "malformed"]
  ])("%d at scale %i is %s", (value, scale, expected) => {
    expect(Units.parseNumber(value, scale)).toBe(expected)
  })

  test.each([
    [0, "0"],
    [1e-7, "0.0000001"],
    [1.25e-9, "0.00000000125"],
    [-1.25e-9, "-0.00000000125"],
    [1e21, "1000000000000000000000"],
    [1.5e22, "15000000000000000000000"],
    [-123.25, "-123.25"]
  ])("%d is printed as %s", (value, text) => {
    expect(Units.plainText(value)).toBe(text)
  })

  test("printing is plain and loses nothing", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = Units.plainText(value)
        expect(text).toMatch(/^-?[0-9]+(\.[0-9]+)?$/)
        expect(Number(text)).toBe(value === 0 ? 0 : value)
      }),
      { numRuns: 1_000 }
    )
  })

  test("what is shown as a number is taken back as the same atoms, below 10^15", () => {
    fc.assert(
      fc.property(fc.integer({ min: -(10 ** 15) + 1, max: 10 ** 15 - 1 }), fc.integer({ min: 0, max: 6 }), (atoms, scale) => {
        expect(Units.parseNumber(Units.toNumber(atoms, scale), scale)).toBe(atoms === 0 ? 0 : atoms)
      }),
      { numRuns: 1_000 }
    )
  })
})
