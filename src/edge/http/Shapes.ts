/**
 * What hand-written decoders of request bodies are made of: shapes whose members are checked in place, so that
 * a good body is the parsed JSON itself. A decoder accepts exactly what its schema in the contract accepts.
 */
import * as Ids from "../../domain/Ids.js"
import * as Fields from "./Fields.js"

/** The first offending part of a body, and what it should have been. Echoes nothing that was sent. */
export class Fault {
  constructor(readonly field: string, readonly message: string) {}
  /** One sentence for a person. */
  get text(): string {
    return this.field === "" ? `The body ${this.message}.` : `${this.field}: ${this.message}.`
  }
}

/** The rule between members that is broken, with the member to blame. */
export interface Broken {
  readonly field: string
  readonly message: string
}

/** What is wrong with a member's value; undefined when nothing is. */
export type Check = (value: unknown) => string | undefined

/** The members of an object, and which of them it must have. */
export interface Shape {
  readonly members: ReadonlyMap<string, Check>
  readonly required: ReadonlyArray<string>
}

export const shape = (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Shape => ({
  members: new Map([...Object.entries(required), ...Object.entries(optional)]),
  required: Object.keys(required)
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `Fields.Name`. */
export const name: Check = (value) =>
  typeof value === "string" && value.length >= 1 && value.length <= Fields.maxNameLength
    ? undefined
    : `must be a string of 1 to ${Fields.maxNameLength} characters`

/** `Fields.ClientOrderId`. */
export const clientOrderId: Check = (value) =>
  typeof value === "string" && Ids.isClientOrderId(value) ? undefined : "must be 1 to 64 of A-Z a-z 0-9 . _ : -"

/** `Fields.DecimalInput`. */
export const decimal: Check = (value) =>
  typeof value === "string" && value.length <= Fields.maxDecimalLength && Fields.plainDecimal.test(value)
    ? undefined
    : "must be a decimal string of plain digits"

export const boolean: Check = (value) => typeof value === "boolean" ? undefined : "must be true or false"

/** `Fields.Amount`. */
export const amount: Check = (value) =>
  typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY
    ? undefined
    : "must be a number that is not negative"

/** `Fields.FutureEpochMs`. */
export const epochMs: Check = (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? undefined : "must be a positive whole number"

/** `Fields.IdempotencyKey`. */
export const idempotencyKey: Check = (value) =>
  typeof value === "string" && Ids.isIdempotencyKey(value) ? undefined : "must be 1 to 255 visible ASCII characters"

export const oneOf = (names: ReadonlyArray<string>): Check => {
  const message = `must be one of ${names.join(", ")}`
  return (value) => typeof value === "string" && names.includes(value) ? undefined : message
}

/** For a member that is checked apart. */
export const anything: Check = () => undefined

/** The first fault of an object against a shape. `at` is the path in front of its members. */
export const faultOf = (value: unknown, expected: Shape, at: string): Fault | undefined => {
  if (!isObject(value)) return new Fault(at, "must be an object")
  const prefix = at === "" ? "" : `${at}.`
  let present = 0
  for (const key in value) {
    const check = expected.members.get(key)
    if (check === undefined) return new Fault(at, "has a member that this route does not know")
    const message = check(value[key])
    if (message !== undefined) return new Fault(prefix + key, message)
    present++
  }
  if (present < expected.members.size) {
    for (const key of expected.required) {
      if (!Object.hasOwn(value, key)) return new Fault(prefix + key, "is missing")
    }
  }
  return undefined
}

/** The first fault of a list of 1 to `most` entries. `at` is the path of the list itself. */
export const listFault = (
  list: unknown,
  most: number,
  at: string,
  entryFault: (entry: unknown, at: string) => Fault | undefined
): Fault | undefined => {
  if (!Array.isArray(list) || list.length < 1 || list.length > most) {
    return new Fault(at, `must be an array of 1 to ${most} entries`)
  }
  for (let index = 0; index < list.length; index++) {
    const fault = entryFault(list[index], `${at}[${index}]`)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** A whole body against its shape. */
export const whole = <Body extends object>(value: unknown, expected: Shape): Body | Fault =>
  faultOf(value, expected, "") ?? (value as Body)

/** A whole body against its shape and the rule between its members. */
export const ruled = <Body extends object>(
  value: unknown,
  expected: Shape,
  rule: (body: Body) => Broken | undefined
): Body | Fault => {
  const fault = faultOf(value, expected, "")
  if (fault !== undefined) return fault
  const broken = rule(value as Body)
  return broken === undefined ? value as Body : new Fault(broken.field, broken.message)
}

/** Whether a value is an object with such a member. */
export const carries = (value: unknown, member: string): value is Record<string, unknown> =>
  isObject(value) && Object.hasOwn(value, member)
