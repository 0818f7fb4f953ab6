/** `venue connect` against the real edge and engine, under a clock that the test moves; and where the key is stored. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import SqliteDatabase from "better-sqlite3"
import { execFile } from "node:child_process"
import { pathToFileURL } from "node:url"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import * as Connect from "../../src/cli/venue/Connect.js"
import { apiKeyOf, defaultKeyFile, readKeys } from "../../src/client/ccxt/NodeKeyFile.js"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import * as Fake from "../edge/FakeVenue.js"
import { LiveVenue } from "../edge/LiveVenue.js"
import { line, run, runAll } from "./Tool.js"
import { nextTurn } from "../Turn.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "connect-"))
afterAll(() => fs.rmSync(folder, { recursive: true }))

const url = "http://venue.test"
const session = `ses_${"s".repeat(43)}`

/** A venue with an owner who is signed in. */
const owned = () => {
  const venue = LiveVenue.make()
  const tokenSha256 = ApiKeys.digest(session)
  venue.send({
    kind: "OpenOwnerAccount",
    credentialId: "AAAA",
    userHandle: "BBBB",
    publicKey: "CCCC",
    signCount: 0,
    transports: "internal",
    displayName: "A passkey",
    tokenSha256,
    remoteAddress: "192.0.2.1"
  })
  return { venue, accountId: venue.engine.accountId(venue.engine.findSession(tokenSha256)!.account) }
}

/** The venue behind an HTTP client; answers for which `lost` returns true do not arrive. */
const clientOf = (venue: LiveVenue, seen: Array<string>, lost: () => boolean = () => false): HttpClient.HttpClient =>
  HttpClient.make((request, target) =>
    Effect.promise(() =>
      venue.ask({
        method: request.method,
        target: target.pathname,
        body: request.body._tag === "Uint8Array" ? JSON.parse(Buffer.from(request.body.body).toString()) : undefined
      })
    ).pipe(Effect.flatMap(({ body, status }) => {
      seen.push(target.pathname)
      return lost()
        ? Effect.fail(new HttpClientError.RequestError({ request, reason: "Transport", description: "cut" }))
        : Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body, { status })))
    }))
  )

const askedIn = (keyFile: string, name = "maker"): Connect.Asked => ({
  url,
  name,
  scopes: ["read", "trade"],
  keyLifetimeSeconds: 3_600,
  keyFile,
  codeVerifier: "v".repeat(43)
})

/** Runs the agent, while the test acts each second. */
const connecting = (
  venue: LiveVenue,
  client: HttpClient.HttpClient,
  asked: Connect.Asked,
  eachSecond: (shown: ReadonlyArray<string>, second: number) => Promise<void>
) =>
  Effect.runPromise(Effect.gen(function*() {
    yield* TestClock.setTime(venue.atEpochMs)
    const shown: Array<string> = []
    const agent = yield* Connect.connect(asked, (lines) => Effect.sync(() => void shown.push(...lines))).pipe(
      Effect.provideService(HttpClient.HttpClient, client),
      Effect.either,
      Effect.fork
    )
    for (let second = 0; second < 700 && (yield* Fiber.poll(agent))._tag === "None"; second++) {
      for (let turn = 0; turn < 20; turn++) yield* Effect.promise(nextTurn)
      yield* Effect.promise(() => eachSecond(shown, second))
      venue.atEpochMs += 1_000
      yield* TestClock.adjust("1 second")
    }
    return { shown, result: yield* Fiber.join(agent) }
  }).pipe(Effect.provide(TestContext.TestContext)))

const decide = (venue: LiveVenue, accountId: string, shown: ReadonlyArray<string>, how: "approve" | "deny") => {
  const userCode = shown[0]!.replace("code   ", "")
  const body = how === "approve" ? { userCode, scopes: ["read", "trade"] } : { userCode }
  return venue.ask({ target: `/v1/accounts/${accountId}/agent-connect/${how}`, body, key: session })
}

