/**
 * The kept HTTP exchanges: a new venue answers each request as recorded, byte for byte, and records the same files. Only request ids
 * differ, which are random by intent except for the record that decided the request.
 */
import * as fs from "node:fs"
import { expect, test } from "vitest"
import * as Kept from "./KeptVersion.js"
import * as Exchanges from "../../scripts/fixtures/Exchanges.js"

const directory = "fixtures/http"
const numberOf = (name: string): number => Number(name.split("-")[0])
const names = fs.readdirSync(directory).filter((name) => name.endsWith(".json")).sort((one, other) => numberOf(one) - numberOf(other))
const chapters = names.map(
  (name) => [name, JSON.parse(fs.readFileSync(`${directory}/${name}`, "utf8")) as Array<Exchanges.Exchange>] as const
)

const requestId = /req_[0-9a-z]{16,}(?:_[0-9a-z]+)?/g

/** Deliberate changes since these were recorded: wherever there is GET, there is HEAD. */
const withHead = /"allow": ?"GET(?:, HEAD)?/g

/** Keys show when they were last used. */
const lastUse = /(\\?"lastUsedAtEpochMs\\?":)(?:null|\d+)/g

/** A realtime ticket in a body: its place, and its proof, which is also over the key that minted it since these were recorded. */
const ticket = /(\\?"ticket\\?": ?\\?")([A-Za-z0-9_-]{16})([A-Za-z0-9_-]{27})(?=\\?")/g

const withoutProofs = (text: string): string => text.replace(ticket, "$1$2proof")

/** A text with random parts replaced by one name, and deliberate changes in today's form. */
const settled = (text: string): string =>
  withoutProofs(text).replace(requestId, "req_random").replace(withHead, "\"allow\":\"GET, HEAD").replace(lastUse, "$1null")

const ticketsIn = ({ body }: Exchanges.Exchange["response"]): ReadonlyArray<string> =>
  [...body.matchAll(ticket)].map(([, , place, proof]) => `${place}${proof}`)

/** Sends requests with the tickets that this venue issued, in place of those that were recorded. */
class Tickets {
  private readonly issued = new Map<string, string>()

  take(kept: Exchanges.Exchange["response"], answered: Exchanges.Exchange["response"]): void {
    const today = ticketsIn(answered)
    ticketsIn(kept).forEach((each, at) => this.issued.set(each, today[at] ?? each))
  }

  inserted(request: Exchanges.Exchange["request"]): Exchanges.Exchange["request"] {
    if (request.body === undefined) return request
    const body = request.body.replace(ticket, (_, before: string, place: string, proof: string) => {
      const kept = `${place}${proof}`
      return `${before}${this.issued.get(kept) ?? kept}`
    })
    return { ...request, body }
  }
}

/**
 * An answer as it was before marks and funding: without the members added since, and with rates that were not computed then. That an answer
 * repeats a decision is marked only since then.
 */
const withoutFunding = ({ body, headers: { "idempotent-replayed": _, ...headers }, ...response }: Exchanges.Exchange["response"]) => ({
  ...response,
  headers,
  body: Kept.asBefore(body)
})

const settledResponse = (response: Exchanges.Exchange["response"]): unknown => JSON.parse(settled(JSON.stringify(withoutFunding(response))))

test("a new venue answers every kept request as it did then", async () => {
  const asked = await Exchanges.open()
  const tickets = new Tickets()
  for (const [name, exchanges] of chapters) {
    for (const { request, response, title } of exchanges) {
      const answered = await asked.ask(tickets.inserted(request))
      tickets.take(response, answered)
      expect(settledResponse(Exchanges.kept(answered)), `${name}: ${title}`).toEqual(settledResponse(response))
      // The header has the same id as the envelope.
      expect(new Set(JSON.stringify(answered).match(requestId)).size, `${name}: ${title}`).toBe(1)
    }
  }
  await asked.close()
})

test("every answer says that it is to be taken as it is, and how whoever asks stands where that is limited", async () => {
  const asked = await Exchanges.open()
  const before = new Map<string, number>()
  for (const [name, exchanges] of chapters) {
    for (const { request, title } of exchanges) {
      const { body, headers, status } = await asked.ask(request)
      const what = `${name}: ${title}`
      expect(headers, what).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" })
      const { authorization } = request.headers
      if (authorization !== undefined) expect(headers["cache-control"], what).toBe("no-store")
      const isRouted = status !== 405 && !body.includes("\"code\":\"route_not_found\"")
      const isOperators = status !== 401 && status !== 405 && authorization !== undefined && request.target.startsWith("/v1/operator/")
      const isUncounted = isOperators || request.target === "/healthz" || request.target === "/readyz"
      // Refused requests count for the address, and so do those without a route.
      const isOfAddress = isUncounted || !isRouted || status === 401 || authorization === undefined
      const subject = isOfAddress ? "address" : authorization
      const limit = Number(headers["ratelimit-limit"])
      expect(limit, what).toBe(subject === "address" ? 1_200 : 600)
      const remaining = Number(headers["ratelimit-remaining"])
      const resetSeconds = Number(headers["ratelimit-reset"])
      expect(resetSeconds >= 1 && resetSeconds <= 60, what).toBe(true)
      // One less than before, or a new window.
      const drawn = isUncounted ? 0 : 1
      expect([limit - drawn, before.get(subject)! - drawn], what).toContain(remaining)
      before.set(subject, remaining)
      if (request.target !== "/v1/api-keys/current" || status !== 200) continue
      expect(JSON.parse(body).rateLimit, what).toMatchObject({ limit, remaining })
    }
  }
  await asked.close()
})

test("recording them today gives the same files", async () => {
  const files = await Exchanges.files()
  expect([...files.keys()]).toEqual(names)
  for (const [name, text] of files) {
    const kept = JSON.parse(fs.readFileSync(`${directory}/${name}`, "utf8")) as ReadonlyArray<Exchanges.Exchange>
    const recorded = JSON.parse(text) as ReadonlyArray<Exchanges.Exchange>
    const settledExchange = ({ request, response, title }: Exchanges.Exchange) => ({
      request: JSON.parse(withoutProofs(JSON.stringify(request))) as unknown,
      title,
      response: settledResponse(response)
    })
    expect(recorded.map(settledExchange), name).toEqual(kept.map(settledExchange))
  }
})

test("both families, successes and refusals are among them", () => {
  const seen = new Set(
    chapters.flatMap(([, exchanges]) => exchanges.map(({ request, response }) => `${request.target.slice(0, 3)} ${response.status}`))
  )
  for (const status of [200, 400, 401, 404, 405, 409, 415, 422, 503]) expect(seen).toContain(`/v1 ${status}`)
  for (const status of [200, 401, 404, 409, 422, 501]) expect(seen).toContain(`/v2 ${status}`)
})

test("no answer tells of the machine: no stack, no path", () => {
  for (const [, exchanges] of chapters) {
    for (const { response } of exchanges) expect(response.body).not.toMatch(/node_modules|\.js:|\/home\/|\/root\//)
  }
})
