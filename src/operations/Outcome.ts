/**
 * The outcome of a command. A reply is made from it and the request alone, both at once and for a repetition, never from later
 * state.
 *
 * An entry's outcome is one of the tagged types that the operations declare, or `Refused`. Each packs into one word of codes and at
 * most six numbers, which the key table stores and the journal digests.
 */
import { assert } from "../domain/Assert.js"
import { Refusal } from "../domain/Refusal.js"
import type { Fields, Values } from "./Field.js"

/** Most numbers of a packed outcome. */
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
  /** The number that the order would have had, or that of the order addressed; -1 where there is none. */
  readonly orderNumber: number
  /** For a refusal by comparison: the limit, in the unit that its description names, like the next two; NaN where there is none. */
  readonly limit: number
  /** For a refusal by comparison: the value that the request would have led to. */
  readonly actual: number
  /** The nearest acceptable value. */
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

/** A refused entry with the order id of the attempt. */
export const refused = (
  refusal: Exclude<Refusal, 0>,
  orderNumber: number,
  limit: number = nothing,
  actual: number = nothing,
  nearest: number = nothing
): Refused => ({ _tag: "Refused", refusal, orderNumber, limit, actual, nearest })

/** Done, with nothing further to report. */
export const Done = declare("Done", 3, {})
export type Done = OutcomeOf<"Done", typeof Done.fields>

export const done: Done = { _tag: "Done" }
