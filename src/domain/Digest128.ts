/**
 * A 128-bit digest of a run of numbers and texts, for idempotency keys and body fingerprints. Four 32-bit
 * lanes, each fed every word, mixed as MurmurHash3 mixes (public domain, Austin Appleby). Not a
 * cryptographic hash: entries are compared within one account only, so a client that crafts a collision
 * meets its own entries and nobody else's.
 */
export class Digest128 {
  a = 0
  b = 0
  c = 0
  d = 0
  private words = 0

  reset(seed: number): void {
    this.a = seed | 0
    this.b = seed ^ 0x9e3779b9
    this.c = seed ^ 0x7f4a7c15
    this.d = seed ^ 0x85ebca6b
    this.words = 0
  }

  /** Copies the state of another digest. */
  set(other: Digest128): void {
    this.a = other.a
    this.b = other.b
    this.c = other.c
    this.d = other.d
    this.words = other.words
  }

  /** One 32-bit word. */
  word(value: number): void {
    let k = Math.imul(value, 0xcc9e2d51)
    k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
    const a = this.a ^ k
    const b = this.b ^ Math.imul(value ^ 0x38b34ae5, 0xab0e9789)
    const c = this.c ^ Math.imul(value ^ 0x5bd1e995, 0xa1e38b93)
    const d = this.d ^ Math.imul(value ^ 0x165667b1, 0x239b961b)
    this.a = (Math.imul((a << 13) | (a >>> 19), 5) + 0x561ccd1b + b) | 0
    this.b = (Math.imul((b << 17) | (b >>> 15), 5) + 0x0bcaa747 + c) | 0
    this.c = (Math.imul((c << 15) | (c >>> 17), 5) + 0x96cd1c35 + d) | 0
    this.d = (Math.imul((d << 18) | (d >>> 14), 5) + 0x32ac3b17 + this.a) | 0
    this.words++
  }

  /** A safe integer of either sign, exactly. */
  number(value: number): void {
    const low = value | 0
    this.word(low)
    this.word(Math.round((value - low) / 4294967296))
  }

  /** A text or, with `length`, that many code units of its beginning: first the length, then the code units, two per word. */
  text(value: string, length: number = value.length): void {
    this.word(length)
    // Inlines `word` with the lanes in local variables: this loop is most of the cost of digesting a key.
    let { a, b, c, d } = this
    for (let at = 0; at < length; at += 2) {
      const word = at + 1 < length ? value.charCodeAt(at) | (value.charCodeAt(at + 1) << 16) : value.charCodeAt(at)
      let k = Math.imul(word, 0xcc9e2d51)
      k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
      a ^= k
      b ^= Math.imul(word ^ 0x38b34ae5, 0xab0e9789)
      c ^= Math.imul(word ^ 0x5bd1e995, 0xa1e38b93)
      d ^= Math.imul(word ^ 0x165667b1, 0x239b961b)
      a = (Math.imul((a << 13) | (a >>> 19), 5) + 0x561ccd1b + b) | 0
      b = (Math.imul((b << 17) | (b >>> 15), 5) + 0x0bcaa747 + c) | 0
      c = (Math.imul((c << 15) | (c >>> 17), 5) + 0x96cd1c35 + d) | 0
      d = (Math.imul((d << 18) | (d >>> 14), 5) + 0x32ac3b17 + a) | 0
    }
    this.a = a
    this.b = b
    this.c = c
    this.d = d
    this.words += (length + 1) >> 1
  }

  finish(): void {
    this.a = finalMix(this.a ^ this.words)
    this.b = finalMix(this.b ^ this.a)
    this.c = finalMix(this.c ^ this.b)
    this.d = finalMix(this.d ^ this.c)
    this.a ^= this.d
  }
}

const finalMix = (value: number): number => {
  let h = value ^ (value >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 16)
}
