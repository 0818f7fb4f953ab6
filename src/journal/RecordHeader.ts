/**
 * The header of a command in its record, before the payload: principal (1 byte), request (1), length of the Idempotency-Key (1);
 * for a request also account (4), credential (4), fingerprint (16) and the key's characters, visible ASCII. The venue's own
 * commands have the first three bytes only.
 */
import { assert } from "../domain/Assert.js"
import { type ClientPrincipal, type Header, internal, Principal } from "../operations/Header.js"
import { requestOf } from "../operations/Operations.js"
import { Malformed } from "./Malformed.js"

const shortBytes = 3
const accountAt = 3
const credentialAt = 7
const fingerprintAt = 11
const keyAt = 27

/** The largest size of a header, bytes. */
export const maxBytes = keyAt + 255

/** Writes a header at an offset of a buffer that has room for it. Returns its size in bytes. */
export const write = (bytes: Buffer, at: number, header: Header): number => {
  const { fingerprint, idempotencyKey, operation } = header
  assert(idempotencyKey.length <= 255, "an Idempotency-Key has at most 255 characters")
  bytes[at] = header.principal
  bytes[at + 1] = operation
  bytes[at + 2] = idempotencyKey.length
  if (operation === 0) {
    assert(header.account < 0 && idempotencyKey === "", "what came by no request has no account and no key")
    return shortBytes
  }
  bytes.writeInt32LE(header.account, at + accountAt)
  bytes.writeInt32LE(header.credential, at + credentialAt)
  bytes.writeInt32LE(fingerprint.a, at + fingerprintAt)
  bytes.writeInt32LE(fingerprint.b, at + fingerprintAt + 4)
  bytes.writeInt32LE(fingerprint.c, at + fingerprintAt + 8)
  bytes.writeInt32LE(fingerprint.d, at + fingerprintAt + 12)
  return keyAt + bytes.write(idempotencyKey, at + keyAt, "latin1")
}

/** The end offset of the header at `at`; throws `Malformed` where it is beyond `end`. */
export const endOf = (bytes: Buffer, at: number, end: number): number => {
  if (at + shortBytes > end) throw new Malformed("its header is cut off")
  const to = at + (bytes[at + 1] === 0 ? shortBytes : keyAt + bytes[at + 2]!)
  if (to > end) throw new Malformed("its header is cut off")
  return to
}

const principals: ReadonlySet<number> = new Set(Object.values(Principal))

/** Reads the header at an offset, which `endOf` has validated. */
export const read = (bytes: Buffer, at: number): Header => {
  const principal = bytes[at]!
  const operation = bytes[at + 1]!
  if (!principals.has(principal)) throw new Malformed(`an unknown principal ${principal}`)
  if (operation === 0) {
    if (bytes[at + 2] !== 0) throw new Malformed("an Idempotency-Key without a request")
    if (principal === Principal.key || principal === Principal.session) throw new Malformed("a client without a request")
    return internal(principal as Exclude<Principal, ClientPrincipal>)
  }
  if (requestOf(operation) === undefined) throw new Malformed(`an unknown request ${operation}`)
  return {
    principal: principal as Principal,
    account: bytes.readInt32LE(at + accountAt),
    credential: bytes.readInt32LE(at + credentialAt),
    operation,
    idempotencyKey: bytes.toString("latin1", at + keyAt, at + keyAt + bytes[at + 2]!),
    fingerprint: {
      a: bytes.readInt32LE(at + fingerprintAt),
      b: bytes.readInt32LE(at + fingerprintAt + 4),
      c: bytes.readInt32LE(at + fingerprintAt + 8),
      d: bytes.readInt32LE(at + fingerprintAt + 12)
    }
  }
}
