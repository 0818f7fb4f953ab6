/** Tickets prove themselves: every text that is not exactly the venue's own is rejected. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import type { Reads } from "../../src/engine/Reads.js"
import { ticketPattern, Tickets } from "../../src/identity/Tickets.js"

const tickets = new Tickets("a signer secret of the tests")
const places = fc.record({ family: fc.maxSafeNat(), generation: fc.integer({ min: 0, max: 2 ** 32 - 1 }) })
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

type Families = Pick<Reads, "apiKey" | "findTicketFamily">

/** A venue whose families were all minted with one key and scopes. */
const mintedWith = (keyId: string, scopes: number, begunAtEpochMs = 1_000): Families => ({
  apiKey: () => ({ keyId }) as ReturnType<Reads["apiKey"]>,
  findTicketFamily: (family) => ({ family, apiKey: 0, scopes, begunAtEpochMs }) as ReturnType<Reads["findTicketFamily"]>
})
const ours = mintedWith("key_a", 1)
/** A venue that has forgotten all families. */
const forgotten: Families = { ...ours, findTicketFamily: () => undefined }

test("a ticket has 43 characters, says its place, and is the same for the same place and secret", () => {
  fc.assert(fc.property(places, (place) => {
    const text = tickets.text(ours, place)
    expect(text).toMatch(ticketPattern)
    expect(tickets.verify(ours, text)).toEqual(place)
    expect(new Tickets("a signer secret of the tests").text(ours, place)).toBe(text)
  }))
})

test("with one character another it is none, the spare bits of the last one among them", () => {
  fc.assert(fc.property(places, fc.nat(42), fc.constantFrom(...alphabet), (place, at, character) => {
    const text = tickets.text(ours, place)
    fc.pre(text[at] !== character)
    expect(tickets.verify(ours, text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined()
  }))
})

test("what is of another venue's, shorter, longer or of other characters is none", () => {
  const text = tickets.text(ours, { family: 3, generation: 1 })
  const others = [new Tickets("another signer secret").text(ours, { family: 3, generation: 1 }), "", text.slice(1), `${text}A`,
    `${text.slice(1)}=`, ` ${text}`]
  expect(others.map((other) => tickets.verify(ours, other))).toEqual(others.map(() => undefined))
})

test("a ticket of a family whose number was given out again, to another key, for other scopes or later, is none", () => {
  const place = { family: 3, generation: 1 }
  const text = tickets.text(ours, place)
  const others = [mintedWith("key_b", 1), mintedWith("key_a", 3), mintedWith("key_a", 1, 2_000)]
  expect(others.map((other) => tickets.verify(other, text))).toEqual(others.map(() => undefined))
})

test("a ticket of a forgotten family still says its place, and a made up one does not", () => {
  const place = { family: 3, generation: 1 }
  const text = tickets.text(ours, place)
  expect(tickets.verify(forgotten, text)).toEqual(place)
  expect(tickets.verify(forgotten, new Tickets("another signer secret").text(ours, place))).toBeUndefined()
  expect(tickets.verify(forgotten, tickets.text(forgotten, place))).toEqual(place)
})

test("neighbours have nothing in common but their place", () => {
  const proofs = [0, 1, 2].map((generation) => tickets.text(ours, { family: 0, generation }).slice(16))
  expect(new Set(proofs).size).toBe(3)
})
