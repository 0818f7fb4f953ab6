/** The wire form of protobuf, read strictly: fields in the order in which they stand, and nothing that is not understood. */

/** One field: an integer, or bytes; which other kinds there are nothing that is read here has. */
export interface Field {
  readonly number: number
  readonly integer?: number
  readonly bytes?: Uint8Array
}
export type Fields = ReadonlyArray<Field>

/** A whole number at a place, and the place behind it; undefined where there is none within 2^53. */
const varint = (bytes: Uint8Array, from: number): readonly [value: number, next: number] | undefined => {
  let value = 0
  for (let at = from; at < bytes.length && at < from + 8; at++) {
    const byte = bytes[at]!
    value += (byte & 0x7f) * 2 ** (7 * (at - from))
    if (byte < 0x80) return Number.isSafeInteger(value) ? [value, at + 1] : undefined
  }
  return undefined
}

/** The fields of a message; undefined where the bytes are none. */
export const fieldsOf = (bytes: Uint8Array): Fields | undefined => {
  const fields: Array<Field> = []
  let at = 0
  while (at < bytes.length) {
    const key = varint(bytes, at)
    const value = key === undefined ? undefined : varint(bytes, key[1])
    if (key === undefined || value === undefined) return undefined
    const number = Math.floor(key[0] / 8)
    switch (key[0] % 8) {
      case 0:
        fields.push({ number, integer: value[0] })
        at = value[1]
        break
      case 2:
        at = value[1] + value[0]
        if (at > bytes.length) return undefined
        fields.push({ number, bytes: bytes.subarray(value[1], at) })
        break
      default:
        return undefined
    }
  }
  return fields
}

const only = (fields: Fields, number: number): Field | undefined => {
  const found = fields.filter((field) => field.number === number)
  return found.length === 1 ? found[0] : undefined
}

/** The integer of a field, 0 where it is not there, as the wire leaves zeros out; not a number where it is given twice. */
export const integerAt = (fields: Fields, number: number): number =>
  fields.some((field) => field.number === number) ? only(fields, number)?.integer ?? Number.NaN : 0

/** The bytes of a field that is there once. */
export const bytesAt = (fields: Fields, number: number): Uint8Array | undefined => only(fields, number)?.bytes

/** The text of a field that is there once, in UTF-8. */
export const textAt = (fields: Fields, number: number): string | undefined => {
  const bytes = bytesAt(fields, number)
  const text = bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8")
  return text !== undefined && Buffer.from(text, "utf8").equals(bytes!) ? text : undefined
}

/** The message in a field that is there once. */
export const messageAt = (fields: Fields, number: number): Fields | undefined => {
  const bytes = bytesAt(fields, number)
  return bytes === undefined ? undefined : fieldsOf(bytes)
}

/** The messages of a field that may be repeated; one that cannot be read is an empty one, which nothing takes for a key or a host. */
export const messagesAt = (fields: Fields, number: number): ReadonlyArray<Fields> =>
  fields.filter((field) => field.number === number).map(({ bytes }) => (bytes === undefined ? undefined : fieldsOf(bytes)) ?? [])
