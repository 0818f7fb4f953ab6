/**
 * A hash index with linear probing: it maps hashes to small integers, four bytes a slot, at most two thirds full. It stores no
 * keys; the owner keeps them in rows and compares them.
 *
 * An entry lies in the first free slot from the one of its hash on. A slot holds entry + 1 in its low bits and, above them, as many
 * bits of the hash as fit; 0 is empty. Nearly all other entries are thus told apart without reading their rows. The top bits of a
 * slot are the lowest bits of the hash, which give the distance to the entry's home slot, so that a removal can close its gap
 * without reading the rows of those behind it.
 *
 * The layout decides nothing and is never dumped.
 */
import { assert } from "../domain/Assert.js"

/**
 * The top bits of a slot, which give the distance to the home slot as long as no entry is 256 slots away: in a table two thirds
 * full hardly any is.
 */
const homeBits = 8
const homeMask = (1 << homeBits) - 1

/** The bits of a hash in the order in which a slot keeps as many as fit: the lowest ones on top. */
const tagOf = (hash: number): number => (hash >>> homeBits) | (hash << (32 - homeBits))

export class ProbingTable {
  private places: Int32Array
  private mask: number
  private readonly entryMask: number
  /** Whether slots have room for `homeBits`. */
  private readonly tellsHome: boolean
  /** The greatest distance at which an entry was ever placed from its home slot. */
  private furthest = 0
  private used = 0

  /**
   * Entries are integers below `capacity`; the table holds `initial` of them before it must `grow`. `hashOf` returns the hash of an
   * entry, which is needed where the slots do not tell it.
   */
  constructor(capacity: number, initial: number, private readonly hashOf: (entry: number) => number) {
    assert(capacity > 0 && capacity < 2 ** 30, "an entry leaves room for bits of its hash")
    this.entryMask = 2 ** (32 - Math.clz32(capacity)) - 1
    this.tellsHome = Math.clz32(capacity) >= homeBits
    this.places = new Int32Array(placesFor(initial))
    this.mask = this.places.length - 1
  }

  /** The number of entries. */
  get size(): number {
    return this.used
  }

  /**
   * The first slot from `from` on that may hold an entry of this hash, or that is empty, in which case there is no further one. The
   * owner begins with the hash itself, compares the row of each entry found, and continues from the next slot.
   */
  seek(hash: number, from: number): number {
    const { entryMask, mask, places } = this
    const tag = tagOf(hash)
    for (let place = from & mask;; place = (place + 1) & mask) {
      const held = places[place]!
      if (held === 0 || ((held ^ tag) & ~entryMask) === 0) return place
    }
  }

  /** Reads the first slot of a hash ahead of the lookup, to load it into the cache: the result means nothing. */
  readAhead(hash: number): number {
    return this.places[hash & this.mask]!
  }

  /** The entry in a slot, or -1 where it is empty. */
  entryAt(place: number): number {
    return (this.places[place]! & this.entryMask) - 1
  }

  /** Puts a new entry into the empty slot that `seek` found. */
  put(hash: number, place: number, entry: number): void {
    const { entryMask, mask, places } = this
    assert(places[place] === 0, "an entry is put at a free place")
    assert(this.used * 3 <= places.length * 2, "a table is at most two thirds full")
    this.used++
    places[place] = (tagOf(hash) & ~entryMask) | (entry + 1)
    const distance = (place - hash) & mask
    if (distance > this.furthest) this.furthest = distance
  }

  /** Inserts a new entry. */
  insert(hash: number, entry: number): void {
    const { mask, places } = this
    let place = hash & mask
    while (places[place] !== 0) place = (place + 1) & mask
    this.put(hash, place, entry)
  }

  /** Removes an entry, given the hash it was inserted under. */
  remove(hash: number, entry: number): void {
    const { entryMask, mask, places } = this
    let hole = hash & mask
    while ((places[hole]! & entryMask) !== entry + 1) {
      assert(places[hole] !== 0, "only an entry that is in is taken out")
      hole = (hole + 1) & mask
    }
    this.used--
    const told = this.tellsHome && this.furthest <= homeMask
    // Entries behind the gap, up to the next empty slot, move into it unless their home slot lies behind it.
    for (let place = (hole + 1) & mask; places[place] !== 0; place = (place + 1) & mask) {
      const held = places[place]!
      const distance = told
        ? (place - (held >>> (32 - homeBits))) & homeMask & mask
        : (place - this.hashOf((held & entryMask) - 1)) & mask
      if (distance >= ((place - hole) & mask)) {
        places[hole] = held
        hole = place
      }
    }
    places[hole] = 0
  }

  /** Makes room for `entries` entries. */
  grow(entries: number): void {
    const length = placesFor(entries)
    if (length <= this.places.length) return
    const { entryMask, places } = this
    this.places = new Int32Array(length)
    this.mask = length - 1
    this.furthest = 0
    this.used = 0
    for (const held of places) {
      if (held === 0) continue
      const entry = (held & entryMask) - 1
      this.insert(this.hashOf(entry), entry)
    }
  }
}

/** The power of two with at least three slots for two entries: a smaller table takes up less of the cache. */
const placesFor = (entries: number): number => {
  let places = 16
  while (places * 2 < entries * 3) places *= 2
  return places
}
