/**
 * Incident bundles: one file that holds everything needed to run a range of a journal again elsewhere, and to check that the result is the
 * same. This file defines the format; it is pure over bytes.
 *
 * write(contents: Contents): Buffer                           throws `AssertionFailed` for invalid contents
 * read(bytes: Uint8Array): Bundle                             throws `Damaged` or `OtherVersion`
 * blocksOf(bytes: Uint8Array): ReadonlyArray<Sealed>          consecutive journaled blocks; throws `Damaged`
 *
 * Blocks without `Contents` are turned into some by `Collect.describe`, which runs them: a bundle of a failing run is
 * `Bundle.write(Collect.describe({ base: undefined, blocks, capacity, asked, notes }))`.
 *
 * Layout: the line `perpetuum incident bundle 2`; one line of JSON, the manifest; the body, which is gzip of the concatenated sections; and
 * SHA-256 over all bytes before it. The manifest lists the sections with their lengths: those of the initial state, as in a snapshot, with
 * names that begin with `state/`; then `blocks`, the journal's blocks as they were written. For comparison, each block carries the digest
 * of its decisions, and the manifest those of the first and the last state.
 */
import * as crypto from "node:crypto"
import * as zlib from "node:zlib"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import type { Capacity } from "../../engine/State.js"
import * as Block from "../../journal/Block.js"
import type { Section, Snapshot } from "../../journal/SnapshotStore.js"
import { versions } from "../../sequencer/Versions.js"
import { inLine } from "../Visible.js"
import { Bounds, TableSize, Whole } from "./Bounds.js"

/** Another version of the program made the bundle, with other rules or another format: the bundle itself is intact. */
export class OtherVersion extends Error {
  override readonly name = "OtherVersion"
  constructor(made: string) {
    super(`it was made ${made}: that version replays it`)
  }
}

/** The bytes are not a bundle, or not as it was written. */
export class Damaged extends Error {
  override readonly name = "Damaged"
}

const Digest = Schema.String.pipe(Schema.pattern(Ids.sha256Pattern))
const Positive = Schema.Int.pipe(Schema.positive())

/** The file's description of itself. Digests are lowercase hex; sequences are inclusive. */
export const Manifest = Schema.Struct({
  /** Versions of the program and of Node that made the bundle. */
  program: Schema.String,
  node: Schema.String,
  environment: Schema.String,
  /** The versions of the rules that ran the blocks when the bundle was made, and of the blocks' format. */
  rules: Whole,
  codec: Whole,
  /** The venue's settings that influence decisions, by the names of their variables. */
  settings: Schema.Struct({ ORDER_CAPACITY: TableSize, IDEMPOTENCY_CAPACITY: TableSize }),
  /** Bounds that also influence decisions and are not a venue's own, such as a simulation's, by their names in `Capacity`. */
  bounds: Schema.optionalWith(Bounds, { exact: true }),
  /** The requested range. The blocks are complete, and begin where the initial state ends. */
  asked: Schema.Struct({ from: Positive, to: Positive }),
  firstSequence: Positive,
  lastSequence: Positive,
  blocks: Positive,
  /** Digest of the block before the first. */
  previousDigest: Digest,
  /** Digest of the last block. */
  headDigest: Digest,
  /** The initial state; null: that of a new journal. */
  base: Schema.NullOr(Schema.Struct({ sequence: Positive, schema: Positive, sectionsDigest: Digest })),
  /** The final state; null where none could be reached when the bundle was made. */
  finalStateDigest: Schema.NullOr(Digest),
  /** The first sequence of the block whose decisions differed when the bundle was made; null: none did. */
  divergedAt: Schema.NullOr(Positive),
  /** The account for which everything that belongs to others is pseudonymized; null: nothing is. */
  redactedFor: Schema.NullOr(Schema.String),
  /** Further information, by name. */
  notes: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** Names of the sections and their lengths in bytes, in order. */
  sections: Schema.Array(Schema.Tuple(Schema.String, Whole)),
  /** The compressed body's length, in bytes. */
  bodyBytes: Positive
})
export type Manifest = typeof Manifest.Type

/** A block as it was written: sealed by `Block.place`. */
export interface Sealed {
  readonly bytes: Buffer
  readonly header: Block.Header
  readonly digest: Buffer
}

