/**
 * Realtime tickets as text: 32 bytes in base64url, 43 characters. A ticket is self-contained: it states its family and its place in it,
 * authenticated with a key that only this venue has. So nothing has to be stored, and the same place yields the same text even after a
 * restart.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

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
const proofBytes = 20

export class Tickets {
  private readonly key: Buffer

  constructor(signerSecret: string) {
    this.key = createHmac("sha256", signerSecret).update(purpose).digest()
  }

  private proof(place: Buffer): Buffer {
    return createHmac("sha256", this.key).update(place).digest().subarray(0, proofBytes)
  }

  /** The ticket of a place. */
  text({ family, generation }: Place): string {
    const place = Buffer.alloc(placeBytes)
    place.writeBigUInt64BE(BigInt(family))
    place.writeUInt32BE(generation, familyBytes)
    return Buffer.concat([place, this.proof(place)]).toString("base64url")
  }

  /** The place of a ticket that this venue issued; undefined for any other text. Whether the ticket is still valid is not checked. */
  verify(text: string): Place | undefined {
    if (!ticketPattern.test(text)) return undefined
    const bytes = Buffer.from(text, "base64url")
    // The last character has two unused bits: only one spelling is accepted.
    if (bytes.length !== placeBytes + proofBytes || bytes.toString("base64url") !== text) return undefined
    const place = bytes.subarray(0, placeBytes)
    if (!timingSafeEqual(this.proof(place), bytes.subarray(placeBytes))) return undefined
    return { family: Number(place.readBigUInt64BE()), generation: place.readUInt32BE(familyBytes) }
  }
}
