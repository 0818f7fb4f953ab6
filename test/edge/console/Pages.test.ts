/** The owner's pages as they are served: the headers that instruct a browser, and that nothing else depends on the pages. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Layer } from "effect"
import { afterAll, expect, test } from "vitest"
import { Assets, type Built } from "../../../src/edge/console/Assets.js"
import * as NodeAssets from "../../../src/edge/console/NodeAssets.js"
import * as Fake from "../FakeVenue.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "venue-pages-"))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

const assets: Built = {
  document: "<!DOCTYPE html>\n",
  files: new Map([
    ["main-1.js", { contentType: "text/javascript; charset=utf-8", body: "0" }],
    ["console-1.css", { contentType: "text/css; charset=utf-8", body: "a{}" }]
  ])
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
  + "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

test.each(["/", "/connect", "/connect?code=BCDF-GH23", "/?whatever=1&whatever=2"])("%s is the document, under its policy",
  async (target) => {
    const { body, headers, status } = await Fake.make({ assets }).ask({ target })
    expect({ body, status }).toEqual({ body: assets.document, status: 200 })
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": policy,
      "permissions-policy":
        "publickey-credentials-create=(self), publickey-credentials-get=(self), camera=(), geolocation=(), microphone=()",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin"
    })
  })

test("a file that the document names is kept for good, with its own type", async () => {
  const fake = Fake.make({ assets })
  for (const [name, { body, contentType }] of assets.files) {
    const response = await fake.ask({ target: `/assets/${name}` })
    expect(response).toMatchObject({ status: 200, body })
    expect(response.headers).toMatchObject({
      "content-type": contentType,
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff"
    })
  }
})

test.each([
  ["a file that there is not", "GET", "/assets/main-2.js", 404, "route_not_found"],
  ["a member of every object", "GET", "/assets/constructor", 404, "route_not_found"],
  ["a file elsewhere", "GET", "/assets/..%2Findex.html", 404, "route_not_found"],
  ["the folder itself", "GET", "/assets/", 404, "route_not_found"],
  ["the page as a folder", "GET", "/connect/", 404, "route_not_found"],
  ["a page that is sent something", "POST", "/connect", 405, "method_not_allowed"],
  ["the root that is sent something", "DELETE", "/", 405, "method_not_allowed"]
])("%s gets an envelope", async (_why, method, target, status, code) => {
  const response = await Fake.make({ assets }).ask({ method, target })
  expect({ status: response.status, code: Fake.json(response).code }).toEqual({ status, code })
  // A missing file may be there later, so its absence must not be cached.
  expect(response.headers["cache-control"]).toBe("no-store")
})

test("the pages are there while the venue is not ready, and say what to do where they were never built", async () => {
  const fake = Fake.make({ assets })
  fake.readiness.set("starting")
  expect(await fake.ask({ target: "/" })).toMatchObject({ status: 200, body: assets.document })
  const bare = Fake.make()
  const response = await bare.ask({ target: "/connect?code=x" })
  expect(response.headers["content-type"]).toBe("text/plain; charset=utf-8")
  expect(response.body).toContain("npm run build")
  expect((await bare.ask({ target: "/assets/main-1.js" })).status).toBe(404)
  expect((await bare.ask({ target: "/healthz" })).status).toBe(200)
})

const read = (from: string): Promise<Built | undefined> =>
  Effect.runPromise(Effect.provide(Effect.map(Assets, (built) => built), Layer.fresh(NodeAssets.layer(from))))

test("a folder is read as it was built, without what is no page's", async () => {
  expect(await read(path.join(folder, "nowhere"))).toBeUndefined()
  fs.mkdirSync(path.join(folder, "assets"))
  fs.writeFileSync(path.join(folder, "assets/main-1.js"), "0")
  fs.writeFileSync(path.join(folder, "assets/icon-1.svg"), "<svg/>")
  fs.writeFileSync(path.join(folder, "assets/notes.txt"), "nobody's")
  expect(await read(folder)).toBeUndefined()
  fs.writeFileSync(path.join(folder, "index.html"), "<!DOCTYPE html>")
  const built = await read(folder)
  expect(built?.document).toBe("<!DOCTYPE html>")
  expect([...built?.files ?? []].map(([name, { contentType }]) => [name, contentType]).sort()).toEqual([
    ["icon-1.svg", "image/svg+xml"],
    ["main-1.js", "text/javascript; charset=utf-8"]
  ])
})

const target = "dist/console"

test("what was built names its files by what is in them, has nothing inline, and asks for nothing from elsewhere", ({ skip }) => {
  if (!fs.existsSync(path.join(target, "index.html"))) skip("the pages are built by npm run build")
  const document = fs.readFileSync(path.join(target, "index.html"), "utf8")
  const named = [...document.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!)
  const files = fs.readdirSync(path.join(target, "assets")).map((name) => `/assets/${name}`)
  // A chunk that is loaded when a page is opened is named by the script that loads it.
  const script = fs.readFileSync(path.join(target, named.find((address) => address.endsWith(".js"))!), "utf8")
  const imported = [...script.matchAll(/import\("\.\/([^"]+)"\)/g)].map(([, name]) => `/assets/${name!}`)
  expect([...named.filter((address) => address !== "/docs"), ...imported].sort()).toEqual(files.sort())
  for (const file of files) expect(file).toMatch(/-(?:[0-9a-f]{12}\.(?:js|css|svg)|[0-9A-Z]{8}\.js)$/)
  expect(document).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/)
  const sheet = files.filter((file) => file.endsWith(".css")).map((file) => fs.readFileSync(path.join(target, file), "utf8")).join("")
  expect(sheet).not.toMatch(/@import|url\(/)
})
