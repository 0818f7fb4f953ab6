/**
 * Arbitrary commands of every kind and outcomes of every tag, generated from their declarations: valid values, most of them not sensible. A
 * new operation is included at once.
 */
import { none } from "../../src/domain/None.js"
import * as fc from "fast-check"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Field, Fields } from "../../src/operations/Field.js"
import { type ClientPrincipal, type Header, internal, Principal } from "../../src/operations/Header.js"
import type { Declaration } from "../../src/operations/Operation.js"
import {
  all,
  allOutcomes,
  type Command,
  type CommandOfKind,
  declarations,
  type EntryOutcome,
  type Kind
} from "../../src/operations/Operations.js"
import type { AnyOutcome } from "../../src/operations/Outcome.js"

/** Plain objects, as a decoder makes them. */
const record = <A>(model: { [K in keyof A]: fc.Arbitrary<A[K]> }): fc.Arbitrary<A> => fc.record<A>(model, { noNullPrototype: true })

/** Any safe integer; a command cannot hold -0. */
const whole = fc.oneof(fc.integer({ min: -2, max: 100 }), fc.maxSafeInteger())

/** Text of any kind: none, plain, quoted, with control characters, astral, and with lone surrogates. */
const text = fc.oneof(
  fc.constant(""),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units))
)

const ofField = ({ shape }: Field<unknown>): fc.Arbitrary<unknown> => {
  switch (shape.type) {
    case "whole":
      return whole
    case "text":
      return text
    case "flag":
      return fc.boolean()
    case "code":
      return fc.oneof(fc.constant(shape.codes[0]!), fc.constantFrom(...shape.codes))
    case "choice":
      return fc.constantFrom(...shape.names)
    case "record":
      return ofFields(shape.fields)
    case "list":
      return fc.array(ofFields(shape.fields), { maxLength: shape.most })
  }
}

/** Values of declared fields. */
export const ofFields = (fields: Fields): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  record(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, ofField(field)])))

const word = fc.integer()
const fingerprint = record({ a: word, b: word, c: word, d: word })

/** The characters of an Idempotency-Key: visible ASCII. */
const idempotencyKey = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 255,
  size: "medium"
})

const engineNumber = fc.integer({ min: 0, max: 0x7fff_ffff })

const isClient = (principal: Principal): boolean => principal === Principal.key || principal === Principal.session

/** A header with which a principal may send the command. */
const headerBy = (declaration: Declaration, principal: Principal): fc.Arbitrary<Header> => {
  const codes = Object.values(declaration.requests).map(({ code }) => code)
  if (codes.length === 0 || principal === Principal.feed) {
    return fc.constant(internal(principal as Exclude<Principal, ClientPrincipal>))
  }
  return record<Header>({
    principal: fc.constant(principal),
    account: isClient(principal) ? engineNumber : fc.constant(none),
    credential: principal === Principal.key ? engineNumber : fc.constant(none),
    operation: fc.constantFrom(...codes),
    idempotencyKey,
    fingerprint
  })
}

/** Any command of a declaration. */
const ofDeclaration = (declaration: Declaration): fc.Arbitrary<Command> =>
  fc.tuple(
    fc.oneof(...declaration.principals.map((principal) => headerBy(declaration, principal))),
    ofFields(declaration.fields)
  ).map(([header, values]) => ({ kind: declaration.kind, ...header, ...values }) as unknown as Command)

/** Any command of a kind. */
export const commandOf = <K extends Kind>(kind: K): fc.Arbitrary<CommandOfKind<K>> =>
  ofDeclaration(declarations[kind] as unknown as Declaration) as unknown as fc.Arbitrary<CommandOfKind<K>>

/** Any command. */
export const command: fc.Arbitrary<Command> = fc.oneof(...all.map(ofDeclaration))

/** Any outcome of a declaration. */
export const outcomeOf = (declared: AnyOutcome): fc.Arbitrary<EntryOutcome> =>
  ofFields(declared.fields).map((values) => ({ _tag: declared.tag, ...values }) as unknown as EntryOutcome)

const compared = fc.oneof(fc.constant(Number.NaN), whole)

const refused: fc.Arbitrary<EntryOutcome> = record({
  _tag: fc.constant("Refused" as const),
  refusal: fc.constantFrom(...Object.values(Refusal).filter((refusal): refusal is Exclude<Refusal, 0> => refusal !== Refusal.none)),
  orderNumber: whole,
  limit: compared,
  actual: compared,
  nearest: compared
})

/** Any outcome of an entry. */
export const outcome: fc.Arbitrary<EntryOutcome> = fc.oneof(refused, ...allOutcomes.map(outcomeOf))

/** The fields of a record's header. */
export const headerOf = ({ account, credential, fingerprint, idempotencyKey, operation, principal }: Header): Header => ({
  principal,
  account,
  credential,
  operation,
  idempotencyKey,
  fingerprint
})
