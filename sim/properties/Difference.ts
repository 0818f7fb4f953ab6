/** Differences between what a reader was shown and what was expected. */
import { broken, holds, type Verdict } from "./Property.js"

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

/** The first member that differs, by its path from `what`. A member expected as undefined must be absent. */
export const difference = (what: string, shown: unknown, expected: unknown): Verdict => {
  if (!isObject(expected) || !isObject(shown) || Array.isArray(expected) !== Array.isArray(shown)) {
    return Object.is(shown, expected) ? holds : broken(`${what} is ${JSON.stringify(shown)}, must be ${JSON.stringify(expected)}`)
  }
  for (const name of Object.keys(shown)) {
    if (!(name in expected)) return broken(`${what}.${name} is ${JSON.stringify(shown[name])}, must be absent`)
  }
  for (const name of Object.keys(expected)) {
    const verdict = difference(`${what}.${name}`, shown[name], expected[name])
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** A copy without some of its members. */
export const without = (value: unknown, names: ReadonlyArray<string>): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) : value

/** Two values of one name that must be equal. */
export type Pair = readonly [name: string, one: unknown, other: unknown]

/** The first pair that is not; `where` names the sources of the first and the second value. */
export const firstDifference = (
  what: string,
  pairs: ReadonlyArray<Pair>,
  where: readonly [string, string] = ["engine", "model"]
): Verdict => {
  for (const [name, one, other] of pairs) {
    if (one !== other) return broken(`${what}: ${name} is ${String(one)} in the ${where[0]}, ${String(other)} in the ${where[1]}`)
  }
  return holds
}
