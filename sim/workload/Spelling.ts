/** Spellings of bodies and of the numbers in them by clients, valid and invalid. */
import type { SimRandom } from "../world/SimRandom.js"

/** Spellings of a JSON number, all with the same value. */
export const spellings: ReadonlyArray<(number: string) => string> = [
  (number) => Number(number).toExponential(),
  (number) => Number(number).toExponential().toUpperCase(),
  (number) => number.includes("e") ? number : `${number}${number.includes(".") ? "00" : ".0"}`,
  (number) => number.includes("e") ? number : `${number}E-0`
]

/** Numbers that JSON allows and clients seldom send: off most grids, or far out of bounds. */
export const oddNumbers = [
  "-0",
  "-0.0",
  "0e5",
  "1e-6",
  "0.000001",
  "1e-7",
  "1E3",
  "25e-1",
  "0.5",
  "0.30000000000000004",
  "1e21",
  "123456789012345680000",
  "5e-324",
  "1.5E-300",
  "1e300",
  "9007199254740993"
]

/** Decimals at the limits of a scale, just inside and just outside. */
export const edgesOf = (scale: number): ReadonlyArray<string> => [
  "0",
  "0.0",
  scale === 0 ? "1" : `0.${"0".repeat(scale - 1)}1`,
  scale === 0 ? "7" : `0.${"9".repeat(scale)}`,
  `0.${"0".repeat(scale)}1`,
  `1.${"0".repeat(scale)}1`,
  `5.${"0".repeat(scale + 1)}`,
  scale === 0 ? "2" : `2.${"0".repeat(scale)}`,
  "3",
  "9007199254740991",
  "9007199254740993",
  "99999999999999999999",
  `1${"0".repeat(39)}`
]

/** Texts that resemble decimals. */
export const noDecimals = ["", " 1", "1 ", "01", "00.5", ".5", "5.", "+5", "-1", "-0", "1e5", "1E-2", "0x10", "1,5", "NaN", "\u0661",
  `1${"0".repeat(40)}`]

/** Invalid amounts. */
export const noAmounts = ["-1", "-1e-7", "1e999", "-1E+999", "+5", ".5", "5.", "01", "0x10", "1e", "NaN", "\"5\"", "null", "[5]"]

/** A decimal with some or all of its trailing zeros removed. */
const shortened = (text: string, random: SimRandom): string => {
  if (!/^[0-9]+\.[0-9]*0$/.test(text)) return text
  const zeros = /\.?0+$/.exec(text)![0].length
  return text.slice(0, -random.between(1, zeros)).replace(/\.$/, "")
}

const shuffled = <A>(items: ReadonlyArray<A>, random: SimRandom): ReadonlyArray<A> => {
  const left = [...items]
  return items.map(() => left.splice(random.below(left.length), 1)[0]!)
}

const spaces = ["", "", "", " ", "\n", "\t ", "\r\n"]

/** A JSON value as no library would print it: members in any order, white space anywhere, decimals with fewer zeros. */
export const written = (value: unknown, random: SimRandom): string => {
  const space = (): string => random.pick(spaces)
  const list = (parts: ReadonlyArray<string>): string => parts.map((part) => space() + part + space()).join(",")
  if (Array.isArray(value)) return `[${list(value.map((each) => written(each, random)))}]`
  if (typeof value === "object" && value !== null) {
    const members = shuffled(Object.entries(value), random)
    return `{${list(members.map(([name, each]) => `${JSON.stringify(name)}${space()}:${space()}${written(each, random)}`))}}`
  }
  return JSON.stringify(typeof value === "string" && random.chance(0.5) ? shortened(value, random) : value)
}