/** The contents of a bundle. */
export interface Contents {
  readonly program: string
  readonly node: string
  readonly environment: string
  readonly rules: number
  readonly capacity: Capacity
  readonly asked: { readonly from: number; readonly to: number }
  /** The initial state, after the block before the first; undefined where the first is block 1. */
  readonly base: Snapshot | undefined
  /** At least one, chained, each as `Block.place` sealed it. */
  readonly blocks: ReadonlyArray<Uint8Array>
  /** SHA-256 of the final state's canonical form, lowercase hex. */
  readonly finalStateDigest: string | undefined
  readonly divergedAt: number | undefined
  readonly redactedFor: string | undefined
  readonly notes: Readonly<Record<string, string>>
}

/** A bundle that was read, and whose digests and chain are correct. */
export interface Bundle {
  readonly manifest: Manifest
  readonly capacity: Capacity
  readonly base: Snapshot | undefined
  readonly blocks: ReadonlyArray<Sealed>
}

const firstLine = "perpetuum incident bundle 2\n"
const anyFirstLine = /^perpetuum incident bundle ([0-9]+)/
const statePrefix = "state/"
const blocksName = "blocks"

/** Most uncompressed bytes of a bundle. */
export const maxBytes = 1 << 30
/** Most bytes of a manifest. */
const maxManifestBytes = 1 << 20

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** SHA-256 over sections as they are stored, lowercase hex. */
const sectionsDigest = (sections: ReadonlyArray<Section>): string => {
  const hash = crypto.createHash("sha256")
  for (const section of sections) hash.update(section.name).update(section.bytes)
  return hash.digest("hex")
}

/** The bounds in a capacity other than its table sizes, if any. The hash key and the counting of branches influence no decision. */
const boundsOf = ({ hashKey: _, idempotencyKeys: __, orders: ___, reached: ____, ...bounds }: Capacity): Pick<Manifest, "bounds"> =>
  Object.keys(bounds).length === 0 ? {} : { bounds: Schema.decodeUnknownSync(Bounds)(bounds) }

/** The file. The same contents yield the same bytes with the same version of zlib. */
export const write = (contents: Contents): Buffer => {
  const { base } = contents
  const blocks = contents.blocks.map(asBuffer)
  const sections: ReadonlyArray<Section> = [
    ...(base === undefined ? [] : base.sections.map(({ bytes, name }) => ({ name: statePrefix + name, bytes }))),
    { name: blocksName, bytes: Buffer.concat(blocks) }
  ]
  const sealed = chain(asBuffer(sections.at(-1)!.bytes))
  assert(typeof sealed !== "string", `blocks of a bundle are sealed and chained: ${String(sealed)}`)
  const [first, last] = [sealed[0]!, sealed.at(-1)!]
  assert(first.header.firstSequence === (base?.sequence ?? 0) + 1, "the first block is the one behind the state")
  const body = zlib.gzipSync(Buffer.concat(sections.map(({ bytes }) => bytes)))
  const manifest: Manifest = {
    program: contents.program,
    node: contents.node,
    environment: contents.environment,
    rules: contents.rules,
    codec: Block.codecVersion,
    settings: { ORDER_CAPACITY: contents.capacity.orders, IDEMPOTENCY_CAPACITY: contents.capacity.idempotencyKeys },
    ...boundsOf(contents.capacity),
    asked: { from: contents.asked.from, to: contents.asked.to },
    firstSequence: first.header.firstSequence,
    lastSequence: last.header.lastSequence,
    blocks: sealed.length,
    previousDigest: hex(Block.previousDigestAtHeader(first.bytes, 0)),
    headDigest: hex(last.digest),
    base: base === undefined ? null : { sequence: base.sequence, schema: base.schema, sectionsDigest: sectionsDigest(base.sections) },
    finalStateDigest: contents.finalStateDigest ?? null,
    divergedAt: contents.divergedAt ?? null,
    redactedFor: contents.redactedFor ?? null,
    notes: contents.notes,
    sections: sections.map(({ bytes, name }) => [name, bytes.length]),
    bodyBytes: body.length
  }
  const whole = Buffer.concat([Buffer.from(firstLine), Buffer.from(JSON.stringify(manifest) + "\n"), body])
  return Buffer.concat([whole, Block.sha256(whole)])
}

