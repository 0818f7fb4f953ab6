/**
 * Building blocks for hand-written decoders of request bodies: shapes whose members are checked in place, so that a valid body is
 * the parsed JSON itself. A decoder accepts exactly what its schema in the contract accepts.
 */
import * as Ids from "../../domain/Ids.js"
import type { Canonical } from "../../operations/Fingerprint.js"
import * as Fields from "./Fields.js"
import * as Naming from "./Naming.js"

/** The first invalid part of a body, and what it should have been. Nothing that was sent is echoed. */
export class Fault {
  constructor(readonly field: string, readonly message: string) {}
  /** One sentence for a person. */
  get text(): string {
    return this.field === "" ? `The body ${this.message}.` : `${this.field}: ${this.message}.`
  }
}

/** A broken rule between members, with the member to blame. */
export interface Broken {
  readonly field: string
  readonly message: string
}

/** What is wrong with a member's value; undefined when nothing is. */
type Check = (value: unknown) => string | undefined

/** A member of a shape: its permitted values, and how a valid value counts in the body's fingerprint. */
export interface Member {
  readonly check: Check
  readonly feed: (into: Canonical, value: never) => void
  /**
   * Whether bodies were remembered before the member existed: when absent it does not count, so that such bodies keep their
   * fingerprints.
   */
  readonly isAdded?: boolean
}

const member = <A>(check: Check, feed: (into: Canonical, value: A) => void): Member => ({ check, feed })

/** The default of an optional member that is absent; undefined where absence has no equivalent value. */
type Otherwise = (body: never) => unknown

/** How a member counts, and what counts where it is absent. */
interface Counted {
  readonly key: string
  readonly feed: Member["feed"]
  readonly otherwise: Otherwise | undefined
  readonly isAdded: boolean
}

/** The members of an object, and which of them it must have. */
export interface Shape {
  readonly members: ReadonlyMap<string, Member>
  readonly required: ReadonlyArray<string>
  /** Every member, in fingerprint order. */
  readonly counted: ReadonlyArray<Counted>
}

/** A shape. `otherwise` gives the defaults of optional members, so that stating a default makes no different body. */
export const shape = (
  required: Readonly<Record<string, Member>>,
  optional: Readonly<Record<string, Member>> = {},
  otherwise: Readonly<Record<string, Otherwise>> = {}
): Shape => {
  const members = Object.entries({ ...required, ...optional })
  return {
    members: new Map(members),
    required: Object.keys(required),
    counted: members.map(([key, { feed, isAdded = false }]) => ({ key, feed, otherwise: otherwise[key], isAdded }))
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value)

/** A text that a rule admits. */
export const text = (check: Check): Member => member<string>(check, (into, value) => into.text(value))

/** `Fields.Name`. */
export const name = text((value) =>
  typeof value === "string" && value.length >= 1 && value.length <= Fields.maxNameLength
    ? undefined
    : `must be a string of 1 to ${Fields.maxNameLength} characters`
)

/** `Fields.ClientOrderId`. */
export const clientOrderId = text((value) =>
  typeof value === "string" && Ids.isClientOrderId(value) ? undefined : "must be 1 to 64 of A-Z a-z 0-9 . _ : -"
)

/** `Fields.DecimalInput`. */
export const decimal = member<string>(
  (value) =>
    typeof value === "string" && value.length <= Fields.maxDecimalLength && Fields.plainDecimal.test(value)
      ? undefined
      : "must be a decimal string of plain digits",
  (into, value) => into.decimal(value)
)

export const boolean = member<boolean>(
  (value) => typeof value === "boolean" ? undefined : "must be true or false",
  (into, value) => into.flag(value)
)

/** `Fields.Amount`. JSON has made one number of all spellings. */
export const amount = member<number>(
  (value) =>
    typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY
      ? undefined
      : "must be a number that is not negative",
  (into, value) => into.text(String(value))
)

/** A whole number that a rule admits. */
export const whole = (check: Check): Member => member<number>(check, (into, value) => into.whole(value))

/** `Fields.FutureEpochMs`. */
export const epochMs = whole((value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? undefined : "must be a positive whole number"
)

/** `Fields.IdempotencyKey`. */
export const idempotencyKey = text((value) =>
  typeof value === "string" && Ids.isIdempotencyKey(value) ? undefined : "must be 1 to 255 visible ASCII characters"
)

/** One of a list of names, which may be extended at the end: a name counts by its index. */
export const oneOf = (names: ReadonlyArray<string>): Member => {
  const message = `must be one of ${names.join(", ")}`
  return member<string>(
    (value) => typeof value === "string" && names.includes(value) ? undefined : message,
    (into, value) => into.choice(names.indexOf(value))
  )
}

/** An object within an object: checked separately, counted by its members. If absent, it counts as an empty one. */
export const nested = (inner: Shape): Member => member<object>(() => undefined, (into, value) => feedShape(into, inner, value))

/** The last member of a shape, added after bodies without it had been remembered. */
export const added = (member: Member): Member => ({ ...member, isAdded: true })

/** A list within an object: checked separately, counted by its entries. */
export const entries = (inner: Shape): Member =>
  member<ReadonlyArray<object>>(() => undefined, (into, value) => feedList(into, inner, value))

/** Feeds a valid body: every member of its shape counts, whether sent or not. */
const feedShape = (into: Canonical, { counted }: Shape, body: object): void => {
  const values = body as Readonly<Record<string, unknown>>
  for (let index = 0; index < counted.length; index++) {
    const { feed, isAdded, key, otherwise } = counted[index]!
    const value = values[key] ?? otherwise?.(values as never)
    if (value === undefined) {
      if (!isAdded) into.absent()
      continue
    }
    // Its presence is marked, so that it cannot be confused with a following entry.
    if (isAdded) into.flag(true)
    feed(into, value as never)
  }
}

/** Feeds a good list of bodies. */
export const feedList = (into: Canonical, inner: Shape, list: ReadonlyArray<object>): void => {
  into.list(list.length)
  for (const entry of list) feedShape(into, inner, entry)
}

/** How bodies of a shape are fed. */
export const feeds = (expected: Shape) => (into: Canonical, body: object): void => feedShape(into, expected, body)

/** The fault for an unknown member. It is named if it looks like a name, with the one that may be meant. */
const strange = (key: string, { members }: Shape, at: string): Fault => {
  if (!Naming.isPlausible(key)) return new Fault(at, "has a member that this route does not know")
  const meant = Naming.meant(key, members.keys())
  const path = at === "" ? key : `${at}.${key}`
  return new Fault(path, `this route does not know such a member${meant === undefined ? "" : ` (did you mean ${meant}?)`}`)
}

/** The first fault of an object against a shape. `at` is the path in front of its members. */
export const faultOf = (value: unknown, expected: Shape, at: string): Fault | undefined => {
  if (!isObject(value)) return new Fault(at, "must be an object")
  const prefix = at === "" ? "" : `${at}.`
  let present = 0
  for (const key in value) {
    const known = expected.members.get(key)
    if (known === undefined) return strange(key, expected, at)
    const message = known.check(value[key])
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

/** A body against its shape. */
export const plain = <Body extends object>(value: unknown, expected: Shape): Body | Fault => faultOf(value, expected, "") ?? (value as Body)

/** A body against its shape and the rule between its members. */
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
export const carries = (value: unknown, member: string): value is Record<string, unknown> => isObject(value) && Object.hasOwn(value, member)
