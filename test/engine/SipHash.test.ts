import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { hashText, hashWords } from "../../src/engine/SipHash.js"

const Word = fc.integer()

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by))

/** HalfSipHash-1-3 as published: initialise, one round per word, the length, three rounds. */
const straight = (key0: number, key1: number, bytes: ReadonlyArray<number>): number => {
  let [v0, v1, v2, v3] = [key0 | 0, key1 | 0, 0x6c796765 ^ key0, 0x74656462 ^ key1]
  const round = () => {
    v0 = (v0 + v1) | 0
    v1 = rotate(v1, 5) ^ v0
    v0 = rotate(v0, 16)
    v2 = (v2 + v3) | 0
    v3 = rotate(v3, 8) ^ v2
    v0 = (v0 + v3) | 0
    v3 = rotate(v3, 7) ^ v0
    v2 = (v2 + v1) | 0
    v1 = rotate(v1, 13) ^ v2
    v2 = rotate(v2, 16)
  }
  const whole = bytes.length & ~3
  const absorb = (word: number) => {
    v3 ^= word
    round()
    v0 ^= word
  }
  for (let at = 0; at < whole; at += 4) absorb((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!)
  absorb(bytes.slice(whole).reduce((word, byte) => (word << 8) | byte, 0) ^ (bytes.length << 24))
  v2 ^= 0xff
  round()
  round()
  round()
  return v1 ^ v3
}

describe("SipHash", () => {
  it("hashes a text of bytes as the algorithm says", () => {
    fc.assert(fc.property(Word, Word, fc.array(fc.nat(255), { maxLength: 70 }), (key0, key1, bytes) => {
      expect(hashText(key0, key1, 0, String.fromCharCode(...bytes))).toBe(straight(key0, key1, bytes))
    }))
  })

  it("hashes four words as the text of their bytes", () => {
    fc.assert(fc.property(Word, Word, fc.tuple(Word, Word, Word, Word), (key0, key1, words) => {
      const bytes = words.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255])
      expect(hashWords(key0, key1, ...words)).toBe(hashText(key0, key1, 0, String.fromCharCode(...bytes)))
    }))
  })

  it("tells apart by the salt as by the key", () => {
    fc.assert(fc.property(Word, Word, Word, fc.string(), (key0, key1, salt, text) => {
      expect(hashText(key0, key1, salt, text)).toBe(hashText(key0, key1 ^ salt, 0, text))
    }))
  })
})
