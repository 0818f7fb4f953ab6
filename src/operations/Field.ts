/**
 * The fields of commands and outcomes: their journal format, their unit, and how confidential their values are. Everything that
 * handles commands generically (codec, redaction, fingerprints of bodies, labels, generators of tests) works from these
 * declarations alone.
 */
import type { Unit } from "../domain/Unit.js"

/**
 * How a value appears to others:
 *
 * - `plain`: as it is; it is no secret.
 * - `as_sent`: a text chosen by the client; replaced by a pseudonym in a bundle for others.
 * - `secret`: the digest of a credential; never printed, and replaced in a bundle for others.
 * - `order`, `account`, `market`, `api_key`, `transfer`: the number of an item in another table.
 */
export type Mark = "plain" | "as_sent" | "secret" | "order" | "account" | "market" | "api_key" | "transfer"

/** The journal format of a value. */
export type Shape =
  | { readonly type: "whole" }
  | { readonly type: "text" }
  | { readonly type: "flag" }
  | { readonly type: "code"; readonly codes: ReadonlyArray<number> }
  | { readonly type: "choice"; readonly names: ReadonlyArray<string> }
  | { readonly type: "record"; readonly fields: Fields }
  | { readonly type: "list"; readonly fields: Fields; readonly most: number; readonly owner: Owner }

/** The owner of the texts in a list's entries: the command's own account, or the accounts that the entries open. */
export type Owner = "sender" | "opened_account"

export interface Field<A> {
  readonly shape: Shape
  /** Undefined where the value is not a quantity. */
  readonly unit: Unit | undefined
  readonly mark: Mark
  /** The value in records older than the field, which is then the last one. Undefined for original fields. */
  readonly before?: A
  /**
   * Whether the field is written, and part of the body, only where it differs from `before`, so that records without a new value
   * keep their former bytes. Only the last field of a command may be left out.
   */
  readonly isLeftOut?: true
  /** Whether it says how the command arrived rather than what was sent: it does not affect the body's fingerprint. */
  readonly isOfWay?: true
  /** Carries the type of the values at compile time only. */
  readonly value?: A
}

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values of declared fields. */
export type Values<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer A> ? A : never
}

const field = <A>(shape: Shape, unit: Unit | undefined, mark: Mark): Field<A> => ({ shape, unit, mark })

/** A safe integer of either sign. */
export const whole = (unit: Unit | undefined): Field<number> => field({ type: "whole" }, unit, "plain")

/** A safe integer that was added after the fields of older records, with its value where it is missing. */
export const added = (unit: Unit | undefined, before: number): Field<number> => ({ ...whole(unit), before })

/** A safe integer added likewise as the last field, and written only where it differs. */
export const addedWhereOther = (unit: Unit | undefined, before: number): Field<number> => ({ ...added(unit, before), isLeftOut: true })

/** Whether a value is omitted from the journal and the body. */
export const isLeftOut = (field: Field<unknown>, value: unknown): boolean => field.isLeftOut === true && Object.is(value, field.before)

/** A safe integer added likewise, which says how the command arrived. */
export const addedOfWay = (unit: Unit | undefined, before: number): Field<number> => ({ ...added(unit, before), isOfWay: true })

/** The number of an item in another table; what negative numbers mean is up to the field. */
export const numberOf = (mark: "order" | "account" | "market" | "api_key" | "transfer"): Field<number> =>
  field({ type: "whole" }, undefined, mark)

export const text = (mark: "plain" | "as_sent" | "secret" | "api_key"): Field<string> => field({ type: "text" }, undefined, mark)

export const flag: Field<boolean> = field({ type: "flag" }, undefined, "plain")

/** A flag that was added after the fields of older records, false where it is missing, which says how the command arrived. */
export const addedFlag: Field<boolean> = { ...flag, before: false, isOfWay: true }

/** A code of an enumeration whose codes are journaled. */
export const code = <const A extends number>(codes: ReadonlyArray<A>): Field<A> => field({ type: "code", codes }, undefined, "plain")

/** A text added likewise. */
export const addedText = (mark: "plain" | "as_sent" | "secret" | "api_key", before: string): Field<string> => ({ ...text(mark), before })

/** A name from a list, journaled as its index: names may be appended and never move. */
export const choice = <const A extends string>(names: ReadonlyArray<A>): Field<A> => field({ type: "choice", names }, undefined, "plain")

export const record = <F extends Fields>(fields: F): Field<Values<F>> => field({ type: "record", fields }, undefined, "plain")

/** At most `most` records of the same fields. */
export const list = <F extends Fields>(fields: F, most: number, owner: Owner): Field<ReadonlyArray<Values<F>>> =>
  field({ type: "list", fields, most, owner }, undefined, "plain")
