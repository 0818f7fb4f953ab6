import { none } from "../../src/domain/None.js"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ProbingTable } from "../../src/engine/ProbingTable.js"

/** A table together with its owner's data: the hash of every entry. */
const make = (capacity: number, initial: number) => {
  const hashes = new Map<number, number>()
  const table = new ProbingTable(capacity, initial, (entry) => hashes.get(entry)!)
  /** Finds an entry as an owner does: by its hash, then by its row. */
  const find = (entry: number, hash: number): number => {
    for (let place = table.seek(hash, hash);; place = table.seek(hash, place + 1)) {
      const found = table.entryAt(place)
      if (found === none || found === entry) return found
    }
  }
  return { find, hashes, table }
}

/** Entries that collide: few home places, some at the table's end, with any upper bits of the hash. */
const Hash = fc.tuple(fc.constantFrom(0, 1, 2, 63, 127, 128, 511), fc.nat(0xffff)).map(([home, upper]) => (home | (upper << 16)) | 0)

const Step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("insert" as const), entry: fc.nat(60), hash: Hash }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("remove" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("grow" as const), entries: fc.integer({ min: 61, max: 400 }) }) }
)

describe("ProbingTable", () => {
  // With the largest capacity a place has room for only two bits of the hash, so the table has to ask its owner for the others.
  it.each([[61], [1_000], [2 ** 24], [2 ** 30 - 1]])("finds exactly what was put in and not taken out, of %i entries", (capacity) => {
    fc.assert(fc.property(fc.array(Step, { maxLength: 150, size: "max" }), (steps) => {
      const { find, hashes, table } = make(capacity, 61)
      for (const step of steps) {
        if (step.kind === "insert" && !hashes.has(step.entry)) {
          hashes.set(step.entry, step.hash)
          table.insert(step.hash, step.entry)
        } else if (step.kind === "remove" && hashes.size > 0) {
          const [entry, hash] = [...hashes][step.pick % hashes.size]!
          table.remove(hash, entry)
          expect(find(entry, hash)).toBe(none)
          hashes.delete(entry)
        } else if (step.kind === "grow") {
          table.grow(step.entries)
        }
        expect(table.size).toBe(hashes.size)
        for (const [entry, hash] of hashes) expect(find(entry, hash)).toBe(entry)
      }
    }))
  })

  it("leaves nothing behind: emptied, it finds nothing under any hash", () => {
    const { hashes, table } = make(1_000, 100)
    for (let entry = 0; entry < 100; entry++) {
      hashes.set(entry, Math.imul(entry % 10, 0x9e3779b1))
      table.insert(hashes.get(entry)!, entry)
    }
    for (const [entry, hash] of hashes) table.remove(hash, entry)
    for (let hash = 0; hash < 512; hash++) expect(table.entryAt(table.seek(hash, hash))).toBe(none)
  })

  it("refuses more entries than it has room for, and to take out what is not in", () => {
    const { table } = make(100, 8)
    for (let entry = 0; entry < 7; entry++) table.insert(entry, entry)
    expect(() => table.put(0, 0, 9)).toThrow("an entry is put at a free place")
    for (let entry = 7; entry < 11; entry++) table.insert(entry, entry)
    expect(() => table.insert(11, 11)).toThrow("a table is at most two thirds full")
    expect(() => table.remove(12, 12)).toThrow("only an entry that is in is taken out")
  })
})
