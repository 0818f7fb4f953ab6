/** The kept HTTP exchanges: a new venue answers each request as it is kept, byte for byte, and records the same files. */
import * as fs from "node:fs"
import { expect, test } from "vitest"
import * as Exchanges from "../../scripts/fixtures/Exchanges.js"

const directory = "fixtures/http"
const names = fs.readdirSync(directory).filter((name) => name.endsWith(".json")).sort()
const chapters = names.map(
  (name) => [name, JSON.parse(fs.readFileSync(`${directory}/${name}`, "utf8")) as Array<Exchanges.Exchange>] as const
)

test("a new venue answers every kept request as it did then", async () => {
  const asked = await Exchanges.open()
  for (const [name, exchanges] of chapters) {
    for (const { request, response, title } of exchanges) {
      expect(await asked.ask(request), `${name}: ${title}`).toEqual(response)
    }
  }
  await asked.close()
})

test("recording them today gives the same files", async () => {
  const files = await Exchanges.files()
  expect([...files.keys()]).toEqual(names)
  for (const [name, text] of files) expect(text === fs.readFileSync(`${directory}/${name}`, "utf8"), name).toBe(true)
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