/** Reads a file and verifies all of it: its digest, its chain of blocks, its first state. Throws `Damaged` or `OtherVersion`. */
export const read = (bytes: Uint8Array): Bundle => {
  const file = asBuffer(bytes)
  const { bodyAt, manifest } = readManifest(file)
  const body = inflate(file.subarray(bodyAt, bodyAt + manifest.bodyBytes), manifest)
  const sections = new Map<string, Buffer>()
  let at = 0
  for (const [name, length] of manifest.sections) {
    if (sections.has(name)) throw new Damaged(`it has two sections ${name}`)
    sections.set(name, body.subarray(at, at + length))
    at += length
  }
  const blocks = blocksOf(sections.get(blocksName) ?? Buffer.alloc(0))
  const base = readBase(manifest, sections)
  checkEnds(manifest, blocks)
  const { bounds, settings } = manifest
  const capacity = { ...bounds, orders: settings.ORDER_CAPACITY, idempotencyKeys: settings.IDEMPOTENCY_CAPACITY }
  return { manifest, capacity, base, blocks }
}

/** Consecutive blocks, oldest first, as views of the bytes. Throws `Damaged` unless they form a chain. */
export const blocksOf = (bytes: Uint8Array): ReadonlyArray<Sealed> => {
  const blocks = chain(asBuffer(bytes))
  if (typeof blocks === "string") throw new Damaged(blocks)
  return blocks
}

/** A block of a bundle, decoded. Throws `Block.Malformed`. */
export const decode = ({ bytes, digest, header }: Sealed): Block.Block => Block.read(bytes, 0, header, digest)

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const readManifest = (file: Buffer): { readonly manifest: Manifest; readonly bodyAt: number } => {
  const begins = file.toString("latin1", 0, firstLine.length)
  const intact = file.length > Block.digestBytes
    && Block.sha256(file.subarray(0, -Block.digestBytes)).equals(file.subarray(-Block.digestBytes))
  // The digest at the end of the file is in the same place in every format: a flipped version number is damage, not another version.
  const written = intact ? Number(anyFirstLine.exec(begins)?.[1] ?? 0) : 0
  if (written === 1) throw new OtherVersion(`by version ${Block.writers.get(1)!} under rules 1`)
  if (written > 2) throw new OtherVersion(`by a newer version, in format ${written} of bundles`)
  if (begins !== firstLine) throw new Damaged("it does not begin as an incident bundle of version 2")
  const end = file.indexOf("\n", firstLine.length)
  if (end < 0 || end > maxManifestBytes) throw new Damaged("it is cut off within its manifest")
  const decoded = decodeManifest(file.toString("utf8", firstLine.length, end))
  if (!intact || file.length <= end + Block.digestBytes) {
    const expected = Either.isRight(decoded) ? end + 1 + decoded.right.bodyBytes + Block.digestBytes : file.length
    throw new Damaged(
      expected > file.length
        ? `it is cut off: ${file.length} of ${expected} bytes`
        : expected < file.length
        ? `${file.length - expected} bytes lie behind its end`
        : "its digest does not match its bytes: it was altered"
    )
  }
  checkMaker(file.toString("utf8", firstLine.length, end))
  if (Either.isLeft(decoded)) throw new Damaged(`its manifest is not one: ${faultIn(decoded.left)}`)
  const manifest = decoded.right
  if (end + 1 + manifest.bodyBytes + Block.digestBytes !== file.length) {
    throw new Damaged("its body has another length than its manifest says")
  }
  return { manifest, bodyAt: end + 1 }
}

const decodeManifest = Schema.decodeUnknownEither(Schema.parseJson(Manifest))
const decodeMaker = Schema.decodeUnknownEither(Schema.parseJson(Manifest.pick("program", "rules", "codec")))

/** Tells another version's manifest by itself: it may have bounds that this one does not know. */
const checkMaker = (manifest: string): void => {
  const maker = decodeMaker(manifest)
  if (Either.isLeft(maker)) return
  const { codec, program, rules } = maker.right
  if (rules !== versions.rules || codec !== versions.codec) throw new OtherVersion(`by version ${inLine(program)} under rules ${rules}`)
}

/** The first thing that is wrong, and where. */
const faultIn = (error: ParseResult.ParseError): string => {
  const { _tag, message, path } = ParseResult.ArrayFormatter.formatErrorSync(error)[0]!
  const place = inLine(path.join("."))
  if (_tag === "Unexpected") return `it has no ${place}`
  return place === "" ? message : `${place}: ${message}`
}

