/**
 * A block of the journal decoded from its bytes by the layout in `src/journal/README.md`, without any of the venue's code. If the venue
 * changed the layout, it would still read back what it writes, but every kept journal would be lost.
 */
import * as crypto from "node:crypto"
import type { Record as JournalRecord } from "../../src/journal/Record.js"
import { type Field, type Fields, isLeftOut } from "../../src/operations/Field.js"
import { type Command, of } from "../../src/operations/Operations.js"

/** Where a block lies, and the block before it. */
export interface Place {
  /** The segment's first sequence, and the block's offset in it. */
  readonly segment: number
  readonly offset: number
}

const sectorBytes = 512
const format = 2
const magic = "faf5fbf6fdf7fef9"
const trailer = "f9fef7fdf6fbf5fa"
const filler = 0xa5

const at = {
  checksum: 8,
  segment: 16,
  offset: 24,
  synced: 32,
  content: 40,
  epoch: 44,
  firstSequence: 48,
  count: 56,
  recordsBytes: 60,
  previousDigest: 64,
  records: 128
} as const
const digestBytes = 32
const endBytes = digestBytes + 8

// Offsets in a record: the length of what follows, then sequence, time and code of its kind.
const ofRecord = { sequence: 4, atEpochMs: 12, kind: 20, header: 21 } as const
// Offsets in its header, where a request was sent: account, credential, fingerprint and the key's characters.
const ofHeader = { operation: 1, keyLength: 2, account: 3, credential: 7, fingerprint: 11, key: 27 } as const

const hash = (bytes: Uint8Array): Buffer => crypto.createHash("sha256").update(bytes).digest()

/** A command's values in their declared order, as in its JSON payload: flags are 1 and 0, and a choice is its index in the list. */
const itemsOf = (fields: Fields, values: Readonly<globalThis.Record<string, unknown>>): ReadonlyArray<unknown> =>
  Object.entries(fields).flatMap(([name, field]) => isLeftOut(field, values[name]) ? [] : [itemOf(field, values[name])])

const itemOf = ({ shape }: Field<unknown>, value: unknown): unknown => {
  if (shape.type === "flag") return value === true ? 1 : 0
  if (shape.type === "choice") return shape.names.indexOf(value as string)
  if (shape.type === "record") return itemsOf(shape.fields, value as Readonly<globalThis.Record<string, unknown>>)
  if (shape.type !== "list") return value
  return (value as ReadonlyArray<Readonly<globalThis.Record<string, unknown>>>).map((entry) => itemsOf(shape.fields, entry))
}

type Placement = Command & { readonly kind: "PlaceOrders" }

const ofPlacement = ({ connection, entries }: Placement): ReadonlyArray<unknown> => [
  ...entries.flatMap((entry) => {
    const { expiresAtEpochMs, fault, raw } = entry
    const { stopLoss, takeProfit } = entry.autoClose
    const triggers = [takeProfit, stopLoss].flatMap(({ by, limitAtoms, priceAtoms }) => [priceAtoms, by, limitAtoms])
    const [isFaulty, expires, closes] = [fault !== 0 || raw !== "", expiresAtEpochMs !== 0, triggers.some((each) => each !== 0)]
    const bits = [entry.side === 1, entry.type === 1, entry.timeInForce === 1, entry.postOnly, entry.reduceOnly, isFaulty]
    const flags = bits.reduce((sum, isSet, bit) => sum + (isSet ? 2 ** bit : 0), 0)
      + 64 * entry.selfTradePrevention + (expires ? 256 : 0) + (closes ? 512 : 0)
    return [
      ...[entry.market, entry.clientOrderId, flags, entry.priceAtoms, entry.quantityAtoms],
      ...isFaulty ? [fault, raw] : [],
      ...expires ? [expiresAtEpochMs] : [],
      ...closes ? triggers : []
    ]
  }),
  ...connection === -1 ? [] : [connection]
]

const payloadOf = (command: Command): ReadonlyArray<unknown> => {
  if (command.kind === "PlaceOrders") return ofPlacement(command)
  if (command.kind === "CancelOrders") return command.entries.flatMap(({ market, orderNumber, raw }) => [market, orderNumber, raw])
  return itemsOf(of(command).fields, command as unknown as Readonly<globalThis.Record<string, unknown>>)
}

