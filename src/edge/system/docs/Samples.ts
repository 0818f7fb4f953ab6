/**
 * Answers for the reference, from recorded exchanges with a whole venue: shown as sent, except for secrets and the ends of long
 * lists. They are stored beside the program; without them the pages have none.
 */
import { namesIn, textOf } from "./NodePackage.js"

interface Exchange {
  readonly request: { readonly method: string; readonly target: string }
  readonly response: { readonly status: number; readonly body: string }
}

/** Entries shown of a list: two, or one where that is too long. Most lines of an answer. */
const entriesShown = [2, 1]
const mostLines = 170

const secret = /\b(pk_[a-z]+_[0-9a-f]+_|rt_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g

const shortened = (value: unknown, entries: number): unknown => {
  // An array of numbers, such as a candle, is one item and not a list.
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) return value
  if (Array.isArray(value)) return value.slice(0, entries).map((each) => shortened(each, entries))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member, entries)]))
}

/** A recorded body as shown; undefined where there is none, or it is too long to be useful. */
const shown = (body: string): string | undefined => {
  if (body === "") return undefined
  const value: unknown = JSON.parse(body)
  return entriesShown.map((entries) => JSON.stringify(shortened(value, entries), undefined, 2).replaceAll(secret, "$1..."))
    .find((text) => text.split("\n").length <= mostLines)
}

const folder = "fixtures/http/"

/** Recorded exchanges, in the order in which they were sent. */
const recorded = (): ReadonlyArray<Exchange> => {
  const names = namesIn(folder).filter((name) => name.endsWith(".json"))
  const inOrder = names.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
  return inOrder.flatMap((name) => JSON.parse(textOf(`${folder}${name}`)) as ReadonlyArray<Exchange>)
}

/** The recorded answer of an endpoint, pretty-printed; undefined where none was recorded. */
export const samples = (): (method: string, path: string) => string | undefined => {
  const exchanges = recorded().filter(({ response }) => response.status === 200)
  return (method, path) => {
    const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`)
    const found = exchanges.filter(({ request }) => request.method === method && pattern.test(request.target.split("?")[0]!))
    // An answer with content is more useful than an empty list.
    const bodies = found.map(({ response }) => shown(response.body)).filter((body) => body !== undefined)
    return bodies.find((body) => !/\[\]/.test(body)) ?? bodies[0]
  }
}
