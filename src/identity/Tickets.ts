/**
 * Realtime tickets as text: 32 bytes in base64url, 43 characters. A ticket proves itself: it says its family and its place in
 * it, under a key that only this venue has. So nothing of it is kept anywhere, and the same place has the same text also after
 * a restart.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** A ticket's place: which family, and which of its tickets in turn. */
export interface Place {
  readonly family: number
  readonly generation: number
}

/** What a ticket looks like. */
export const ticketPattern = /^[A-Za-z0-9_-]{43}$/

/** What the key is for: the same secret makes others for other purposes. */
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

  /** The place of a ticket that this venue made; undefined for any other text. It says nothing of whether the ticket is still good. */
  verify(text: string): Place | undefined {
    if (!ticketPattern.test(text)) return undefined
    const bytes = Buffer.from(text, "base64url")
    // The last character has two bits to spare: one way of writing them is the ticket's.
    if (bytes.length !== placeBytes + proofBytes || bytes.toString("base64url") !== text) return undefined
    const place = bytes.subarray(0, placeBytes)
    if (!timingSafeEqual(this.proof(place), bytes.subarray(placeBytes))) return undefined
    return { family: Number(place.readBigUInt64BE()), generation: place.readUInt32BE(familyBytes) }
  }
}