test("the owner approves, and the key is in the file, for its user alone, and works", async () => {
  const { accountId, venue } = owned()
  const keyFile = path.join(folder, "new", "keys.json")
  const seen: Array<string> = []
  const { result, shown } = await connecting(venue, clientOf(venue, seen), askedIn(keyFile), async (told, second) => {
    if (second === 12) expect((await decide(venue, accountId, told, "approve")).status).toBe(200)
  })
  expect(result).toMatchObject({ _tag: "Right", right: { accountId, name: "maker", scopes: ["read", "trade"] } })
  // It polls every five seconds, twice before the owner decided.
  expect(seen).toEqual(["/v1/agent-connect", ...Array.from({ length: 3 }, () => "/v1/agent-connect/exchange")])
  expect(fs.statSync(keyFile).mode & 0o777).toBe(0o600)
  expect(fs.statSync(path.dirname(keyFile)).mode & 0o777).toBe(0o700)
  const apiKey = apiKeyOf(`${url}/`, "maker", keyFile)
  expect(JSON.stringify([result, shown])).not.toContain(apiKey)
  const current = Fake.json(await venue.ask({ target: "/v1/api-keys/current", key: apiKey }))
  expect(current.key).toMatchObject({ accountId, clientName: "maker", state: "active" })

  // A second key replaces the first under the same name, and is stored beside it under another.
  const approving = async (told: ReadonlyArray<string>, second: number) => {
    if (second === 1) await decide(venue, accountId, told, "approve")
  }
  await connecting(venue, clientOf(venue, []), askedIn(keyFile), approving)
  await connecting(venue, clientOf(venue, []), askedIn(keyFile, "taker"), approving)
  expect(readKeys(keyFile).map(({ name }) => name)).toEqual(["maker", "taker"])
  expect(apiKeyOf(url, "maker", keyFile)).not.toBe(apiKey)
})

test("the owner denies it", async () => {
  const { accountId, venue } = owned()
  const keyFile = path.join(folder, "denied.json")
  const { result } = await connecting(venue, clientOf(venue, []), askedIn(keyFile), async (told, second) => {
    if (second === 1) await decide(venue, accountId, told, "deny")
  })
  expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Denied" } })
  expect(fs.existsSync(keyFile)).toBe(false)
})

test("nobody decides, and it ends", async () => {
  const { venue } = owned()
  const { result } = await connecting(venue, clientOf(venue, []), askedIn(path.join(folder, "late.json")), async () => {})
  expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Denied" } })
})

test("where the venue is asked too often, it asks more rarely", async () => {
  const { accountId, venue } = owned()
  const seen: Array<string> = []
  const times: Array<number> = []
  const slow = JSON.stringify({ code: "slow_down", safeMessage: "You ask more often than the interval allows." })
  const plain = clientOf(venue, seen)
  // Its first two polls are told to slow down, in place of the venue's answer.
  const client = HttpClient.make((request) =>
    request.url.endsWith("/exchange") && times.push(venue.atEpochMs) <= 2
      ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response(slow, { status: 400 })))
      : plain.execute(request)
  )
  const began = venue.atEpochMs
  const { result } = await connecting(venue, client, askedIn(path.join(folder, "slow.json")), async (told, second) => {
    if (second === 1) await decide(venue, accountId, told, "approve")
  })
  expect(result._tag).toBe("Right")
  expect(times.map((time) => time - began)).toEqual([5_000, 15_000, 30_000])
})

test("lost answers are asked for again", async () => {
  const { accountId, venue } = owned()
  const keyFile = path.join(folder, "lost.json")
  const seen: Array<string> = []
  const { result } = await connecting(venue, clientOf(venue, seen, () => seen.length === 2), askedIn(keyFile), async (told, second) => {
    if (second === 7) await decide(venue, accountId, told, "approve")
  })
  expect(result._tag).toBe("Right")
})

