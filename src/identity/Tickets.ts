/**
 * Realtime tickets as text: 32 bytes in base64url, 43 characters. A ticket is self-contained: it states its family and its place in it,
 * authenticated with a key that only this venue has. So nothing has to be stored, and the same place yields the same text even after a
 * restart.
 *
 * Families are counted, so a journal that was restored from an older copy gives numbers of the lost time out again, to others. Therefore
 * the second half of the proof is also over when and with what the family was minted: a ticket of the lost time belongs to no family.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Reads } from "../engine/Reads.js"

/** A ticket's place: its family, and its number within the family. */
export interface Place {
  readonly family: number
  readonly generation: number
}

/** The format of a ticket. */
export const ticketPattern = /^[A-Za-z0-9_-]{43}$/

/** The purpose of the derived key: the same secret yields other keys for other purposes. */
const purpose = "realtime-ticket/v1"
const familyBytes = 8
const placeBytes = 12
/** Half of the proof is of the place, and half of the place with the family's origin. */
const halfBytes = 10
const proofBytes = 2 * halfBytes

/**
 * When and with what a family was minted: the journal's time, the key, by its id, which is random, and the scopes. Undefined where the
 * family or the key is not known any more.
 */
type Origin = string | undefined

type Families = Pick<Reads, "apiKey" | "findTicketFamily">

/** The origin of a family. */
const originOf = (reads: Families, family: number): Origin => {
  const found = reads.findTicketFamily(family)
  const key = found === undefined ? undefined : reads.apiKey(found.apiKey)
  return found === undefined || key === undefined ? undefined : `${key.keyId} ${found.scopes} ${found.begunAtEpochMs}`
}

export class Tickets {
  private readonly key: Buffer

  constructor(signerSecret: string) {
    this.key = createHmac("sha256", signerSecret).update(purpose).digest()
  }

  private half(place: Buffer, origin: string): Buffer {
    return createHmac("sha256", this.key).update(place).update(origin).digest().subarray(0, halfBytes)
  }

  private proof(place: Buffer, origin: string): Buffer {
    return Buffer.concat([this.half(place, ""), this.half(place, origin)])
  }

  /** The ticket of a place. */
  text(reads: Families, { family, generation }: Place): string {
    const place = Buffer.alloc(placeBytes)
    place.writeBigUInt64BE(BigInt(family))
    place.writeUInt32BE(generation, familyBytes)
    // A family that is forgotten by now has expired, and its ticket says so to whoever shows it.
    return Buffer.concat([place, this.proof(place, originOf(reads, family) ?? "")]).toString("base64url")
  }

  /**
   * The place of a ticket that this venue issued; undefined for any other text, and for tickets of a family that there was before the
   * journal was restored. Whether the ticket is still valid is not checked. Of a family that is not known any more, all tickets that this
   * venue issued count: they have expired.
   */
  verify(reads: Families, text: string): Place | undefined {
    if (!ticketPattern.test(text)) return undefined
    const bytes = Buffer.from(text, "base64url")
    // The last character has two unused bits: only one spelling is accepted.
    if (bytes.length !== placeBytes + proofBytes || bytes.toString("base64url") !== text) return undefined
    const place = bytes.subarray(0, placeBytes)
    const family = Number(place.readBigUInt64BE())
    const origin = originOf(reads, family)
    const proved = origin === undefined ? halfBytes : proofBytes
    const isIssued = timingSafeEqual(this.proof(place, origin ?? "").subarray(0, proved), bytes.subarray(placeBytes, placeBytes + proved))
    return isIssued ? { family, generation: place.readUInt32BE(familyBytes) } : undefined
  }
}
