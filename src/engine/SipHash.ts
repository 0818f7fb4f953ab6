/**
 * HalfSipHash-1-3, a keyed 32-bit hash for tables whose keys clients choose (SipHash by Aumasson and Bernstein). Nobody without the
 * key can craft colliding table keys. The hash only locates entries and decides nothing, so a venue draws a new key at every start.
 *
 * Both functions are unrolled by hand: the inputs are short, and the state stays in registers.
 */

/** Key of a hash: any two 32-bit integers. */
export type HashKey = readonly [number, number]

/** The hash of a string, four code units per word as if each were a byte, and of a small integer, which is mixed into the key. */
export const hashText = (key0: number, key1: number, salt: number, text: string): number => {
  const length = text.length
  const whole = length & ~3
  // The key is cast to int32, since the compiler would otherwise add in doubles.
  let v0 = key0 | 0
  let v1 = key1 ^ salt
  let v2 = 0x6c796765 ^ v0
  let v3 = 0x74656462 ^ v1
  let at = 0
  for (; at < whole; at = (at + 4) | 0) {
    const word = (text.charCodeAt(at) << 24) ^ (text.charCodeAt(at | 1) << 16) ^ (text.charCodeAt(at | 2) << 8) ^ text.charCodeAt(at | 3)
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  // The last word: the remaining code units, and the length.
  let word = 0
  for (; at < length; at = (at + 1) | 0) word = (word << 8) ^ text.charCodeAt(at)
  word ^= length << 24
  v3 ^= word
  v0 = (v0 + v1) | 0
  v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
  v0 = (v0 << 16) | (v0 >>> 16)
  v2 = (v2 + v3) | 0
  v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
  v0 = (v0 + v3) | 0
  v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
  v2 = (v2 + v1) | 0
  v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
  v2 = (v2 << 16) | (v2 >>> 16)
  v0 ^= word
  v2 ^= 0xff
  for (let round = 0; round < 3; round++) {
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  return v1 ^ v3
}

/** The hash of four words, such as a digest of 128 bits. */
export const hashWords = (key0: number, key1: number, a: number, b: number, c: number, d: number): number => {
  let v0 = key0 | 0
  let v1 = key1 | 0
  let v2 = 0x6c796765 ^ v0
  let v3 = 0x74656462 ^ v1
  // Four words, the length that ends the message, and the three finalisation rounds.
  for (let round = 0; round < 8; round++) {
    const word = round === 0 ? a : round === 1 ? b : round === 2 ? c : round === 3 ? d : round === 4 ? 0x10000000 : 0
    if (round === 5) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return v1 ^ v3
}
