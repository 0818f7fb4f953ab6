/**
 * What a command came to. It is all that a reply is made from, at once and when the same request comes again: the reply
 * of a placement is built from the request and this, never from later state.
 *
 * An entry's outcome is one of the tagged types that the operations declare, or `Refused`. Each can be packed into a
 * word of codes and at most six numbers: so they are kept in the table of keys, and so the journal digests them.
 */
import { assert } from "../domain/Assert.js"
import { Refusal } from "../domain/Refusal.js"
import type { Fields, Values } from "./Field.js"

/** Numbers that a packed outcome has at most. */
export const packedNumbers = 6

/** An outcome as numbers: `outcome code | refusal << 8 | first code << 16 | second code << 24`, then the numbers. */
export class Packed {
  codes = 0
  readonly numbers = new Float64Array(packedNumbers)
}

export interface OutcomeDeclaration<T extends string = string, F extends Fields = Fields> {
  readonly tag: T
  /** Journaled within digests: never renumber. `Refused` is 1. */
  readonly code: number
  readonly fields: F
  pack(outcome: OutcomeOf<T, F>, into: Packed): void
  unpack(from: Packed): OutcomeOf<T, F>
}

export type AnyOutcome = OutcomeDeclaration

export type OutcomeOf<T extends string, F extends Fields> = { readonly _tag: T } & Values<F>

/** Declares an outcome. Its codes (two at most) and its numbers (six at most) are packed in the order of its fields. */
export const declare = <const T extends string, F extends Fields>(
  tag: T,
  code: number,
  fields: F,
  tuned?: Pick<OutcomeDeclaration<T, F>, "pack" | "unpack">
): OutcomeDeclaration<T, F> => {
  const codes = Object.keys(fields).filter((name) => fields[name]!.shape.type === "code")
  const numbers = Object.keys(fields).filter((name) => fields[name]!.shape.type === "whole")
  assert(codes.length + numbers.length === Object.keys(fields).length, "an outcome has codes and numbers only")
  assert(codes.length <= 2 && numbers.length <= packedNumbers, "an outcome fits a packed row")
  const pack = (outcome: OutcomeOf<T, F>, into: Packed): void => {
    const values = outcome as unknown as Readonly<Record<string, number>>
    into.codes = code
    codes.forEach((name, index) => {
      into.codes |= values[name]! << (16 + 8 * index)
    })
    into.numbers.fill(0)
    numbers.forEach((name, index) => {
      into.numbers[index] = values[name]!
    })
  }
  const unpack = (from: Packed): OutcomeOf<T, F> => {
    const values: Record<string, unknown> = { _tag: tag }
    codes.forEach((name, index) => {
      values[name] = (from.codes >>> (16 + 8 * index)) & 0xff
    })
    numbers.forEach((name, index) => {
      values[name] = from.numbers[index]
    })
    return values as OutcomeOf<T, F>
  }
  return { tag, code, fields, pack, unpack, ...tuned }
}

/** An entry that was refused. */
export interface Refused {
  readonly _tag: "Refused"
  readonly refusal: Exclude<Refusal, 0>
  /** The number that the attempt's order would have had, or the order that was meant; -1 where there is none. */
  readonly orderNumber: number
  /** For a refusal that compares: the bound, in the unit that its description names, as the next two; NaN where it does not apply. */
  readonly limit: number
  /** For a refusal that compares: what the request would have come to. */
  readonly actual: number
  /** The nearest value that would have passed. */
  readonly nearest: number
}

/** The code of `Refused`. */
export const refusedCode = 1

export const packRefused = (refused: Refused, into: Packed): void => {
  into.codes = refusedCode | (refused.refusal << 8)
  into.numbers.fill(0)
  into.numbers[0] = refused.orderNumber
  into.numbers[1] = refused.limit
  into.numbers[2] = refused.actual
  into.numbers[3] = refused.nearest
}

export const unpackRefused = (from: Packed): Refused => {
  const refusal = (from.codes >>> 8) & 0xff
  assert(refusal !== Refusal.none, "a refused entry has a refusal")
  return {
    _tag: "Refused",
    refusal: refusal as Exclude<Refusal, 0>,
    orderNumber: from.numbers[0]!,
    limit: from.numbers[1]!,
    actual: from.numbers[2]!,
    nearest: from.numbers[3]!
  }
}

const nothing = Number.NaN

/** A refused entry, with the id its attempt got. */
export const refused = (
  refusal: Exclude<Refusal, 0>,
  orderNumber: number,
  limit: number = nothing,
  actual: number = nothing,
  nearest: number = nothing
): Refused => ({ _tag: "Refused", refusal, orderNumber, limit, actual, nearest })

/** Done, and there is nothing to tell of it. */
export const Done = declare("Done", 3, {})
export type Done = OutcomeOf<"Done", typeof Done.fields>

export const done: Done = { _tag: "Done" }
