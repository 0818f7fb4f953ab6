/**
 * Protobuf messages described by tables of fields, and decoded strictly. Unknown fields, repeated singular fields, unexpected wire types
 * and invalid UTF-8 are refused rather than skipped, since a signature would cover bytes that nobody has understood. The wire format itself
 * is `@bufbuild/protobuf`'s.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { assert } from "../../domain/Assert.js"

/** Why bytes are not the expected message. */
export class Malformed {
  readonly _tag = "Malformed"
  constructor(readonly reason: string) {}
}

/** How a value is read and written after its tag. */
export interface Kind<A> {
  readonly wireType: WireType
  /** Throws where the bytes are not such a value; `decode` turns that into `Malformed`. */
  read(reader: BinaryReader, depth: number): A
  write(writer: BinaryWriter, value: A): void
  /** Whether a field without presence omits this value. */
  isDefault(value: A): boolean
}

/** A member of a message: a single field, or a group of alternative fields. */
interface Member<A> {
  readonly kinds: ReadonlyMap<number, Kind<unknown>>
  /** The member's state before anything has been read. */
  readonly empty: () => A
  /** The member's state after another value has been read. Throws where that value is not allowed. */
  take(before: A, number: number, value: unknown): A
  /** The member's final value. Throws where the member is required and missing. */
  settle(value: A): A
  write(writer: BinaryWriter, value: A): void
}

type Members = Readonly<Record<string, Member<unknown>>>
/** The type of the messages that a table of members reads. */
export type Of<M> = { readonly [K in keyof M]: M[K] extends Member<infer A> ? A : never }

/** Greatest depth of nested messages: more than any value of a template that the venue knows. */
const maxDepth = 48

const fail = (reason: string): never => {
  throw new Error(reason)
}

const scalar = <A>(
  wireType: WireType,
  read: (reader: BinaryReader) => A,
  write: (writer: BinaryWriter, value: A) => unknown,
  isDefault: (value: A) => boolean
): Kind<A> => ({ wireType, read, write: (writer, value) => void write(writer, value), isDefault })

export const text = scalar<string>(WireType.LengthDelimited, (reader) => reader.string(true), (writer, value) => writer.string(value),
  (value) => value === "")
export const bytes = scalar<Uint8Array>(
  WireType.LengthDelimited,
  // The caller may reuse its buffer later.
  (reader) => Uint8Array.from(reader.bytes()),
  (writer, value) => writer.bytes(value),
  (value) => value.length === 0
)
export const bool = scalar<boolean>(WireType.Varint, (reader) => reader.bool(), (writer, value) => writer.bool(value), (value) => !value)
export const int32 = scalar<number>(WireType.Varint, (reader) => reader.int32(), (writer, value) => writer.int32(value),
  (value) => value === 0)
export const uint32 = scalar<number>(WireType.Varint, (reader) => reader.uint32(), (writer, value) => writer.uint32(value),
  (value) => value === 0)
export const uint64 = scalar<bigint>(
  WireType.Varint,
  (reader) => BigInt(reader.uint64()),
  (writer, value) => writer.uint64(value),
  (value) => value === 0n
)
export const sint64 = scalar<bigint>(
  WireType.Varint,
  (reader) => BigInt(reader.sint64()),
  (writer, value) => writer.sint64(value),
  (value) => value === 0n
)
export const sfixed64 = scalar<bigint>(
  WireType.Bit64,
  (reader) => BigInt(reader.sfixed64()),
  (writer, value) => writer.sfixed64(value),
  (value) => value === 0n
)

const put = <A>(writer: BinaryWriter, number: number, kind: Kind<A>, value: A): void => {
  writer.tag(number, kind.wireType)
  kind.write(writer, value)
}

const absent = Symbol("absent")
const once = (before: unknown, number: number): void => {
  if (before !== absent) fail(`field ${number} comes twice`)
}

/** A field without presence: its default is not written, and is assumed where the field is absent. */
export const plain = <A>(number: number, kind: Kind<A>, byDefault: A): Member<A> => {
  const held: Member<A | typeof absent> = {
    kinds: new Map([[number, kind]]),
    empty: () => absent,
    take: (before, at, value) => {
      once(before, at)
      return value as A
    },
    settle: (value) => value === absent ? byDefault : value,
    write: (writer, value) => {
      if (value !== absent && !kind.isDefault(value)) put(writer, number, kind, value)
    }
  }
  return held as Member<A>
}

/** A field that may be absent. */
export const optional = <A>(number: number, kind: Kind<A>): Member<A | undefined> => ({
  kinds: new Map([[number, kind]]),
  empty: () => undefined,
  take: (before, at, value) => before === undefined ? value as A : fail(`field ${at} comes twice`),
  settle: (value) => value,
  write: (writer, value) => {
    if (value !== undefined) put(writer, number, kind, value)
  }
})

