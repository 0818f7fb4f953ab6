/**
 * SHA-256 of a text, as lowercase hex. Implemented here, since a browser's own is asynchronous and unavailable over plain HTTP, and a book
 * must know at once whether it is right.
 */

/** The first 32 bits of the fractions of the cube roots of the first 64 primes. */
const constants: Readonly<Uint32Array> = Uint32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2
)

const rotated = (word: number, bits: number): number => word >>> bits | word << 32 - bits

/** The padded message: the text in UTF-8, a one bit, zeros, and its length in bits, in whole blocks of 64 bytes. */
const padded = (text: string): DataView => {
  const bytes = new TextEncoder().encode(text)
  const blocks = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  blocks.set(bytes)
  blocks[bytes.length] = 0x80
  const view = new DataView(blocks.buffer)
  view.setUint32(blocks.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(blocks.length - 4, bytes.length << 3)
  return view
}

/** Expands a block to 64 words. */
const stretch = (words: Uint32Array, view: DataView, at: number): void => {
  for (let index = 0; index < 16; index++) words[index] = view.getUint32(at + 4 * index)
  for (let index = 16; index < 64; index++) {
    const [early, late] = [words[index - 15]!, words[index - 2]!]
    const first = rotated(early, 7) ^ rotated(early, 18) ^ early >>> 3
    const second = rotated(late, 17) ^ rotated(late, 19) ^ late >>> 10
    words[index] = words[index - 16]! + first + words[index - 7]! + second
  }
}

const compress = (state: Uint32Array, words: Uint32Array): void => {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let index = 0; index < 64; index++) {
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = h + mixed + (e & f ^ ~e & g) + constants[index]! + words[index]! | 0
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + (a & b ^ a & c ^ b & c) | 0
    h = g
    g = f
    f = e
    e = d + first | 0
    d = c
    c = b
    b = a
    a = first + second | 0
  }
  const made = [a, b, c, d, e, f, g, h]
  for (let index = 0; index < 8; index++) state[index]! += made[index]!
}

export const sha256 = (text: string): string => {
  const view = padded(text)
  const state = Uint32Array.of(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19)
  const words = new Uint32Array(64)
  for (let at = 0; at < view.byteLength; at += 64) {
    stretch(words, view, at)
    compress(state, words)
  }
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("")
}
