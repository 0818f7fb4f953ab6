/**
 * The fields of commands and outcomes: how each is journaled, which unit it has, and what its value is to its owner.
 * Everything that handles commands without knowing them (codec, redaction, fingerprints of bodies, labels, the
 * arbitraries of tests) works from these declarations alone.
 */
import type { Unit } from "../domain/Unit.js"

/**
 * What a value is to whoever looks on:
 * - `plain`: nothing but itself, and no secret of anybody's.
 * - `as_sent`: a text of the client's own choosing; in a bundle for others it becomes a pseudonym.
 * - `secret`: the digest of a credential; it is never printed, and in a bundle for others it is replaced.
 * - `order`, `account`, `market`, `api_key`, `transfer`: the number of a thing that another table holds.
 */
export type Mark = "plain" | "as_sent" | "secret" | "order" | "account" | "market" | "api_key" | "transfer"

/** How a value is written in the journal. */
export type Shape =
  | { readonly type: "whole" }
  | { readonly type: "text" }
  | { readonly type: "flag" }
  | { readonly type: "code"; readonly codes: ReadonlyArray<number> }
  | { readonly type: "choice"; readonly names: ReadonlyArray<string> }
  | { readonly type: "record"; readonly fields: Fields }
  | { readonly type: "list"; readonly fields: Fields; readonly most: number; readonly owner: Owner }

/** Whose the texts of a list's entries are: the command's own account's, or those of the accounts that the entries open. */
export type Owner = "sender" | "opened_account"

export interface Field<A> {
  readonly shape: Shape
  /** Undefined for what counts nothing. */
  readonly unit: Unit | undefined
  readonly mark: Mark
  /** What it was before records had it: it stands behind all that they had. Undefined for what they always had. */
  readonly before?: A
  /**
   * Whether it is written, and part of the body, only where it is another than before: so a record that says nothing new is, to its
   * bytes, what it always was. Only the last field of a command may be left out.
   */
  readonly isLeftOut?: true
  /** Whether it says how the command came and is nothing that was sent: the same request is the same body whatever it is. */
  readonly isOfWay?: true
  /** Carries the type of the values and is never there. */
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

/** A safe integer that was added behind the fields of older records, and what it counts as where it is missing. */
export const added = (unit: Unit | undefined, before: number): Field<number> => ({ ...whole(unit), before })

/** A safe integer that was added likewise, as the last field, and is written only where it is another. */
export const addedWhereOther = (unit: Unit | undefined, before: number): Field<number> => ({ ...added(unit, before), isLeftOut: true })

/** Whether a value of a field is not written, and no part of a body. */
export const isLeftOut = (field: Field<unknown>, value: unknown): boolean => field.isLeftOut === true && Object.is(value, field.before)

/** A safe integer that was added likewise and says how the command came. */
export const addedOfWay = (unit: Unit | undefined, before: number): Field<number> => ({ ...added(unit, before), isOfWay: true })

/** The number of a thing in another table; negative numbers stand for none, as the field's owner says. */
export const numberOf = (mark: "order" | "account" | "market" | "api_key" | "transfer"): Field<number> =>
  field({ type: "whole" }, undefined, mark)

export const text = (mark: "plain" | "as_sent" | "secret" | "api_key"): Field<string> => field({ type: "text" }, undefined, mark)

export const flag: Field<boolean> = field({ type: "flag" }, undefined, "plain")

/** A flag that was added behind the fields of older records, clear where it is missing, and says how the command came. */
export const addedFlag: Field<boolean> = { ...flag, before: false, isOfWay: true }

/** A code of an enumeration whose codes are journaled. */
export const code = <const A extends number>(codes: ReadonlyArray<A>): Field<A> => field({ type: "code", codes }, undefined, "plain")

/** A text that was added likewise. */
export const addedText = (mark: "plain" | "as_sent" | "secret" | "api_key", before: string): Field<string> => ({ ...text(mark), before })

/** A name of a list, journaled as its place in the list: names may be added at the end and never move. */
export const choice = <const A extends string>(names: ReadonlyArray<A>): Field<A> => field({ type: "choice", names }, undefined, "plain")

export const record = <F extends Fields>(fields: F): Field<Values<F>> => field({ type: "record", fields }, undefined, "plain")

/** At most `most` records of the same fields. */
export const list = <F extends Fields>(fields: F, most: number, owner: Owner): Field<ReadonlyArray<Values<F>>> =>
  field({ type: "list", fields, most, owner }, undefined, "plain")
