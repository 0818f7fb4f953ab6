/**
 * What can be varied in a request, one thing at a time: every member of its body and every part of its path, by the contract's schemas, so
 * that a new member is varied as soon as the contract has it. A variation is another request or the same one spelled otherwise;
 * `sim/reading` tells which.
 */
import { Schema, SchemaAST } from "effect"
import * as Contract from "../../src/edge/Contract.js"
import type { SimRandom } from "../world/SimRandom.js"

/** Stands for a member that is left out. */
const absent = Symbol("absent")

/** A member of a body, by its path. `[]` stands for any entry of a list. */
export interface Member {
  readonly place: ReadonlyArray<string>
  readonly isOptional: boolean
  /** Other values that its schema accepts. */
  readonly others: (value: unknown) => ReadonlyArray<unknown>
}

/** Texts for members with rules unknown here: each is accepted by some. */
const texts: ReadonlyArray<string> = [
  "another",
  "still.another",
  "m\u00e4rkte-\u65e5\u672c",
  "\ud83d\ude80\"\\",
  "BTC-USDC-PERP",
  "ETH-USDC-PERP",
  "NONE-USDC-PERP",
  "BTC-NONE-PERP",
  "BTC/USDC:USDC",
  "ETH/USDC:USDC",
  "NONE/USDC:USDC",
  "ord_zzzzy",
  "1",
  "0.5",
  "25"
]
const numbers = (value: unknown): ReadonlyArray<number> => [
  ...(typeof value === "number" ? [value + 1, value - 1, value * 2, value / 2] : []),
  0,
  1,
  1_500,
  60_000,
  2_000_000_000_000
]

/** A text with another last digit or letter. */
const otherEnd = (text: string): string => text.slice(0, -1) + (text.endsWith("1") ? "2" : "1")

const candidates = (ast: SchemaAST.AST, value: unknown): ReadonlyArray<unknown> => {
  switch (ast._tag) {
    case "BooleanKeyword":
      return [true, false]
    case "Literal":
      return [ast.literal]
    case "Union":
      return ast.types.flatMap((type) => candidates(type, value))
    case "StringKeyword":
      return typeof value === "string" && value !== "" ? [otherEnd(value), `${value}1`, ...texts] : texts
    case "NumberKeyword":
      return numbers(value)
    case "Refinement":
      return candidates(ast.from, value)
    case "TupleType":
      return Array.isArray(value) && value.length > 1 ? [value.slice(1), value.slice(0, -1), value.toReversed()] : []
    case "TypeLiteral":
      return [{}]
    default:
      return []
  }
}

const inner = (ast: SchemaAST.AST): SchemaAST.AST => SchemaAST.isRefinement(ast) ? inner(ast.from) : ast

const memberOf = (ast: SchemaAST.AST, place: ReadonlyArray<string>, isOptional: boolean): Member => {
  const accepts = Schema.is(Schema.make<unknown, unknown, never>(ast), { onExcessProperty: "error" })
  return {
    place,
    isOptional,
    others: (value) => candidates(ast, value).filter((each) => each !== value && accepts(each))
  }
}

/** The members of a schema, outer before inner; a list is a member like its entries. */
const membersOf = (ast: SchemaAST.AST, place: ReadonlyArray<string>, isOptional: boolean): ReadonlyArray<Member> => {
  const within = inner(ast)
  const itself = place.length === 0 && SchemaAST.isTypeLiteral(within) ? [] : [memberOf(ast, place, isOptional)]
  if (SchemaAST.isTypeLiteral(within)) {
    return [
      ...itself,
      ...within.propertySignatures.flatMap(({ isOptional, name, type }) => membersOf(type, [...place, String(name)], isOptional))
    ]
  }
  if (SchemaAST.isTupleType(within))
    return [...itself, ...within.rest.flatMap(({ type }) => membersOf(type, [...place, "[]"], false).slice(1))]
  return itself
}

/** What can be varied in an endpoint's request. */
interface Varied {
  readonly members: ReadonlyArray<Member>
  /** Indexes of the path's segments that are parameters. */
  readonly params: ReadonlyArray<number>
}

const varied: ReadonlyMap<string, Varied> = new Map(Contract.endpoints.map(({ name, path, payloadSchema }) => [name, {
  members: payloadSchema === undefined ? [] : membersOf(payloadSchema.ast, [], false),
  params: path.split("/").flatMap((segment, index) => segment.startsWith(":") ? [index] : [])
}]))

/** The members of an endpoint's body. */
export const members = (endpoint: string): ReadonlyArray<Member> => varied.get(endpoint)?.members ?? []

type Inner = { readonly [name: string]: unknown }

const isInner = (value: unknown): value is Inner => typeof value === "object" && value !== null && !Array.isArray(value)