/** The first difference between a record's bytes at a position and the decoded record; or where the record ends. */
const recordEnd = (bytes: Buffer, from: number, { atEpochMs, command, sequence }: JournalRecord): number | string => {
  const header = from + ofRecord.header
  const end = header + bytes.readUInt32LE(from)
  if (Number(bytes.readBigUInt64LE(from + ofRecord.sequence)) !== sequence) return "another sequence"
  if (Number(bytes.readBigUInt64LE(from + ofRecord.atEpochMs)) !== atEpochMs) return "another time"
  if (bytes[from + ofRecord.kind] !== of(command).code) return "another kind"
  const { account, credential, fingerprint, idempotencyKey, operation, principal } = command
  if (bytes[header] !== principal || bytes[header + ofHeader.operation] !== operation) return "another principal or request"
  if (bytes[header + ofHeader.keyLength] !== idempotencyKey.length) return "a key of another length"
  let payload = header + ofHeader.account
  if (operation !== 0) {
    payload = header + ofHeader.key + idempotencyKey.length
    const whole = (place: number): number => bytes.readInt32LE(header + place)
    if (whole(ofHeader.account) !== account || whole(ofHeader.credential) !== credential) return "another account or credential"
    const found = [0, 4, 8, 12].map((place) => whole(ofHeader.fingerprint + place))
    if (found.join() !== [fingerprint.a, fingerprint.b, fingerprint.c, fingerprint.d].join()) return "another fingerprint"
    if (bytes.toString("latin1", header + ofHeader.key, payload) !== idempotencyKey) return "another key"
  }
  const text = bytes.toString("utf8", payload, end)
  // A payload keeps the sign of a zero, which the comparison ignores.
  return JSON.stringify(JSON.parse(text)) === JSON.stringify(payloadOf(command)) ? end : `the payload ${text}`
}

/** The first difference between a block's bytes and the layout, given its place and its decoded records. */
export const misread = (
  block: Uint8Array,
  { offset, segment }: Place,
  previousDigest: Uint8Array,
  records: ReadonlyArray<JournalRecord>
): string | undefined => {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.length)
  const whole = (place: number): number => Number(bytes.readBigUInt64LE(place))
  const first = records[0]!.sequence
  const recordsEnd = at.records + bytes.readUInt32LE(at.recordsBytes)
  const digestAt = bytes.length - endBytes
  if (bytes.length % sectorBytes !== 0 || digestAt - recordsEnd >= sectorBytes) return "takes other sectors than it needs"
  if (bytes.toString("hex", 0, at.checksum) !== magic || bytes.toString("hex", bytes.length - 8) !== trailer) return "is not framed"
  if (bytes.compare(hash(bytes.subarray(at.segment, at.records)), 0, 8, at.checksum, at.segment) !== 0) return "has another checksum"
  if (whole(at.segment) !== segment || whole(at.offset) !== offset) return "names another place"
  if (whole(at.synced) >= first) return "says that it was durable itself"
  if (bytes.readUInt32LE(at.content) !== format || bytes.readUInt32LE(at.epoch) === 0) return "has another format, or no epoch"
  if (whole(at.firstSequence) !== first || bytes.readUInt32LE(at.count) !== records.length) return "counts other records"
  if (bytes.compare(previousDigest, 0, digestBytes, at.previousDigest, at.previousDigest + digestBytes) !== 0) return "follows another"
  if (bytes.compare(hash(bytes.subarray(at.content, digestAt)), 0, digestBytes, digestAt, digestAt + digestBytes) !== 0) {
    return "has another digest"
  }
  let from: number = at.records
  for (const record of records) {
    const end = recordEnd(bytes, from, record)
    if (typeof end === "string") return `has ${end} in the place of record ${record.sequence}`
    from = end
  }
  if (from !== recordsEnd) return "has something behind its last record"
  for (; from < digestAt; from++) if (bytes[from] !== filler) return "has something else than the filler behind its records"
  return undefined
}
