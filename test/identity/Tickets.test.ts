/** Tickets prove themselves: a text that is not exactly the venue's own is no ticket. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { ticketPattern, Tickets } from "../../src/identity/Tickets.js"

const tickets = new Tickets("a signer secret of the tests")
const places = fc.record({ family: fc.maxSafeNat(), generation: fc.integer({ min: 0, max: 2 ** 32 - 1 }) })
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

test("a ticket has 43 characters, says its place, and is the same for the same place and secret", () => {
  fc.assert(fc.property(places, (place) => {
    const text = tickets.text(place)
    expect(text).toMatch(ticketPattern)
    expect(tickets.verify(text)).toEqual(place)
    expect(new Tickets("a signer secret of the tests").text(place)).toBe(text)
  }))
})

test("with one character another it is none, the spare bits of the last one among them", () => {
  fc.assert(fc.property(places, fc.nat(42), fc.constantFrom(...alphabet), (place, at, character) => {
    const text = tickets.text(place)
    fc.pre(text[at] !== character)
    expect(tickets.verify(text.slice(0, at) + character + text.slice(at + 1))).toBeUndefined()
  }))
})

test("what is of another venue's, shorter, longer or of other characters is none", () => {
  const text = tickets.text({ family: 3, generation: 1 })
  const others = [new Tickets("another signer secret").text({ family: 3, generation: 1 }), "", text.slice(1), `${text}A`,
    `${text.slice(1)}=`, ` ${text}`]
  expect(others.map((other) => tickets.verify(other))).toEqual(others.map(() => undefined))
})

test("neighbours have nothing in common but their place", () => {
  const proofs = [0, 1, 2].map((generation) => tickets.text({ family: 0, generation }).slice(16))
  expect(new Set(proofs).size).toBe(3)
})