/** A value with a change at a path; the same value where the path does not exist. */
const changed = (
  value: unknown,
  [name, ...rest]: ReadonlyArray<string>,
  change: (value: unknown) => unknown,
  random: SimRandom
): unknown => {
  if (name === undefined) return change(value)
  if (name === "[]") {
    if (!Array.isArray(value) || value.length === 0) return value
    const at = random.below(value.length)
    return value.map((each: unknown, index) => index === at ? changed(each, rest, change, random) : each)
  }
  if (!isInner(value)) return value
  const had = Object.hasOwn(value, name)
  // The content of a left-out member is that of an empty one.
  const found = changed(had ? value[name] : rest.length > 0 ? {} : absent, rest, change, random)
  if (found === absent) return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
  return { ...value, [name]: found }
}

/** A body with one member varied: another value, left out where it is optional, or added where it was. */
export const ofMember = (body: unknown, { isOptional, others, place }: Member, random: SimRandom): unknown =>
  changed(body, place, (value) => {
    if (isOptional && value !== absent && random.chance(0.4)) return absent
    const choices = others(value)
    return choices.length === 0 ? value : random.pick(choices)
  }, random)

/** The value at a path of a body, in the first entry of each list; undefined where there is none. */
const found = (body: unknown, place: ReadonlyArray<string>): unknown =>
  place.reduce<unknown>((value, name) => {
    if (name === "[]") return Array.isArray(value) ? value[0] : undefined
    return isInner(value) ? value[name] : undefined
  }, body)

/** The body with another value there. */
const saying = (value: unknown, [name, ...rest]: ReadonlyArray<string>, what: unknown): unknown => {
  if (name === undefined) return what
  if (name === "[]") return (value as ReadonlyArray<unknown>).map((each, index) => index === 0 ? saying(each, rest, what) : each)
  return { ...value as Inner, [name]: saying((value as Inner)[name], rest, what) }
}

/** A body with a left-out member added, once for each of its values; empty where the member is present, or has no place. */
export const saidAs = (body: unknown, { others, place }: Member): ReadonlyArray<unknown> => {
  const within = found(body, place.slice(0, -1))
  if (!isInner(within) || Object.hasOwn(within, place.at(-1) ?? "")) return []
  return others(absent).map((what) => saying(body, place, what))
}

/** Values that few members accept. */
const junk: ReadonlyArray<unknown> = [null, true, -1, 1.5, 1e21, "", "hold", "no spaces allowed", "x".repeat(300), [], {}, [[]], { a: 1 }]

/** A body with one invalid member: of another type, left out, or replaced by an unknown one. */
export const broken = (body: unknown, { place }: Member, random: SimRandom): unknown =>
  random.chance(0.2)
    ? changed(body, [...place.slice(0, -1), "colour"], () => "blue", random)
    : changed(body, place, () => place.length > 0 && random.chance(0.3) ? absent : random.pick(junk), random)

/** A body without one of its members, if it is present and optional. */
export const without = (body: unknown, { isOptional, place }: Member, random: SimRandom): unknown =>
  isOptional ? changed(body, place, () => absent, random) : body

/** A target with another name in its path; the same where it has none. */
export const ofPath = (endpoint: string, target: string, random: SimRandom): string => {
  const params = varied.get(endpoint)?.params ?? []
  if (params.length === 0) return target
  const at = random.pick(params)
  const named = (name: string): string => {
    const place = random.below(name.length + 1)
    return random.pick([otherEnd(name), `${name.slice(0, place)}1${name.slice(place)}`, ...texts])
  }
  return target.split("/").map((segment, index) => index === at ? encodeURIComponent(named(decodeURIComponent(segment))) : segment)
    .join("/")
}

/** The change of a whole number by which only its upper 32 bits differ. */
const upper = 4_294_967_296

/**
 * Bodies that differ from a given one in one member alone, in the first entry of each list: in the first of its other values, in the upper
 * half of a number, and in not having it, or in having it; as far as the body as a whole is then one that is wanted.
 */
export const each = (
  body: unknown,
  { isOptional, others, place }: Member,
  isWanted: (varied: unknown) => boolean
): ReadonlyArray<unknown> => {
  if (place.length === 0) return others(body).filter(isWanted).slice(0, 1)
  const within = found(body, place.slice(0, -1))
  const name = place.at(-1) ?? ""
  if (!isInner(within)) return []
  const isThere = Object.hasOwn(within, name)
  const value = isThere ? within[name] : absent
  const first = others(value).map((other) => saying(body, place, other)).find(isWanted)
  const { [name]: _, ...left } = within
  const more = [
    ...(typeof value === "number" ? [saying(body, place, value + upper)] : []),
    ...(isThere && isOptional ? [saying(body, place.slice(0, -1), left)] : [])
  ]
  return [...(first === undefined ? [] : [first]), ...more.filter(isWanted)]
}
