/**
 * Bodies of requests as JSON values, and whether they have the members that the contract specifies: written from the contract, sharing
 * nothing with the venue's decoders.
 */
import { isDecimal } from "./Numbers.js"

export type Json = { readonly [name: string]: unknown }
export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const whitespace = /\s/

/** Whether any object in a valid JSON text has a member twice. */
const saysTwice = (text: string): boolean => {
  const open: Array<Set<string> | undefined> = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === "{") open.push(new Set())
    else if (character === "[") open.push(undefined)
    else if (character === "}" || character === "]") open.pop()
    if (character !== "\"") continue
    const begin = at
    for (at++; text[at] !== "\""; at++) if (text[at] === "\\") at++
    let behind = at + 1
    while (behind < text.length && whitespace.test(text[behind]!)) behind++
    if (text[behind] !== ":") continue
    const members = open.at(-1)!
    const name = JSON.parse(text.slice(begin, at + 1)) as string
    if (members.has(name)) return true
    members.add(name)
  }
  return false
}

/** The value of a body; undefined where it is not JSON or has a member twice. */
export const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    // A text that equals its value's printed form has nothing twice, and most bodies do.
    return JSON.stringify(value) === text || !saysTwice(text) ? { value } : undefined
  } catch {
    return undefined
  }
}

/** The object whose JSON text is encoded in base64url; undefined where it is none. */
export const decoded = (text: string): Json | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is valid for a member. */
type Check = (value: unknown) => boolean

export interface Shape {
  readonly members: ReadonlyMap<string, Check>
  readonly needed: ReadonlyArray<string>
}

export const shape = (needed: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Shape => ({
  members: new Map(Object.entries({ ...needed, ...optional })),
  needed: Object.keys(needed)
})

/** Whether a value is an object with all required members, valid values and no others. */
export const fits = (value: unknown, { members, needed }: Shape): value is Json => {
  if (!isObject(value)) return false
  for (const name of Object.keys(value)) {
    const check = members.get(name)
    if (check === undefined || !check(value[name])) return false
  }
  return needed.every((name) => Object.hasOwn(value, name))
}

/** Whether a value is a list of 1 to `most` entries of a shape. */
export const listFits = (value: unknown, most: number, entry: Shape): value is ReadonlyArray<Json> =>
  Array.isArray(value) && value.length >= 1 && value.length <= most && value.every((each) => fits(each, entry))

export const decimal: Check = isDecimal
export const flag: Check = (value) => typeof value === "boolean"
export const name: Check = (value) => typeof value === "string" && value.length >= 1 && value.length <= 128
export const clientOrderId: Check = (value) => typeof value === "string" && /^[A-Za-z0-9._:-]{1,64}$/.test(value)
export const key: Check = (value) => typeof value === "string" && /^[!-~]{1,255}$/.test(value)
export const amount: Check = (value) => typeof value === "number" && value >= 0 && value !== Number.POSITIVE_INFINITY
export const oneOf = (...names: ReadonlyArray<string>): Check => (value) => typeof value === "string" && names.includes(value)
/** An integer in a range, inclusive. */
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Check => (value) =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
export const textUpTo = (most: number, least = 0): Check => (value) =>
  typeof value === "string" && value.length >= least && value.length <= most
