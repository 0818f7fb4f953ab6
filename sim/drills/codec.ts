/**
 * Records of every kind of command, with any values that their declarations allow: they are laid out as published and read back as they
 * were, and a payload is refused exactly where no command has such items.
 */
import { none } from "../../src/domain/None.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as Block from "../../src/journal/Block.js"
import * as CommandCodec from "../../src/journal/CommandCodec.js"
import { Malformed } from "../../src/journal/Malformed.js"
import type { Record } from "../../src/journal/Record.js"
import type { Declaration } from "../../src/operations/Operation.js"
import type { Field, Fields } from "../../src/operations/Field.js"
import { type Header, Principal } from "../../src/operations/Header.js"
import { all, type Command } from "../../src/operations/Operations.js"
import { noFingerprint } from "../../src/operations/Fingerprint.js"
import { misread } from "../world/BlockLayout.js"
import type { SimRandom } from "../world/SimRandom.js"
import { type Judge, layOut, type Yard } from "./Yard.js"

type Items = ReadonlyArray<unknown>

const texts = ["", "plain", "a \"quoted\" \\ text", "\u007f\u0001\n", "na\u00efve \u20ac \ud83d\ude00", "\ud800", "~", " "]
const wholes = [0, 1, 2, -1, -2, 9, 10, 99, 123_456_789_012_345, 1_234_567_890_123_456, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

/** A value of a declared field. */
const valueOf = ({ shape }: Field<unknown>, random: SimRandom): unknown => {
  switch (shape.type) {
    case "whole":
      return random.pick(wholes)
    case "text":
      return random.pick(texts)
    case "flag":
      return random.chance(0.5)
    case "code":
      return random.pick(shape.codes)
    case "choice":
      return random.pick(shape.names)
    case "record":
      return valuesOf(shape.fields, random)
    case "list":
      return Array.from({ length: Math.min(shape.most, random.pick([0, 1, 2, shape.most, 40])) }, () => valuesOf(shape.fields, random))
  }
}

const valuesOf = (fields: Fields, random: SimRandom): Readonly<globalThis.Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueOf(field, random)]))

const words = [0, 1, -1, 0x7fff_ffff, -0x8000_0000]

/** A header with which one of its principals may send the command. */
const headerOf = ({ principals, requests }: Declaration, random: SimRandom): Header => {
  const principal = random.pick(principals)
  const codes = Object.values(requests).map(({ code }) => code)
  const isClient = principal === Principal.key || principal === Principal.session
  if (codes.length === 0 || principal === Principal.feed) {
    return { principal, account: none, credential: none, operation: 0, idempotencyKey: "", fingerprint: noFingerprint }
  }
  const [a, b, c, d] = [random.pick(words), random.pick(words), random.pick(words), random.pick(words)]
  return {
    principal,
    account: isClient ? random.pick([0, 1, 0x7fff_ffff]) : none,
    credential: principal === Principal.key ? random.pick([0, 5, 0x7fff_ffff]) : none,
    operation: random.pick(codes),
    idempotencyKey: "k~!".repeat(random.pick([1, 2, 85])),
    fingerprint: { a, b, c, d }
  }
}

const commandOf = (declaration: Declaration, random: SimRandom): Command =>
  ({ kind: declaration.kind, ...headerOf(declaration, random), ...valuesOf(declaration.fields, random) }) as unknown as Command

// ---- which items a payload may have

const isWhole = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value)

const fits = ({ shape }: Field<unknown>, item: unknown): boolean => {
  switch (shape.type) {
    case "whole":
      return isWhole(item)
    case "text":
      return typeof item === "string"
    case "flag":
      return item === 0 || item === 1
    case "code":
      return isWhole(item) && shape.codes.includes(item)
    case "choice":
      return isWhole(item) && item >= 0 && item < shape.names.length
    case "record":
      return fitFields(shape.fields, item)
    case "list":
      return Array.isArray(item) && item.length <= shape.most && item.every((entry) => fitFields(shape.fields, entry))
  }
}

/** Fields that were added later may be missing at the end. */
const fitFields = (fields: Fields, items: unknown): boolean => {
  const declared = Object.values(fields)
  const least = declared.filter(({ before }) => before === undefined).length
  return Array.isArray(items) && items.length >= least && items.length <= declared.length
    && items.every((item, index) => fits(declared[index]!, item))
}

const refusals: ReadonlySet<unknown> = new Set(Object.values(Refusal))
const mostFlags = 1_024
const isFaulty = 32
const hasExpiry = 256
const hasTriggers = 512

/** The items of one entry of a placement, by its flags; undefined where they are not. */
const entryEnd = (items: Items, at: number): number | undefined => {
  const flags = items[at + 2]
  if (!isWhole(flags) || flags < 0 || flags >= mostFlags || Math.floor(flags / 64) % 4 === 3) return undefined
  if (!isWhole(items[at]) || typeof items[at + 1] !== "string" || !isWhole(items[at + 3]) || !isWhole(items[at + 4])) return undefined
  let end = at + 5
  if ((flags & isFaulty) !== 0) {
    if (!refusals.has(items[end]) || typeof items[end + 1] !== "string") return undefined
    end += 2
  }
  if ((flags & hasExpiry) !== 0 && !isWhole(items[end++])) return undefined
  if ((flags & hasTriggers) === 0) return end
  for (const trigger of [end, end + 3]) {
    if (!isWhole(items[trigger]) || !isWhole(items[trigger + 2]) || ![0, 1, 2].includes(items[trigger + 1] as number)) return undefined
  }
  return end + 6
}