test("a proxy's answers and a defect of the venue do not end the wait, and are no refusal at its beginning", async () => {
  const { accountId, venue } = owned()
  const plain = clientOf(venue, [])
  const defect = JSON.stringify({ version: "external-rest-error/v1", code: "internal_error", safeMessage: "Something went wrong." })
  const others = [["<html>bad gateway</html>", 502], ["<html>gateway timeout</html>", 504], [defect, 500]] as const
  let polls = 0
  const client = HttpClient.make((request) => {
    const other = request.url.endsWith("/exchange") ? others[polls++] : undefined
    return other === undefined
      ? plain.execute(request)
      : Effect.succeed(HttpClientResponse.fromWeb(request, new Response(other[0], { status: other[1] })))
  })
  const { result } = await connecting(venue, client, askedIn(path.join(folder, "proxied.json")), async (told, second) => {
    if (second === 7) await decide(venue, accountId, told, "approve")
  })
  expect([result._tag, polls]).toEqual(["Right", 4])
  const never = HttpClient.make((request) =>
    request.url.endsWith("/exchange")
      ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response("<html>bad gateway</html>", { status: 502 })))
      : plain.execute(request)
  )
  const untold = await connecting(venue, never, askedIn(path.join(folder, "proxied.json")), async () => {})
  expect(untold.result).toMatchObject({ _tag: "Left", left: { _tag: "NoVenue" } })
  for (const [text, status] of others) {
    const first = HttpClient.make((request) => Effect.succeed(HttpClientResponse.fromWeb(request, new Response(text, { status }))))
    const begun = await connecting(venue, first, askedIn(path.join(folder, "proxied.json")), async () => {})
    expect(begun.result).toMatchObject({ _tag: "Left", left: { _tag: "NoVenue" } })
  }
})

test("a file that cannot be used is found out before anybody is asked", async () => {
  const { venue } = owned()
  const keyFile = path.join(folder, "broken.json")
  fs.writeFileSync(keyFile, "{}")
  const seen: Array<string> = []
  const { result } = await connecting(venue, clientOf(venue, seen), askedIn(keyFile), async () => {})
  expect([result._tag === "Left" && result.left._tag, seen]).toEqual(["NoFile", []])
})

test("programs that put keys there at one time lose none of them", async () => {
  const file = path.join(folder, "together.json")
  const put = (name: string) =>
    Connect.put(file, { url, name, accountId: "acc_1", keyId: `key_${name}`, scopes: ["read"], expiresAtEpochMs: 1, apiKey: `pk_${name}` })
  await Effect.runPromise(put("first"))
  const turn = new SqliteDatabase(`${file}.lock`)
  turn.exec("BEGIN EXCLUSIVE")
  const waiting = execFile(process.execPath, [
    "--input-type=module",
    "-e",
    `import { put } from ${JSON.stringify(pathToFileURL(path.resolve("dist/src/cli/venue/Connect.js")).href)}
     import { runPromise } from "effect/Effect"
     process.stdout.write("asks")
     await runPromise(put(${JSON.stringify(file)}, ${
      JSON.stringify({ url, name: "second", accountId: "acc_1", keyId: "key_2", scopes: ["read"], expiresAtEpochMs: 1, apiKey: "pk_2" })
    }))`
  ])
  const ended = new Promise((resolve) => waiting.once("exit", resolve))
  await new Promise((resolve) => waiting.stdout!.once("data", resolve))
  // A change made to the file while one program holds it is kept by the next one.
  fs.writeFileSync(file, JSON.stringify({ keys: [...readKeys(file), { ...readKeys(file)[0]!, name: "third" }] }))
  turn.close()
  expect(await ended).toBe(0)
  expect(readKeys(file).map(({ name }) => name)).toEqual(["first", "third", "second"])
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
})

