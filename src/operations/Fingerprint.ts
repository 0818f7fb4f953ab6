/**
 * The fingerprint of a request's body: 128 bits over what was sent, in canonical form. It is computed at the edge from the texts
 * and numbers that the client chose, not from what they resolve to, so that the same request stays the same body even if a market
 * was created or renamed in between.
 */
import { Digest128 } from "../domain/Digest128.js"
import { type Field, type Fields, isLeftOut } from "./Field.js"

/** Four words of 32 bits. */
export interface Fingerprint {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
}

/** The fingerprint of commands without a key. */
export const noFingerprint: Fingerprint = { a: 0, b: 0, c: 0, d: 0 }

// Each part begins with its type, so that different sequences of parts never have the same encoding.
const tag = { absent: 1, no: 2, yes: 3, number: 4, text: 5, decimal: 6, list: 7, choice: 8 } as const

/** Takes the parts of a body in a fixed order. Only one body at a time, since the digest is shared. */
export class Canonical {
  private readonly digest = new Digest128()

  begin(): this {
    this.digest.reset(0)
    return this
  }

  absent(): void {
    this.digest.word(tag.absent)
  }

  flag(value: boolean): void {
    this.digest.word(value ? tag.yes : tag.no)
  }

  /** A safe integer. */
  whole(value: number): void {
    this.digest.word(tag.number)
    this.digest.number(value)
  }

  /** A name from a list, by its index. */
  choice(place: number): void {
    this.digest.word(tag.choice | (place << 8))
  }

  text(value: string): void {
    this.digest.word(tag.text)
    this.digest.text(value)
  }

  /** A decimal of plain digits by its value: trailing zeros of the fraction do not count. */
  decimal(value: string): void {
    this.digest.word(tag.decimal)
    this.digest.text(value, plainLength(value))
  }

  /** The number of parts that follow. */
  list(length: number): void {
    this.digest.word(tag.list)
    this.digest.word(length)
  }

  end(): Fingerprint {
    const { digest } = this
    digest.finish()
    return { a: digest.a, b: digest.b, c: digest.c, d: digest.d }
  }
}

/** The length of a decimal without trailing zeros of its fraction. */
const plainLength = (value: string): number => {
  if (!value.includes(".")) return value.length
  let end = value.length
  while (value.charCodeAt(end - 1) === 0x30) end--
  return value.charCodeAt(end - 1) === 0x2e ? end - 1 : end
}

/** A decimal without trailing zeros of its fraction. */
export const plainDecimal = (value: string): string => value.slice(0, plainLength(value))

const canonical = new Canonical()

/**
 * The fingerprint of a command's own fields, for commands whose fields are what was sent, or that the venue makes itself. Every
 * declared field counts, except those that say how the command arrived.
 */
export const ofFields = (fields: Fields, values: Readonly<Record<string, unknown>>): Fingerprint => {
  canonical.begin()
  feed(canonical, fields, values)
  return canonical.end()
}

const feed = (into: Canonical, fields: Fields, values: Readonly<Record<string, unknown>>): void => {
  for (const [name, field] of Object.entries(fields)) {
    if (field.isOfWay !== true && !isLeftOut(field, values[name])) feedValue(into, field, values[name])
  }
}

const feedValue = (into: Canonical, { shape }: Field<unknown>, value: unknown): void => {
  switch (shape.type) {
    case "whole":
    case "code":
      return into.whole(value as number)
    case "text":
    case "choice":
      return into.text(value as string)
    case "flag":
      return into.flag(value as boolean)
    case "record":
      return feed(into, shape.fields, value as Readonly<Record<string, unknown>>)
    case "list": {
      const entries = value as ReadonlyArray<Readonly<Record<string, unknown>>>
      into.list(entries.length)
      for (const entry of entries) feed(into, shape.fields, entry)
    }
  }
}