const fitPlacement = (items: Items): boolean => {
  let at = 0
  while (items.length - at > 1) {
    const end = entryEnd(items, at)
    if (end === undefined) return false
    at = end
  }
  return at === items.length || at < items.length && isWhole(items[at])
}

const fitCancel = (items: Items): boolean =>
  items.length % 3 === 0 && items.every((item, index) => index % 3 === 2 ? typeof item === "string" : isWhole(item))

const fitPayload = ({ fields, kind }: Declaration, text: string): boolean => {
  let items: unknown
  try {
    items = JSON.parse(text)
  } catch {
    return false
  }
  if (!Array.isArray(items)) return false
  return kind === "PlaceOrders" ? fitPlacement(items) : kind === "CancelOrders" ? fitCancel(items) : fitFields(fields, items)
}

// ---- drills

const oddities: ReadonlyArray<unknown> = [null, 1.5, "x", "", 0, 1, 2, 3, 4, -1, 7, 250, 1_023, 1_024, 192, 2 ** 53, true, [], {}, [0], [
  []
]]

/** Changes one item somewhere in a payload, or takes one away, or adds one. */
const twisted = (items: Items, random: SimRandom): Items => {
  const index = random.below(items.length + 1)
  const item = items[index]
  if (Array.isArray(item) && item.length > 0 && random.chance(0.3)) return items.with(index, [...item, item.at(-1)])
  if (Array.isArray(item) && random.chance(0.7)) return items.with(index, twisted(item, random))
  const put = random.chance(0.7) ? [random.pick(oddities)] : random.chance(0.3) ? [item ?? 0, random.pick(oddities)] : []
  return [...items.slice(0, index), ...put, ...items.slice(index + 1)]
}

const characters = "[],\"\\-0123456789ex .{}\u007f"

/** Another text of a payload: other items, other characters, or spaces. */
const otherText = (text: string, random: SimRandom): string =>
  // Half of a character beyond the first plane cannot be written.
  Buffer.from(changedText(text, random)).toString()

const changedText = (text: string, random: SimRandom): string => {
  const at = random.below(text.length)
  switch (random.pick(["items", "items", "items", "older", "character", "space", "cut", "more"] as const)) {
    case "older":
      return JSON.stringify((JSON.parse(text) as Items).slice(0, -random.between(1, 2)))
    case "items":
      return JSON.stringify(twisted(JSON.parse(text) as Items, random))
    case "character":
      return text.slice(0, at) + characters[random.below(characters.length)]! + text.slice(at + 1)
    case "space":
      return `${text.slice(0, at)} ${text.slice(at)}`
    case "cut":
      return text.slice(0, at)
    case "more":
      return `${text}${characters[random.below(characters.length)]!}`
  }
}

/** The end of a decoding: the command, or that it is malformed. */
const decoded = (code: number, header: Header, text: string): unknown => {
  const bytes = Buffer.from(`[1]${text}]`)
  try {
    return CommandCodec.decodeAt(code, header, bytes, 3, bytes.length - 1)
  } catch (error) {
    if (error instanceof Malformed) return "malformed"
    throw error
  }
}

const commandsInOne = 14
const textsOfOne = 6

export const codec = (judge: Judge, yard: Yard): void => {
  const { random } = yard
  const byHand = all.filter(({ kind }) => kind === "PlaceOrders" || kind === "CancelOrders")
  const declarations = Array.from({ length: commandsInOne }, () => random.pick(random.chance(0.2) ? byHand : all))
  const records = declarations.map((declaration, index): Record => ({
    sequence: index + 1,
    atEpochMs: index,
    command: commandOf(declaration, random)
  }))
  const place = { segment: 1, offset: Block.sectorBytes }
  const given = { epoch: 1, synced: 0, previousDigest: Block.genesisDigest, outcomeDigest: Block.genesisDigest }
  const { bytes, digest } = layOut(place, records, given)
  judge.equal("a block with records of any kind", misread(bytes, place, Block.genesisDigest, records) ?? "as published", "as published")
  const read = Block.read(bytes, 0, Block.readHeader(bytes, 0)!, digest)
  for (const [index, record] of records.entries()) {
    const { command } = record
    judge.equal(`a record of the kind ${command.kind} as it is read`, sorted(read.records[index]!.command), sorted(command))
    const declaration = declarations[index]!
    const payload = CommandCodec.encode(command)
    for (let left = textsOfOne; left > 0; left--) {
      const text = otherText(payload, random)
      const came = decoded(declaration.code, command, text)
      const isFine = fitPayload(declaration, text)
      judge.equal(`whether the payload ${text} of ${command.kind} is malformed`, came === "malformed", !isFine)
      if (came === "malformed" || !isFine) continue
      // However its text is written, its items are what counts.
      const plain = decoded(declaration.code, command, JSON.stringify(JSON.parse(text)))
      judge.equal(`the payload ${text} of ${command.kind}`, sorted(came), sorted(plain))
    }
  }
}

/** A value with the members of all its parts in one order. */
const sorted = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]))
}