test("a file that was left behind is replaced, and lends the keys neither its mode nor what it points to", async () => {
  const file = path.join(folder, "left.json")
  const elsewhere = path.join(folder, "elsewhere")
  const put = (name: string) =>
    Effect.runPromise(
      Connect.put(file, {
        url,
        name,
        accountId: "acc_1",
        keyId: `key_${name}`,
        scopes: ["read"],
        expiresAtEpochMs: 1,
        apiKey: `pk_${name}`
      })
    )
  fs.writeFileSync(`${file}.tmp`, "{\"keys\": [", { mode: 0o666 })
  fs.chmodSync(`${file}.tmp`, 0o666)
  await put("first")
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  fs.symlinkSync(elsewhere, `${file}.tmp`)
  await put("second")
  expect([fs.existsSync(elsewhere), readKeys(file).map(({ name }) => name)]).toEqual([false, ["first", "second"]])
})

test("keys are found by venue and name, and a key that is missing says how to get one", () => {
  const file = path.join(folder, "nowhere.json")
  expect(readKeys(file)).toEqual([])
  expect(() => apiKeyOf("http://127.0.0.1:8080/", "maker", file)).toThrow(
    "npm run venue -- connect --url http://127.0.0.1:8080 --name maker"
  )
  expect(defaultKeyFile({ XDG_CONFIG_HOME: "/x" })).toBe("/x/perpetuum/keys.json")
  expect(defaultKeyFile({})).toBe(path.join(os.homedir(), ".config/perpetuum/keys.json"))
})

test("a wrong command line is told", async () => {
  const wrong = [
    [["--scopes", "read,read"], "--scopes takes"],
    [["--scopes", "withdraw"], "--scopes takes"],
    [["--lifetime", "299"], "--lifetime is from 300"],
    [["--url", "http://venue.example"], "--over-http"],
    [["--url", "http://127.0.0.1.venue.example:8080"], "--over-http"],
    [["--url", "venue.example"], "--url takes scheme, host and port alone, as https://venue.example"]
  ] as const
  const unused = ["--key-file", path.join(folder, "unused.json")]
  const told = await runAll(wrong.map(([args]) => line("dist/tools/venue.js", ["connect", ...args, ...unused])))
  expect(told.map(({ code, stderr }) => [code, stderr])).toEqual(wrong.map(([, says]) => [3, expect.stringContaining(says)]))
})

test("a venue that is not there is told", async () => {
  const { code, stderr } = await run("dist/tools/venue.js", [
    "connect",
    "--url",
    "http://127.0.0.1:1",
    "--key-file",
    path.join(folder, "unused.json")
  ])
  expect([code, stderr]).toEqual([2, expect.stringContaining("http://127.0.0.1:1 cannot be reached")])
})

test("what a venue says of itself hides nothing on a terminal, and forges no line", async () => {
  const { venue } = owned()
  const hiding = "\u001b[8m\nwaiting for nobody"
  const over = { code: "invalid_request", safeMessage: hiding }
  const plain = clientOf(venue, [])
  const client = HttpClient.make((request) =>
    Effect.flatMap(plain.execute(request), (response) =>
      Effect.map(response.text, (text) => {
        const begun = { ...JSON.parse(text), verificationUriComplete: hiding }
        const [answer, status] = request.url.endsWith("/exchange") ? [over, 400] : [begun, 200]
        return HttpClientResponse.fromWeb(request, new Response(JSON.stringify(answer), { status }))
      }))
  )
  const { result, shown } = await connecting(venue, client, askedIn(path.join(folder, "hiding.json")), async () => {})
  const said = "\\u001b[8m\\u000awaiting for nobody"
  expect(shown.flat()).toEqual([expect.stringMatching(/^code {3}\S+$/), `link   ${said}`, "waiting for the account's owner"])
  expect(result).toMatchObject({ _tag: "Left", left: { text: `invalid_request: ${said}` } })
})
