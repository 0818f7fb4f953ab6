/**
 * Says where an entry is: a hash table of small integers, four bytes a place, at most two thirds full. It knows entries by
 * their hash alone; what they are is in rows that the owner keeps, and compares.
 *
 * An entry lies at the first free place from its hash's own on. A place holds entry + 1 in its low bits and, above
 * them, as many bits of the hash as there is room for; 0 is empty. So nearly all others are told apart without a look
 * at their rows. The uppermost bits are the lowest of the hash, which say how far an entry lies from its own place,
 * so that taking one out closes its gap without a look at the rows of those behind it.
 *
 * Where things lie decides nothing and is never dumped.
 */
import { assert } from "../domain/Assert.js"

/**
 * The uppermost bits of a place, which say how far the entry lies from its own where nothing lies 256 places off: in a table two
 * thirds full hardly anything does.
 */
const homeBits = 8
const homeMask = (1 << homeBits) - 1

/** The bits of a hash in the order in which a place holds as many as it has room for: the lowest ones first. */
const tagOf = (hash: number): number => (hash >>> homeBits) | (hash << (32 - homeBits))

export class ProbingTable {
  private places: Int32Array
  private mask: number
  private readonly entryMask: number
  /** Whether places have room for `homeBits`. */
  private readonly tellsHome: boolean
  /** The furthest that an entry was ever put from its own place. */
  private furthest = 0
  private used = 0

  /**
   * Entries are integers below `capacity`, of which `initial` at most are in before the table must `grow`. `hashOf`
   * is the hash under which an entry was put in, asked for where the table does not tell.
   */
  constructor(capacity: number, initial: number, private readonly hashOf: (entry: number) => number) {
    assert(capacity > 0 && capacity < 2 ** 30, "an entry leaves room for bits of its hash")
    this.entryMask = 2 ** (32 - Math.clz32(capacity)) - 1
    this.tellsHome = Math.clz32(capacity) >= homeBits
    this.places = new Int32Array(placesFor(initial))
    this.mask = this.places.length - 1
  }

  /** How many entries are in. */
  get size(): number {
    return this.used
  }

  /**
   * The first place from a place on that may hold an entry of a hash, or that is free: then no further one does. An
   * owner looks from the hash itself on, compares the row of each entry found, and goes on from the next place.
   */
  seek(hash: number, from: number): number {
    const { entryMask, mask, places } = this
    const tag = tagOf(hash)
    for (let place = from & mask;; place = (place + 1) & mask) {
      const held = places[place]!
      if (held === 0 || ((held ^ tag) & ~entryMask) === 0) return place
    }
  }

  /** Reads the place where a hash is looked for, ahead of looking: the answer means nothing. */
  readAhead(hash: number): number {
    return this.places[hash & this.mask]!
  }

  /** The entry at a place, or -1 where it is free. */
  entryAt(place: number): number {
    return (this.places[place]! & this.entryMask) - 1
  }

  /** Puts an entry that is not in at the free place where `seek` ended. */
  put(hash: number, place: number, entry: number): void {
    const { entryMask, mask, places } = this
    assert(places[place] === 0, "an entry is put at a free place")
    assert(this.used * 3 <= places.length * 2, "a table is at most two thirds full")
    this.used++
    places[place] = (tagOf(hash) & ~entryMask) | (entry + 1)
    const distance = (place - hash) & mask
    if (distance > this.furthest) this.furthest = distance
  }

  /** Puts in an entry that is not in. */
  insert(hash: number, entry: number): void {
    const { mask, places } = this
    let place = hash & mask
    while (places[place] !== 0) place = (place + 1) & mask
    this.put(hash, place, entry)
  }

  /** Takes out an entry by the hash it was put in under. */
  remove(hash: number, entry: number): void {
    const { entryMask, mask, places } = this
    let hole = hash & mask
    while ((places[hole]! & entryMask) !== entry + 1) {
      assert(places[hole] !== 0, "only an entry that is in is taken out")
      hole = (hole + 1) & mask
    }
    this.used--
    const told = this.tellsHome && this.furthest <= homeMask
    // What lies behind, up to the next free place, moves up where its own place is not past the hole.
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

  /** Makes room for `entries` at once. */
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

/** The power of two that gives two entries three places or more: of a cache, a table half as long takes half as much. */
const placesFor = (entries: number): number => {
  let places = 16
  while (places * 2 < entries * 3) places *= 2
  return places
}