const inflate = (compressed: Buffer, manifest: Manifest): Buffer => {
  const expected = manifest.sections.reduce((sum, [, length]) => sum + length, 0)
  if (expected > maxBytes) throw new Damaged(`it holds ${expected} bytes, and more than ${maxBytes} are not read`)
  try {
    const body = zlib.gunzipSync(compressed, { maxOutputLength: expected + 1 })
    if (body.length === expected) return body
  } catch (error) {
    throw new Damaged(`its body cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  throw new Damaged("its sections have other lengths than its manifest says")
}

const readBase = ({ base, previousDigest }: Manifest, sections: ReadonlyMap<string, Buffer>): Snapshot | undefined => {
  const state = [...sections].flatMap(([name, bytes]): ReadonlyArray<Section> =>
    // Copied into memory of its own, so that columns of 8-byte numbers are aligned.
    name.startsWith(statePrefix) ? [{ name: name.slice(statePrefix.length), bytes: new Uint8Array(bytes) }] : []
  )
  if (state.length + 1 !== sections.size) throw new Damaged("it has sections that no bundle has")
  if (base === null) {
    if (state.length > 0) throw new Damaged("it holds a state that its manifest does not name")
    return undefined
  }
  if (sectionsDigest(state) !== base.sectionsDigest) {
    throw new Damaged(`its state at sequence ${base.sequence} is not the one its manifest names`)
  }
  return {
    sequence: base.sequence,
    blockDigest: Buffer.from(previousDigest, "hex"),
    schema: base.schema,
    sections: state
  }
}

const checkEnds = (manifest: Manifest, blocks: ReadonlyArray<Sealed>): void => {
  const [first, last] = [blocks[0]!, blocks.at(-1)!]
  const begins = manifest.base === null ? 1 : manifest.base.sequence + 1
  if (begins !== manifest.firstSequence) throw new Damaged("its first sequence is not the one behind its state")
  if (first.header.firstSequence !== begins) {
    throw new Damaged(`its first block begins with sequence ${first.header.firstSequence} instead of ${begins}`)
  }
  if (hex(Block.previousDigestAtHeader(first.bytes, 0)) !== manifest.previousDigest) {
    throw new Damaged("its first block names another block before it than the manifest")
  }
  if (manifest.base === null && manifest.previousDigest !== hex(Block.genesisDigest)) {
    throw new Damaged("its first block is no journal's first")
  }
  if (blocks.length !== manifest.blocks) throw new Damaged(`it holds ${blocks.length} blocks instead of ${manifest.blocks}`)
  if (last.header.lastSequence !== manifest.lastSequence || hex(last.digest) !== manifest.headDigest) {
    throw new Damaged("its last block is not the one its manifest names")
  }
}

/** The blocks of a section, or why they do not form a chain. Copies nothing. */
const chain = (bytes: Buffer): ReadonlyArray<Sealed> | string => {
  const blocks: Array<Sealed> = []
  let atEpochMs = 0
  for (let at = 0; at < bytes.length;) {
    const before = blocks.at(-1)
    const header = Block.readHeader(bytes, at)
    const place = before === undefined ? "its first block" : `the block behind sequence ${before.header.lastSequence}`
    if (header === undefined || at + header.blockBytes > bytes.length) return `${place} is no whole block`
    const digest = Block.verifiedDigest(bytes, at, header)
    if (digest === undefined) return `${place} does not have the digest it claims`
    if (header.lastSequence < header.firstSequence) return `${place} holds no record`
    if (before !== undefined && !continues(before, header, Block.previousDigestAtHeader(bytes, at))) {
      return `${place} does not continue it`
    }
    try {
      atEpochMs = Block.checkRecords(bytes, at, header, atEpochMs)
    } catch (error) {
      if (!(error instanceof Block.Malformed)) throw error
      return `the record of sequence ${error.sequence}: ${error.message}`
    }
    blocks.push({ bytes: bytes.subarray(at, at + header.blockBytes), header, digest })
    at += header.blockBytes
  }
  return blocks.length === 0 ? "it holds no block" : blocks
}

const continues = (before: Sealed, header: Block.Header, previousDigest: Buffer): boolean =>
  header.firstSequence === before.header.lastSequence + 1
  && header.epoch >= before.header.epoch
  && previousDigest.equals(before.digest)