/** A message that must be present. */
export const required = <A>(number: number, kind: Kind<A>): Member<A> => {
  const member = optional(number, kind)
  return { ...member, settle: (value: A | undefined) => value === undefined ? fail(`field ${number} is missing`) : value } as Member<A>
}

export const repeated = <A>(number: number, kind: Kind<A>): Member<ReadonlyArray<A>> => ({
  kinds: new Map([[number, kind]]),
  empty: () => [],
  take: (before, _, value) => {
    // The array belongs to this decoding alone until it is settled.
    const values = before as Array<A>
    values.push(value as A)
    return values
  },
  settle: (values) => values,
  write: (writer, values) => {
    for (const value of values) put(writer, number, kind, value)
  }
})

/** One of several alternatives, identified by its name. */
export type Case<C> = { readonly [K in keyof C]: { readonly case: K; readonly value: C[K] } }[keyof C]

/** Fields of which exactly one is set. */
const oneOf = <C>(cases: { readonly [K in keyof C]: readonly [number: number, kind: Kind<C[K]>] }): Member<Case<C>> => {
  const entries = Object.entries(cases) as Array<[keyof C, readonly [number, Kind<unknown>]]>
  const names = new Map(entries.map(([name, [number]]) => [number, name]))
  const member: Member<Case<C> | undefined> = {
    kinds: new Map(entries.map(([, [number, kind]]) => [number, kind])),
    empty: () => undefined,
    take: (before, number, value) =>
      before === undefined ? { case: names.get(number)!, value } as Case<C> : fail(`field ${number} is set beside another`),
    settle: (value) => value ?? fail("none of the alternatives is set"),
    write: (writer, value) => {
      assert(value !== undefined, "one of the alternatives is set")
      const [number, kind] = cases[value.case]
      put(writer, number, kind, value.value)
    }
  }
  return member as Member<Case<C>>
}

/** A message with these members, which are written in the order of their field numbers. */
export const message = <M extends Members>(name: string, members: M): Kind<Of<M>> => {
  const entries = Object.entries(members)
  const owners = new Map(
    entries.flatMap(([key, member]) => [...member.kinds].map(([number, kind]) => [number, { key, member, kind }] as const))
  )
  const firstNumber = ([, member]: readonly [string, Member<unknown>]): number => Math.min(...member.kinds.keys())
  const inOrder = entries.toSorted((a, b) => firstNumber(a) - firstNumber(b))

  const readAll = (reader: BinaryReader, depth: number): Of<M> => {
    if (depth > maxDepth) fail(`messages are nested deeper than ${maxDepth}`)
    const values = new Map<string, unknown>(entries.map(([key, member]) => [key, member.empty()]))
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag()
      const owner = owners.get(number)
      if (owner === undefined) return fail(`${name} has an unknown field ${number}`)
      if (wireType !== owner.kind.wireType) fail(`field ${number} of ${name} has wire type ${wireType}`)
      values.set(owner.key, owner.member.take(values.get(owner.key), number, owner.kind.read(reader, depth + 1)))
    }
    return Object.fromEntries(entries.map(([key, member]) => [key, member.settle(values.get(key))])) as Of<M>
  }

  return {
    wireType: WireType.LengthDelimited,
    read: (reader, depth) => readAll(new BinaryReader(reader.bytes()), depth),
    write: (writer, value) => {
      writer.fork()
      for (const [key, member] of inOrder) member.write(writer, value[key])
      writer.join()
    },
    isDefault: () => false
  }
}

/** A message that consists of exactly one of several alternatives, which is its value. */
export const alternatives = <C>(
  name: string,
  cases: { readonly [K in keyof C]: readonly [number: number, kind: Kind<C[K]>] }
): Kind<Case<C>> => {
  const kind = message(name, { sum: oneOf<C>(cases) })
  return {
    ...kind,
    read: (reader, depth) => kind.read(reader, depth).sum,
    write: (writer, value) => kind.write(writer, { sum: value }),
    isDefault: () => false
  }
}

/** A kind that is defined later, for recursive messages. */
export const later = <A>(kind: () => Kind<A>): Kind<A> => ({
  wireType: WireType.LengthDelimited,
  read: (reader, depth) => kind().read(reader, depth),
  write: (writer, value) => kind().write(writer, value),
  isDefault: () => false
})

/** The message encoded by all of these bytes. */
export const decode = <A>(kind: Kind<A>, encoded: Uint8Array): A | Malformed => {
  try {
    // A top-level message has no length prefix, whereas the kind reads one: it is added here.
    const framed = new BinaryWriter().bytes(encoded).finish()
    return kind.read(new BinaryReader(framed), 0)
  } catch (error) {
    return new Malformed(error instanceof Error ? error.message : String(error))
  }
}

/** The bytes of a message. */
export const encode = <A>(kind: Kind<A>, value: A): Uint8Array => {
  const writer = new BinaryWriter()
  kind.write(writer, value)
  return new BinaryReader(writer.finish()).bytes()
}
