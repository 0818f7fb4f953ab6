import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import type * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, it } from "vitest"
import * as Metrics from "../../src/cli/venue/Metrics.js"
import * as Http from "../../src/cli/venue/Http.js"
import * as Operator from "../../src/cli/venue/Operator.js"
import * as Reconcile from "../../src/cli/venue/Reconcile.js"
import { Disk } from "../../src/journal/Disk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { announcedTerms } from "../../src/edge/markets/Snapshot.js"
import type { MarketView } from "../../src/engine/Reads.js"
import { parameters as marketParameters, RandomDriver } from "../engine/drive.js"
import * as Recorded from "./Recorded.js"
import { line, run, runAll } from "./Tool.js"

/** A request as the server saw it. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly key: string | undefined
  readonly authorization: string | undefined
  readonly body: unknown
}

type Reply = { readonly status: number; readonly body: unknown } | "no connection"

/** Answers each request in turn, and records the requests. */
const answering = (replies: ReadonlyArray<Reply>) => {
  const seen: Array<Seen> = []
  const client = HttpClient.make((request) =>
    Effect.suspend(() => {
      const reply = replies[seen.length]
      seen.push(seenOf(request))
      if (reply === undefined || reply === "no connection") {
        return Effect.fail(new HttpClientError.RequestError({ request, reason: "Transport", description: "refused" }))
      }
      const text = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body)
      return Effect.succeed(HttpClientResponse.fromWeb(request, new Response(text, { status: reply.status })))
    })
  )
  return { seen, client }
}

const seenOf = (request: HttpClientRequest.HttpClientRequest): Seen => ({
  method: request.method,
  url: request.url,
  key: request.headers["idempotency-key"],
  authorization: request.headers["authorization"],
  body: request.body._tag === "Uint8Array" ? JSON.parse(Buffer.from(request.body.body).toString()) : undefined
})

const target: Operator.Target = {
  url: "http://venue.test",
  token: "operator-token-of-tests",
  retries: 2,
  triesAgain: () => Effect.void
}

const asked = <A, E>(replies: ReadonlyArray<Reply>, task: Effect.Effect<A, E, HttpClient.HttpClient>) => {
  const { client, seen } = answering(replies)
  return Effect.runPromise(
    Effect.either(Effect.provideService(task, HttpClient.HttpClient, client)).pipe(Effect.map((result) => ({ result, seen })))
  )
}

const done = (operation: string, more: object = {}): Reply => ({
  status: 200,
  body: { version: "operator-result/v1", operation, idempotencyKey: "k", sequence: 7, decidedAtEpochMs: 1, ...more }
})

const envelope = (status: number, code: string): Reply => ({
  status,
  body: {
    version: "external-rest-error/v1",
    requestId: "req_1",
    code,
    safeMessage: "A sentence.",
    retryable: status === 503,
    recoveryActions: [],
    occurredAtEpochMs: 1
  }
})

const hiding = "\u001b[31mx\u001b[8m\nall is well\u202e"
const shown = "\\u001b[31mx\\u001b[8m\\u000aall is well\\u202e"

it.each([
  ["a refusal", 404, { ...(envelope(404, "market_not_found") as { readonly body: object }).body, safeMessage: hiding }],
  ["no decision", 503, { ...(envelope(503, "overloaded") as { readonly body: object }).body, safeMessage: hiding }],
  ["another contract", 200, { version: hiding }],
  ["what is no JSON", 200, `{"a": ${hiding}`]
])("texts of whoever answers hide nothing on a terminal, and forge no line: %s", async (_, status, body) => {
  const reply = { status, body }
  const { result } = await asked([reply, reply, reply], Operator.halt(target, "k"))
  expect(result._tag).toBe("Left")
  const { text } = result._tag === "Left" ? result.left : { text: "" }
  expect(text).not.toMatch(/(?!\n)\p{C}/u)
  expect(text.split("\n")).not.toContainEqual(expect.stringMatching(/^all is well/))
  if (status !== 200) expect(text).toContain(shown)
})

describe("an operator's request", () => {
  it.each([
    ["halt", Operator.halt(target, "k"), "PUT", "/v1/operator/engine/halt", undefined, "halt_engine"],
    ["resume", Operator.resume(target, "k"), "DELETE", "/v1/operator/engine/halt", undefined, "resume_engine"],
    [
      "a retention",
      Operator.setRetention(target, "k", 3_600_000),
      "PUT",
      "/v1/operator/limits",
      { idempotencyRetentionMs: 3_600_000 },
      "set_limits"
    ],
    [
      "a market's status",
      Operator.setMarketStatus(target, "k", "BTC-USDC-PERP", "open"),
      "PUT",
      "/v1/operator/markets/BTC-USDC-PERP/status",
      { status: "open" },
      "set_market_status"
    ],
    ["an addition to the fund", Operator.addToFund(target, "k", "1.5"), "POST", "/v1/operator/insurance-fund", { amount: "1.5" },
      "add_to_insurance_fund"],
    [
      "a delisting at once",
      Operator.delist(target, "k", "BTC-USDC-PERP", undefined),
      "PUT",
      "/v1/operator/markets/BTC-USDC-PERP/delisting",
      {},
      "delist_market"
    ],
    [
      "a delisting at a time",
      Operator.delist(target, "k", "BTC-USDC-PERP", 1_800_000_000_000),
      "PUT",
      "/v1/operator/markets/BTC-USDC-PERP/delisting",
      { effectiveAtEpochMs: 1_800_000_000_000 },
      "delist_market"
    ],
    [
      "the withdrawal of a delisting",
      Operator.withdrawDelisting(target, "k", "BTC-USDC-PERP"),
      "DELETE",
      "/v1/operator/markets/BTC-USDC-PERP/delisting",
      undefined,
      "withdraw_delisting"
    ],
    [
      "an index price",
      Operator.setIndexPrice(target, "k", "A/B", "60000.5"),
      "PUT",
      "/v1/operator/markets/A%2FB/index-price",
      { price: "60000.5" },
      "set_index_price"
    ]
  ])("for %s goes where the contract says", async (_what, task, method, place, body, operation) => {
    const { result, seen } = await asked([done(operation)], task)
    expect(result._tag).toBe("Right")
    expect(seen).toEqual([
      { method, url: `${target.url}${place}`, key: "k", authorization: `Bearer ${target.token}`, body }
    ])
  })

  it("for a credit or for flags goes where the contract says", async () => {
    const decided = { accountId: "acc_1s", idempotencyKey: "k", sequence: 7, decidedAtEpochMs: 1 }
    const money = { amount: "1.500000", amountAtoms: "1500000", balance: "1.500000", balanceAtoms: "1500000" }
    const flags = { bot: false, load_harness: false, disabled: true }
    const credit = await asked(
      [{ status: 200, body: { version: "demo-credit/v1", ...money, ...decided } }],
      Operator.credit(target, "k", "acc_1s", "1.5")
    )
    const flagged = await asked(
      [{ status: 200, body: { version: "account-flags/v1", flags, mayTrade: false, ...decided } }],
      Operator.setAccountFlags(target, "k", "acc_1s", { disabled: true })
    )
    expect([credit.result._tag, flagged.result._tag]).toEqual(["Right", "Right"])
    const sent = { key: "k", authorization: `Bearer ${target.token}` }
    expect([...credit.seen, ...flagged.seen]).toEqual([
      { method: "POST", url: `${target.url}/v1/operator/demo/credits`, body: { accountId: "acc_1s", amount: "1.5" }, ...sent },
      { method: "PUT", url: `${target.url}/v1/operator/accounts/acc_1s/flags`, body: { disabled: true }, ...sent }
    ])
  })

  it("without an answer is sent again under its key", async () => {
    const { result, seen } = await asked(
      ["no connection", envelope(503, "starting"), done("halt_engine")],
      Operator.halt(target, "the-key")
    )
    expect(result._tag).toBe("Right")
    expect(seen.map(({ key }) => key)).toEqual(["the-key", "the-key", "the-key"])
  })

  it("gives up after its retries, and does not claim to know", async () => {
    const { result, seen } = await asked([], Operator.halt(target, "k"))
    expect(result).toMatchObject({ _tag: "Left", left: { _tag: "NoAnswer" } })
    expect(seen).toHaveLength(1 + target.retries)
  })

  it.each(
    [
      ["ECONNREFUSED", 3, "NoAnswer", ["http://venue.test cannot be reached: ECONNREFUSED"]],
      ["DEPTH_ZERO_SELF_SIGNED_CERT", 1, "Untrusted", []],
      ["ERR_TLS_CERT_ALTNAME_INVALID", 1, "Untrusted", []]
    ] as const
  )("that the network fails with %s says so, and is repeated only where that can help", async (code, tries, _tag, told) => {
    const texts: Array<string> = []
    let asked = 0
    const client = HttpClient.make((request) =>
      Effect.suspend(() => {
        asked++
        const cause = new TypeError("fetch failed", { cause: Object.assign(new Error("a reason"), { code }) })
        return Effect.fail(new HttpClientError.RequestError({ request, reason: "Transport", cause }))
      })
    )
    const triesAgain = (text: string) => Effect.sync(() => void texts.push(text))
    const failed = await Effect.runPromise(
      Effect.flip(Operator.halt({ ...target, triesAgain }, "k")).pipe(Effect.provideService(HttpClient.HttpClient, client))
    )
    expect([asked, failed._tag, texts]).toEqual([tries, _tag, told])
    expect(failed.text).toContain(`: ${code}`)
  })

  it("how the venue stands is told by its readiness where its metrics do not come", async () => {
    const body = {
      version: "readiness/v1",
      status: "unavailable",
      dependency: "journal",
      reason: "a block has been on its way to the disk for 61000 ms",
      durableSequence: 3,
      details: {},
      markets: []
    }
    const { result } = await asked([{ status: 503, body }, "no connection"], Operator.status("http://venue.test"))
    expect(result).toMatchObject({ _tag: "Right", right: { readiness: { reason: body.reason }, metrics: { _tag: "Left" } } })
  })

  it("a comparison of books that got no answer is not begun again beside the one that may be under way", async () => {
    const { seen } = await asked(["no connection"], Operator.reconcile(target, "k"))
    expect(seen).toHaveLength(1)
  })

  it("that is refused is not sent again", async () => {
    const { result, seen } = await asked([envelope(404, "market_not_found")], Operator.halt(target, "k"))
    expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Refused", status: 404, code: "market_not_found" } })
    expect(seen).toHaveLength(1)
  })

  it("that is refused tells the guard and what was compared", async () => {
    const { body } = envelope(422, "order_rejected") as { readonly body: object }
    const refused = { status: 422, body: { ...body, rejectionGuard: "fees_insufficient", limit: "2.640000", actual: "1000.000000" } }
    const { result } = await asked([refused], Operator.addToFund(target, "k", "1000.0"))
    const text = "order_rejected: A sentence. (fees_insufficient, limit 2.640000, actual 1000.000000, request req_1)"
    expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Refused", text } })
  })

  // These commands would act twice under two keys, so the outcome of the first try has to be found under its own key.
  it.each([
    ["a proxy's 502", { status: 502, body: "<html>bad gateway</html>" }],
    ["a proxy's 504", { status: 504, body: "<html>gateway timeout</html>" }],
    ["a proxy's 503, which is no envelope", { status: 503, body: "<html>unavailable</html>" }],
    ["JSON that is no envelope", { status: 404, body: { error: "no route" } }],
    ["another status", { status: 418, body: {} }],
    ["a defect, which may have come behind the decision", envelope(500, "internal_error")]
  ] as ReadonlyArray<[string, Reply]>)("answered by %s is sent again under its key, and is unknown after that", async (_what, reply) => {
    const told = await asked([reply, done("add_to_insurance_fund")], Operator.addToFund(target, "the-key", "1000.0"))
    expect(told.result).toMatchObject({ _tag: "Right", right: { sequence: 7 } })
    expect(told.seen.map(({ key }) => key)).toEqual(["the-key", "the-key"])
    const never = await asked([reply], Operator.addToFund({ ...target, retries: 0 }, "the-key", "1000.0"))
    expect(never.result).toMatchObject({ _tag: "Left", left: { _tag: "NoAnswer" } })
  })

  it.each([
    ["another success", { status: 200, body: { hello: "world" } }],
    ["no JSON", { status: 200, body: "<html>" }],
    ["an envelope with a code of another status", envelope(404, "engine_halted")]
  ] as ReadonlyArray<[string, Reply]>)("answered by %s is not the contract's", async (_what, reply) => {
    const { result, seen } = await asked([reply], Operator.halt(target, "k"))
    expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Unexpected" } })
    expect(seen).toHaveLength(1)
  })
})

describe("demo accounts", () => {
  const opened = (from: number, count: number): Reply => ({
    status: 200,
    body: {
      version: "demo-accounts/v1",
      accounts: Array.from({ length: count },
        (_, index) => ({ accountId: `acc_${from + index}`, apiKey: `pk_${from + index}`, expiresAtEpochMs: 2 })),
      sequence: 3,
      decidedAtEpochMs: 1
    }
  })

  it("are opened 32 at a time, each batch under a key of its own, and told in order", async () => {
    const { result, seen } = await asked(
      [opened(0, 32), "no connection", opened(32, 32), opened(64, 6)],
      Operator.openDemoAccounts(target, "k", { accounts: 70, collateral: "1000000", lifetime: 300 })
    )
    expect(seen.map(({ body, key }) => [key, body])).toEqual([
      ["k/0", { accounts: 32, collateral: "1000000", keyLifetimeSeconds: 300 }],
      ["k/1", { accounts: 32, collateral: "1000000", keyLifetimeSeconds: 300 }],
      ["k/1", { accounts: 32, collateral: "1000000", keyLifetimeSeconds: 300 }],
      ["k/2", { accounts: 6, collateral: "1000000", keyLifetimeSeconds: 300 }]
    ])
    expect(result).toEqual(expect.objectContaining({
      right: Array.from({ length: 70 }, (_, index) => ({ accountId: `acc_${index}`, apiKey: `pk_${index}`, expiresAtEpochMs: 2 }))
    }))
  })
})

describe("cancels", () => {
  const canceled = (canceledOrders: number, remainingOrders: number, lastSequence: number): Reply => ({
    status: 200,
    body: {
      version: "operator-cancel/v1",
      accountId: "acc_1",
      canceledOrders,
      remainingOrders,
      lastSequence,
      idempotencyKey: "k",
      decidedAtEpochMs: 1
    }
  })

  it("go on until nothing is left, each request under a key of its own, and every answer is told", async () => {
    const told: Array<readonly [number, number]> = []
    const { result, seen } = await asked(
      [canceled(64, 70, 5), "no connection", canceled(64, 6, 6), canceled(6, 0, 7)],
      Operator.cancel(target, "k", { accountId: "acc_1" }, ({ canceledOrders, remainingOrders }) =>
        Effect.sync(() => {
          told.push([canceledOrders, remainingOrders])
        }))
    )
    expect(result).toMatchObject({ _tag: "Right", right: 134 })
    expect(seen.map(({ body, key, method, url }) => [method, url, key, body])).toEqual(
      ["k/0", "k/1", "k/1", "k/2"].map((key) => ["POST", `${target.url}/v1/operator/orders/cancel`, key, { accountId: "acc_1" }])
    )
    expect(told).toEqual([[64, 70], [64, 6], [6, 0]])
  })

  it("that are refused end there", async () => {
    const { result, seen } = await asked(
      [envelope(404, "account_not_found")],
      Operator.cancel(target, "k", { accountId: "acc_none" }, () => Effect.void)
    )
    expect(result).toMatchObject({ _tag: "Left", left: { _tag: "Refused", code: "account_not_found" } })
    expect(seen).toHaveLength(1)
  })
})

describe("metrics", () => {
  it("are told as they are, histograms by count and mean, the runtime's left out", () => {
    expect(Metrics.summarize([
      "# HELP venue_orders Orders.",
      "# TYPE venue_orders gauge",
      "venue_orders 12",
      "venue_requests_total{route=\"a b\",status=\"200\"} 3",
      "venue_turn_seconds_bucket{le=\"0.1\"} 4",
      "venue_turn_seconds_sum 0.5",
      "venue_turn_seconds_count 4",
      "venue_empty_seconds_sum 0",
      "venue_empty_seconds_count 0",
      "process_cpu_seconds_total 9",
      ""
    ].join("\n"))).toEqual([
      { name: "venue_orders", value: "12" },
      { name: "venue_requests_total{route=\"a b\",status=\"200\"}", value: "3" },
      { name: "venue_turn_seconds", value: "4, mean 0.125" },
      { name: "venue_empty_seconds", value: "0" }
    ])
  })

  it("leave what is told of each market to its table, and tell of a halt", () => {
    expect(Metrics.summarize("venue_index_stale{market=\"A\"} 1\nvenue_index_age_ms{market=\"A\"} 5\nvenue_index_held{market=\"A\"} 0"))
      .toEqual([])
    expect(["venue_halted 1", "venue_halted 0", ""].map(Metrics.trading)).toEqual(["halted", "not halted", "unknown"])
  })
})

describe("the command", () => {
  const program = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../tools/venue.js")
  const folders: Array<string> = []
  afterAll(() => {
    for (const made of folders) fs.rmSync(made, { recursive: true })
  })

  const recorded = async () => {
    const recording = new Recorded.RecordingEngine()
    const driver = new RandomDriver(3, recording)
    for (let step = 0; step < 100; step++) driver.step()
    const folder = Recorded.newFolder()
    folders.push(folder)
    return { recording, ...(await Recorded.write(recording, folder)) }
  }

  it("prints demo accounts as JSON and nothing else, with the token of the data directory", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    fs.writeFileSync(path.join(folder, "operator-token"), "kept-token-of-tests\n")
    const accounts = [{ accountId: "acc_1", apiKey: "pk_1", expiresAtEpochMs: 5 }, {
      accountId: "acc_2",
      apiKey: "pk_2",
      expiresAtEpochMs: 5
    }]
    const authorizations: Array<string | undefined> = []
    const server = http.createServer((request, response) => {
      authorizations.push(request.headers.authorization)
      request.resume().on("end", () => {
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify({ version: "demo-accounts/v1", accounts, sequence: 3, decidedAtEpochMs: 1 }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const result = await run(program, ["demo", "--json", "--data", folder, "--url", `http://127.0.0.1:${port}/`])
    await new Promise((resolve) => server.close(resolve))
    expect(result).toEqual({ code: 0, stdout: `${JSON.stringify(accounts)}\n`, stderr: "" })
    expect(authorizations).toEqual(["Bearer kept-token-of-tests"])
  })

  it("demo accounts that take several requests can be told again where these break off", async () => {
    const accounts = [{ accountId: "acc_1", apiKey: "pk_1", expiresAtEpochMs: 5 }]
    const opened = { version: "demo-accounts/v1", accounts, sequence: 3, decidedAtEpochMs: 1 }
    const { asked, close, tool } = await answeringAt({ "POST /v1/operator/demo/accounts": opened })
    const { stderr, stdout } = await tool("demo", "--accounts", "33", "--json", "--key", "again")
    await close()
    expect(asked.map(({ body }) => JSON.parse(body).accounts)).toEqual([32, 1])
    expect(stderr).toBe(
      "opening 33 accounts: should this break off, the same again with --key again goes on and tells all their keys\n"
    )
    expect(JSON.parse(stdout)).toEqual([...accounts, ...accounts])
  })

  it("prints its key where the answer is not the contract's, and keeps one through a proxy's 502", async () => {
    const keys: Array<string | undefined> = []
    const server = http.createServer((request, response) => {
      keys.push(String(request.headers["idempotency-key"]))
      request.resume().on("end", () => {
        // The first request is answered by a proxy in front of the venue.
        response.writeHead(keys.length === 1 ? 502 : 200, { "content-type": "text/html" }).end("<html></html>")
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const { code, stderr } = await run(program, ["fund", "add", "1000.0", "--url", `http://127.0.0.1:${port}`], {
      OPERATOR_TOKEN: "operator-token-of-tests"
    })
    await new Promise((resolve) => server.close(resolve))
    expect([code, keys]).toEqual([2, [keys[0], keys[0]]])
    expect(stderr).toContain(`whether it was done is unknown; the same again with --key ${keys[0]} tells\n`)
  })

  it("sends the operator's token to no machine in the clear, unless that is meant", async () => {
    const halt = (...args: ReadonlyArray<string>) => line(program, ["halt", ...args], { OPERATOR_TOKEN: "operator-token-of-tests" })
    const refused = await runAll([halt("--url", "http://venue.example:8080"), halt("--url", "HTTP://venue.example")])
    for (const { code, stderr } of refused) expect([code, stderr]).toEqual([3, expect.stringContaining("--over-http")])
  })

  it("takes no answer of another place for the venue's", async () => {
    const asked: Array<string | undefined> = []
    const elsewhere = http.createServer((request, response) => {
      asked.push(request.headers.authorization)
      response.end(JSON.stringify({ version: "operator-result/v1", operation: "halt_engine", sequence: 7, decidedAtEpochMs: 1 }))
    })
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve))
    const place = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`
    const target = { url: "http://127.0.0.1", token: "t", retries: 0, triesAgain: () => Effect.void }
    const server = http.createServer((_, response) => response.writeHead(307, { location: place }).end())
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `${target.url}:${(server.address() as AddressInfo).port}`
    const told = await Effect.runPromise(Operator.halt({ ...target, url }, "k").pipe(Effect.provide(Http.layer), Effect.flip))
    expect(told).toMatchObject({ _tag: "NoAnswer", text: `${url} answers 307, and not as a venue does` })
    expect(asked).toEqual([])
    for (const each of [server, elsewhere]) await new Promise((resolve) => each.close(resolve))
  })

  it("says of what only looks no more than that there was no answer: nothing can have been done", async () => {
    const { close, tools } = await answeringAt({
      "GET /v1/operator/markets": { version: "another/v1" },
      "POST /v1/operator/markets/BTC-USDC-PERP/preview": { version: "another/v1" },
      "PUT /v1/operator/markets/BTC-USDC-PERP": { version: "another/v1" }
    })
    const folder = Recorded.newFolder()
    folders.push(folder)
    const file = path.join(folder, "market.json")
    fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync("fixtures/market.json", "utf8")), marketId: "BTC-USDC-PERP" }))
    const results = await tools([
      ["market", "list"],
      ["market", "show", "BTC-USDC-PERP"],
      ["market", "put", "--dry-run", file],
      ["market", "put", file]
    ])
    await close()
    expect(results.map(({ code }) => code)).toEqual([2, 2, 2, 2])
    for (const { stderr } of results) expect(stderr).toContain("does not speak this contract")
    expect(results.map(({ stderr }) => stderr.includes("whether it was done is unknown"))).toEqual([false, false, false, true])
  })

  it("writes a bundle that nobody but its owner may read", async () => {
    const { folder } = await recorded()
    const file = path.join(folder, "incident.bundle")
    const made = await run(program, ["bundle", "--data", folder, "--from", "1", "--to", "20", "--out", file])
    expect([made.code, made.stderr]).toEqual([0, ""])
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  it("prints the status, with a table of the markets, their sessions and their index", async () => {
    const at = Date.parse("2026-07-10T20:00:00Z")
    const session = (state: string) => ({
      state,
      asOfEpochMs: at,
      nextOpenEpochMs: at + 7_200_000,
      nextCloseEpochMs: at + 3_600_000,
      riskIncreasingOrderCutoffEpochMs: at + 2_700_000
    })
    const unknown = { ...session("closed"), nextOpenEpochMs: 0, nextCloseEpochMs: 0, riskIncreasingOrderCutoffEpochMs: 0 }
    const markets = [
      { marketId: "BTC-USDC-PERP", status: "open", indexAgeMs: 12_345, indexStale: true, indexHeld: true },
      { marketId: "ETH-USDC-PERP", status: "paused", indexStale: true, indexHeld: false },
      { marketId: "XAU-USDC-PERP", status: "open", session: session("closed"), indexAgeMs: 60_000, indexStale: false, indexHeld: false },
      { marketId: "XAG-USDC-PERP", status: "open", session: session("open"), indexAgeMs: 1, indexStale: false, indexHeld: false },
      { marketId: "SPX-USDC-PERP", status: "open", session: session("reduce_only"), indexAgeMs: 1, indexStale: false, indexHeld: false },
      { marketId: "DAX-USDC-PERP", status: "open", session: unknown, indexAgeMs: 1, indexStale: false, indexHeld: false }
    ]
    const server = http.createServer((request, response) => {
      response.end(
        request.url === "/readyz"
          ? JSON.stringify({ version: "readiness/v1", status: "ready", durableSequence: 3, details: { staleMarkets: 2 }, markets })
          : "venue_halted 1\n"
      )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const { code, stdout } = await run(program, ["status", "--url", `http://127.0.0.1:${port}`])
    await new Promise((resolve) => server.close(resolve))
    expect(code).toBe(0)
    expect(stdout).toMatch(/trading +│ halted/)
    expect(stdout).toMatch(/oldest stale index +│ ETH-USDC-PERP, never a price/)
    expect(stdout).toMatch(/BTC-USDC-PERP │ open +│ always open +│ +12 345 │ stale, a step is held back/)
    expect(stdout).toMatch(/ETH-USDC-PERP │ paused │ always open +│ +- │ stale/)
    expect(stdout).toMatch(/XAU-USDC-PERP │ open +│ closed until 2026-07-10T22:00:00.000Z +│ +60 000 │ - /)
    expect(stdout).toMatch(/XAG-USDC-PERP │ open +│ open until 2026-07-10T20:45:00.000Z +│ +1 │ fresh/)
    expect(stdout).toMatch(/SPX-USDC-PERP │ open +│ reduce_only until 2026-07-10T21:00:00.000Z +│ +1 │ fresh/)
    expect(stdout).toMatch(/DAX-USDC-PERP │ open +│ closed +│ +1 │ - /)
  })

  it("cancels, says how many of how many at each step, and ends with 1 where it is refused", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const bodies: Array<string> = []
    const answers = [
      { canceledOrders: 64, remainingOrders: 2, lastSequence: 8 },
      { canceledOrders: 2, remainingOrders: 0, lastSequence: 9 }
    ]
    const server = http.createServer((request, response) => {
      request.on("data", (chunk: Buffer) => bodies.push(chunk.toString())).on("end", () => {
        const answer = answers.shift()
        const refusal = envelope(404, "market_not_found") as { readonly body: object }
        response.statusCode = answer === undefined ? 404 : 200
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify(
          answer === undefined ? refusal.body : { version: "operator-cancel/v1", ...answer, idempotencyKey: "k", decidedAtEpochMs: 1 }
        ))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const cancel = () =>
      run(program, ["cancel", "--market", "BTC-USDC-PERP", "--account", "acc_1", "--data", folder, "--url", `http://127.0.0.1:${port}`], {
        OPERATOR_TOKEN: "token-of-tests"
      })
    const done = await cancel()
    const refused = await cancel()
    await new Promise((resolve) => server.close(resolve))
    expect([done.code, done.stderr]).toEqual([0, ""])
    expect(done.stdout.split("\n").map((line) => line.replace(/, 1970.*/, ""))).toEqual([
      "64 cancelled, 2 left: sequence 8",
      "2 cancelled, 0 left: sequence 9",
      "66 orders cancelled in all",
      ""
    ])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain("market_not_found")
    expect(bodies.map((body) => JSON.parse(body))).toEqual(
      Array.from({ length: 3 }, () => ({ accountId: "acc_1", marketId: "BTC-USDC-PERP" }))
    )
  })

  /** A venue that answers each path as scripted, and records the requests. */
  const answeringAt = async (answers: Readonly<Record<string, object>>) => {
    const asked: Array<{ readonly path: string; readonly body: string }> = []
    const server = http.createServer((request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      }).on("end", () => {
        const path = `${request.method} ${request.url}`
        asked.push({ path, body })
        const answer = answers[path] ?? (envelope(404, "market_not_found") as { readonly body: object }).body
        response.statusCode = path in answers ? 200 : 404
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify(answer))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const tool = (...args: ReadonlyArray<string>) => run(program, [...args, "--url", url], { OPERATOR_TOKEN: "token-of-tests" })
    const tools = (words: ReadonlyArray<ReadonlyArray<string>>) =>
      runAll(words.map((args) => line(program, [...args, "--url", url], { OPERATOR_TOKEN: "token-of-tests" })))
    return { asked, tool, tools, url, close: () => new Promise((resolve) => server.close(resolve)) }
  }

  it("shows a market as a file that puts the same market, and previews one without putting it", async () => {
    const { marketId, ...parameters } = JSON.parse(fs.readFileSync("fixtures/market.json", "utf8"))
    const place = `/v1/operator/markets/${marketId}`
    const preview = {
      version: "operator-market-preview/v1",
      marketId,
      outcome: "refused",
      refusal: { code: "invalid_request", rejectionGuard: "notice_required", safeMessage: "It needs notice.", nearest: "1796021282693" },
      differences: [{ parameter: "maxLeverageX", from: 50, to: 20 }],
      withdrawsAnnounced: true,
      openInterest: "5.0",
      openOrders: 3,
      underInitialMargin: 2,
      underMaintenanceMargin: 1,
      journalSequence: 7
    }
    const listing: { announced?: unknown } = {}
    const { asked, close, tool, tools } = await answeringAt({
      "GET /v1/operator/markets": {
        version: "operator-markets/v1",
        markets: [Object.assign(listing, { marketId, status: "draft", parameters })],
        journalSequence: 7
      },
      [`PUT ${place}`]: (done("put_market", { marketId }) as { readonly body: object }).body,
      [`POST ${place}/preview`]: preview
    })
    const folder = Recorded.newFolder()
    folders.push(folder)
    const [listed, shown, json, unknown] = await tools([
      ["market", "list"],
      ["market", "show", marketId],
      ["market", "show", marketId, "--json"],
      ["market", "show", "NONE-USDC-PERP"]
    ])
    expect([listed!.code, shown!.code, json!.code, unknown!.code]).toEqual([0, 0, 0, 1])
    expect(listed!.stdout).toMatch(/LINK-USDC-PERP │ crypto │ draft/)
    expect(shown!.stdout).toMatch(/maxLeverageX +│ 20/)
    expect(unknown!.stderr).toContain("there is no market NONE-USDC-PERP")
    const file = path.join(folder, "market.json")
    fs.writeFileSync(file, json!.stdout)
    const put = await tool("market", "put", file)
    expect([put.code, put.stderr]).toEqual([0, ""])
    expect(JSON.parse(asked.find(({ path }) => path.startsWith("PUT"))!.body)).toEqual(parameters)
    const puts = asked.filter(({ path }) => path.startsWith("PUT")).length
    const dry = await tool("market", "put", "--dry-run", file)
    expect(asked.filter(({ path }) => path.startsWith("PUT")).length).toBe(puts)
    expect(dry.code).toBe(1)
    expect(dry.stdout).toContain("LINK-USDC-PERP: would be refused (at sequence 7; nothing is changed)")
    expect(dry.stdout).toMatch(/maxLeverageX +│ 50 +│ 20/)
    expect(dry.stdout).toMatch(/accounts that would be liquidated +│ 1/)
    expect(dry.stdout).toContain("what is announced would be withdrawn")
    expect(dry.stderr).toContain(
      "would be refused: invalid_request: It needs notice. (notice_required, would pass: 2026-11-30T06:48:02.693Z)"
    )
    const market = marketParameters("LINK")
    const announcement = { effectiveAtEpochMs: 1_796_021_282_693, parameters: market }
    listing.announced = announcedTerms({ ...({} as MarketView), announced: announcement, parameters: market })
    const [withdrawing, repeated] = await tools([["market", "put", file], ["market", "put", file, "--key", "again"]])
    expect([withdrawing!.code, withdrawing!.stderr.trim()]).toEqual([0,
      `what was announced of ${marketId} for 2026-11-30T06:48:02.693Z is withdrawn`])
    expect([repeated!.code, repeated!.stderr]).toEqual([0, ""])
    const toCome = path.join(folder, "to-come.json")
    fs.writeFileSync(toCome, JSON.stringify({ ...JSON.parse(json!.stdout), effectiveAtEpochMs: 1_796_107_682_693 }))
    Object.assign(preview, { outcome: "announced", refusal: null })
    const [replacing, wouldReplace] = await tools([["market", "put", toCome], ["market", "put", "--dry-run", toCome]])
    expect([replacing!.code, replacing!.stderr.trim()]).toEqual([0,
      `what was announced of ${marketId} for 2026-11-30T06:48:02.693Z is replaced`])
    expect(wouldReplace!.stdout).toContain("what is announced would be replaced")
    await close()
  })

  it("shows what is announced of a market beside what holds, and its delisting, and why a draft has none", async () => {
    const { marketId, ...parameters } = JSON.parse(fs.readFileSync("fixtures/market.json", "utf8"))
    const { effectiveAtEpochMs: _, ...terms } = announcedTerms({
      ...({} as MarketView),
      announced: { effectiveAtEpochMs: 1, parameters: marketParameters("LINK") },
      parameters: marketParameters("LINK")
    })!
    // What an announcement repeats is no change.
    const present = { ...parameters, ...terms }
    const announced = { ...terms, effectiveAtEpochMs: 1_796_021_282_693, maxLeverageX: 5 }
    const listed = async (market: object, ...args: ReadonlyArray<string>) => {
      const markets = [{ marketId, status: "open", parameters: present, ...market }]
      const { close, tool } = await answeringAt({
        "GET /v1/operator/markets": { version: "operator-markets/v1", markets, journalSequence: 7 }
      })
      const { code, stderr, stdout } = await tool("market", ...args)
      await close()
      return { code, stderr, lines: stdout.split("\n").map((each) => each.split("│").slice(1, -1).map((cell) => cell.trim())) }
    }
    const shown = await listed({ announced }, "show", marketId)
    expect(shown.lines.find(([name]) => name === "parameter")).toEqual(["parameter", "value", "announced for 2026-11-30T06:48:02.693Z"])
    expect(shown.lines.filter(([, , then = ""]) => then !== "").slice(1)).toEqual([
      ["maxLeverageX", String(present.maxLeverageX), "5"]
    ])
    const delisting = { state: "settled", effectiveAtEpochMs: 1_796_021_282_693, finalPrice: "14.25" }
    const delisted = await listed({ status: "halted", delisting }, "show", marketId)
    expect(delisted.lines).toContainEqual(["delisting", "settled 2026-11-30T06:48:02.693Z, final price 14.25"])
    const draft = await listed({ status: "draft" }, "delist", marketId, "--yes")
    expect([draft.code, draft.stderr]).toEqual([1, expect.stringMatching(/^refused: .*\nLINK-USDC-PERP is in draft: only a listed market/)])
    const open = await listed({}, "delist", marketId, "--yes")
    expect([open.code, open.stderr]).toEqual([1, expect.not.stringContaining("is in")])
  })

  it("says at once that a venue's certificate is not trusted, and does not ask again", async () => {
    let connections = 0
    const [cert, key] = ["cert", "key"].map((kind) => fs.readFileSync(`fixtures/tls/test-only.${kind}.pem`))
    const server = https.createServer({ cert, key }).on("connection", () => connections++)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, stderr } = await run(program, ["halt", "--url", url], { OPERATOR_TOKEN: "token-of-tests" })
    await new Promise((resolve) => server.close(resolve))
    expect([code, connections]).toEqual([2, 1])
    expect(stderr).toMatch(/^nothing was sent: the certificate at \S+ is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT\. .*NODE_EXTRA_CA_CERTS/)
  })

  it("announces a delisting for a time in UTC, whatever the machine's zone, and says from when on it is effective", async () => {
    const delistedAtEpochMs = Date.UTC(2027, 2, 1, 12)
    const place = "PUT /v1/operator/markets/BTC-USDC-PERP/delisting"
    const { asked, close, url } = await answeringAt({
      [place]: (done("delist_market", { marketId: "BTC-USDC-PERP", delistedAtEpochMs }) as { readonly body: object }).body
    })
    const delist = (at: string) =>
      run(program, ["market", "delist", "BTC-USDC-PERP", "--at", at, "--url", url], {
        OPERATOR_TOKEN: "token-of-tests",
        TZ: "America/New_York"
      })
    const announced = await delist("2027-03-01T12:00")
    const absent = await delist("2027-02-30T12:00:00Z")
    await close()
    expect([announced.code, announced.stderr]).toEqual([0, ""])
    expect(announced.stdout).toMatch(/, effective 2027-03-01T12:00:00\.000Z\n$/)
    expect([absent.code, absent.stderr]).toEqual([3, "--at: 2027-02-30T12:00:00Z does not exist\n"])
    expect(asked).toEqual([{ path: place, body: JSON.stringify({ effectiveAtEpochMs: delistedAtEpochMs }) }])
  })

  it("says of a delisting that is withdrawn where none was announced, and of none that was or may have been", async () => {
    const { marketId, ...parameters } = JSON.parse(fs.readFileSync("fixtures/market.json", "utf8"))
    const place = `DELETE /v1/operator/markets/${marketId}/delisting`
    const answer = (done("withdraw_delisting", { marketId }) as { readonly body: object }).body
    const listing = (delisting: object) => ({
      "GET /v1/operator/markets": {
        version: "operator-markets/v1",
        markets: [{ marketId, status: "open", parameters, ...delisting }],
        journalSequence: 7
      }
    })
    const announced = { delisting: { state: "announced", effectiveAtEpochMs: 1_800_000_000_000 } }
    const said = await Promise.all(([[listing({})], [listing(announced)], [listing({}), "--key", "k"], [{}]] as const).map(
      async ([markets, ...more]) => {
        const { asked, close, tool } = await answeringAt({ ...markets, [place]: answer })
        const { code, stderr, stdout } = await tool("market", "delist", marketId, "--withdraw", ...more)
        await close()
        return [code, stderr, stdout.startsWith("withdraw_delisting LINK-USDC-PERP: sequence 7"),
          asked.filter(({ path }) => path === place).length]
      }
    ))
    expect(said).toEqual([
      [0, "no delisting of LINK-USDC-PERP was announced, so there was nothing to withdraw\n", true, 1],
      [0, "", true, 1],
      [0, "", true, 1],
      [0, "", true, 1]
    ])
  })

  it("shows the times that a refusal compares as times, and other values as they are", () => {
    const values = { limit: "1796021282693", actual: "1577836800000", nearest: "1796021282693" }
    expect(Operator.comparedText({ rejectionGuard: "notice_required", ...values })).toEqual([
      "notice_required",
      "limit 2026-11-30T06:48:02.693Z",
      "actual 2020-01-01T00:00:00.000Z",
      "would pass: 2026-11-30T06:48:02.693Z"
    ])
    expect(Operator.comparedText({ rejectionGuard: "margin_insufficient", limit: "1796021282693" })).toEqual([
      "margin_insufficient",
      "limit 1796021282693"
    ])
  })

  it("says of an index price that the venue's own feed goes on", async () => {
    const ready = (feed: string) => ({
      "PUT /v1/operator/markets/BTC-USDC-PERP/index-price": (done("set_index_price") as { readonly body: object }).body,
      "GET /readyz": { version: "readiness/v1", status: "ready", durableSequence: 3, details: { indexFeed: feed }, markets: [] }
    })
    const said = await Promise.all(["synthetic", "push"].map(async (feed) => {
      const { close, tool } = await answeringAt(ready(feed))
      const { code, stderr } = await tool("index", "BTC-USDC-PERP", "60000")
      await close()
      return [code, /INDEX_FEED is (\w+)\) goes on/.exec(stderr)?.[1]]
    }))
    expect(said).toEqual([[0, "synthetic"], [0, undefined]])
  })

  it("cuts a journal at a sequence, and a replay ends before it", async () => {
    const { blocks, folder } = await recorded()
    const block = blocks.find(({ lastSequence }) => lastSequence >= 60)!
    const cut = await run(program, ["journal", "cut", "--data", folder, "--at", "60", "--yes"])
    expect(cut.code).toBe(0)
    expect(cut.stdout).toContain(`the journal ends before sequence ${block.firstSequence}`)
    const info = await run(program, ["journal", "info", "--data", folder])
    expect(info.code).toBe(0)
    expect(info.stdout).toContain(`records    ${block.firstSequence - 1}, `)
  })

  it("makes histories anew from a journal, as far as it goes, and not under a running venue", async () => {
    const { blocks, folder } = await recorded()
    const rebuild = () => run(program, ["histories", "rebuild", "--data", folder])
    const locked = await Effect.runPromise(
      Effect.scoped(Effect.gen(function*() {
        yield* Effect.flatMap(Disk, (disk) => disk.lock(SegmentJournal.lockPath))
        return yield* Effect.promise(rebuild)
      })).pipe(Effect.provide(NodeDisk.layer(folder)))
    )
    expect([locked.code, locked.stderr]).toEqual([1, "refused: a venue is running on this data directory\n"])
    fs.writeFileSync(path.join(folder, "histories.db"), "no database")
    const { code, stderr, stdout } = await rebuild()
    expect([code, stderr]).toEqual([0, ""])
    const { lastSequence } = blocks.at(-1)!
    expect(stdout).toContain(`made anew from ${lastSequence} records`)
    const database = new SqliteDatabase(path.join(folder, "histories.db"), { readonly: true })
    expect(database.prepare("SELECT sequence FROM place").pluck().get()).toBe(lastSequence)
    expect(database.prepare("SELECT count(*) FROM candle WHERE timeframe = 0 AND series = 0").pluck().get()).toBeGreaterThan(0)
    database.close()
    expect(fs.readFileSync(path.join(folder, "histories.db.set-aside"), "utf8")).toBe("no database")

    const copyTo = (name: string) => run(program, ["journal", "copy", "--data", folder, "--out", path.join(folder, name)])
    const copied = await copyTo("copy")
    expect([copied.code, copied.stdout.split("\n").at(-2)]).toEqual([0, "histories  histories.db"])
    const copy = path.join(folder, "copy", "histories.db")
    expect((fs.statSync(copy).mode & 0o777).toString(8)).toBe("600")
    const ofCopy = new SqliteDatabase(copy, { readonly: true })
    expect(ofCopy.prepare("SELECT sequence FROM place").pluck().get()).toBe(lastSequence)
    ofCopy.close()
    // Histories that cannot be read do not keep anybody from copying the journal.
    fs.writeFileSync(path.join(folder, "histories.db"), "no database")
    const half = await copyTo("half")
    expect([half.code, half.stderr]).toEqual([
      2,
      "the journal is copied, but not the histories (histories.db): file is not a database\n"
    ])
    expect(fs.readdirSync(path.join(folder, "half")).sort()).toEqual(["journal", "snapshots"])
  })

  it("does not cut under a running venue, nor unasked, nor without a journal", async () => {
    const { blocks, folder } = await recorded()
    const nowhere = path.join(folder, "nowhere")
    const cutting = (data: string, ...more: ReadonlyArray<string>) =>
      line(program, ["journal", "cut", "--data", data, "--at", "60", ...more])
    const locked = await Effect.runPromise(
      Effect.scoped(Effect.gen(function*() {
        yield* Effect.flatMap(Disk, (disk) => disk.lock(SegmentJournal.lockPath))
        return yield* Effect.promise(() => run(program, cutting(folder, "--yes").args))
      })).pipe(Effect.provide(NodeDisk.layer(folder)))
    )
    expect([locked.code, locked.stderr]).toEqual([1, "refused: a venue is running on this data directory\n"])
    const [unasked, absent, info] = await runAll([
      cutting(folder),
      cutting(nowhere, "--yes"),
      line(program, ["journal", "info", "--data", folder])
    ])
    expect([unasked!.code, absent!.code]).toEqual([3, 3])
    expect(fs.existsSync(nowhere)).toBe(false)
    expect(info!.stdout).toContain(`records    ${blocks.at(-1)!.lastSequence}, `)
  })

  it("writes nothing to a directory whose journal/ is not a venue's", async () => {
    const { folder } = await recorded()
    const sources = path.join(folder, "sources")
    fs.mkdirSync(path.join(sources, "journal"), { recursive: true })
    fs.writeFileSync(path.join(sources, "journal", "Journal.ts"), "")
    const told = await runAll([
      line(program, ["journal", "cut", "--data", sources, "--at", "1", "--yes"]),
      line(program, ["histories", "rebuild", "--data", sources])
    ])
    for (const { code, stderr, stdout } of told) {
      expect([code, stderr, stdout]).toEqual([3, `${sources} is no venue's data directory: its journal/ has no segment\n`, ""])
    }
    expect(fs.readdirSync(sources)).toEqual(["journal"])
    // What a cut from the first record on leaves is still a venue's.
    const cut = () => run(program, ["journal", "cut", "--data", folder, "--at", "1", "--yes"])
    expect(await cut()).toMatchObject({ code: 0, stdout: expect.stringContaining("the journal is empty") })
    expect(await cut()).toMatchObject({ code: 0, stdout: "nothing was cut: the journal is empty\n" })
  })

  it("says what is wrong with a directory that has no journal, and with a target that cannot be made", async () => {
    const { folder } = await recorded()
    const [empty, lost] = [path.join(folder, "empty"), path.join(folder, "lost")]
    fs.mkdirSync(empty)
    fs.mkdirSync(path.join(lost, "snapshots"), { recursive: true })
    const file = path.join(folder, "file")
    fs.writeFileSync(file, "")
    const linked = path.join(folder, "linked")
    fs.symlinkSync(folder, linked)
    // With histories a failed copy has something to remove again, which must not be what ends it.
    new SqliteDatabase(path.join(folder, "histories.db")).exec("CREATE TABLE place (sequence INTEGER)").close()
    const info = (data: string) => line(program, ["journal", "info", "--data", data])
    const copy = (out: string) => line(program, ["journal", "copy", "--data", folder, "--out", out])
    const told = await runAll([
      info(file),
      info(empty),
      info(path.join(folder, "nowhere")),
      info(lost),
      line(program, ["journal", "tail", "--data", empty]),
      line(program, ["histories", "rebuild", "--data", empty]),
      copy(""),
      copy(path.join(folder, "journal", "x")),
      copy(`${folder}/x/../snapshots`),
      copy(path.join(folder, "signer")),
      copy(path.join(linked, "journal", "x")),
      copy(file),
      copy(path.join(file, "x")),
      ...(os.platform() === "linux" ? [copy("/proc/x")] : [])
    ])
    const noJournal = (data: string) => `${data} is no venue's data directory: it has no journal\n`
    expect(told.map(({ code, stderr }) => [code, stderr])).toEqual([
      [3, noJournal(file)],
      [3, noJournal(empty)],
      [3, `there is no directory ${path.join(folder, "nowhere")}\n`],
      [2, `${lost} has snapshots, but no journal/: put that back\n`],
      [3, noJournal(empty)],
      [3, noJournal(empty)],
      [3, "--out takes a directory, and not an empty text\n"],
      ...["journal/x", "x/../snapshots", "signer", "linked/journal/x"].map((
        name
      ) => [3, expect.stringContaining(`${name} lies among the venue's own files`)]),
      [2, `--out ${file} cannot be used (ENOTDIR)\n`],
      [2, `makeDirectory of ${path.join(file, "x")} failed: ENOTDIR\n`],
      ...(os.platform() === "linux" ? [[2, "makeDirectory of /proc/x failed: ENOENT\n"]] : [])
    ])
  })

  it("a copy says that there are no histories, and is not whole where they alone know what was before a step", async () => {
    const { folder } = await recorded()
    const copyTo = (name: string) => run(program, ["journal", "copy", "--data", folder, "--out", path.join(folder, name)])
    const without = await copyTo("without")
    expect([without.code, without.stdout.split("\n").at(-2)]).toEqual([
      0,
      "histories  none: histories.db is missing or empty, and a start makes one from the journal"
    ])
    fs.mkdirSync(path.join(folder, "snapshots"), { recursive: true })
    fs.writeFileSync(path.join(folder, "snapshots", "old.step"), "")
    const behind = await copyTo("behind")
    expect([behind.code, behind.stderr]).toEqual([2,
      expect.stringContaining("not the histories (histories.db): there are none, and the journal")])
    expect(fs.readdirSync(path.join(folder, "behind"))).toContain("journal")
  })

  it("a status without the metrics ends with 2: whether the venue is halted is not known", async () => {
    const readiness = { version: "readiness/v1", status: "ready", durableSequence: 3, details: {}, markets: [] }
    const denied = await answeringAt({ "GET /readyz": readiness })
    const other = await answeringAt({ "GET /readyz": readiness, "GET /metrics": { signIn: "please" } })
    const told = [await denied.tool("status"), await other.tool("status")]
    await Promise.all([denied.close(), other.close()])
    expect(told.map(({ code }) => code)).toEqual([2, 2])
    for (const { stdout } of told) expect(stdout).toMatch(/trading +│ unknown/)
    expect(told[0]!.stderr).toMatch(/whether trading is halted is unknown without \/metrics: market_not_found/)
    expect(told[1]!.stderr).toContain("what answers is not a venue's metrics")
  })

  it("a status without the metrics tells a halt that the readiness tells", async () => {
    const readiness = { version: "readiness/v1", status: "ready", durableSequence: 3, details: { engineHalted: true }, markets: [] }
    const denied = await answeringAt({ "GET /readyz": readiness })
    const { code, stdout } = await denied.tool("status")
    await denied.close()
    expect(code).toBe(0)
    expect(stdout).toMatch(/trading +│ halted/)
  })

  it("ends with 2 where nobody listens to a status, and with 3 for what it does not know", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const results = await runAll([
      line(program, ["status", "--url", "http://127.0.0.1:1"]),
      line(program, ["status", "--url", "http://127.0.0.1:1", "--data", folder]),
      line(program, ["demo", "--data", folder, "--accounts", "0"]),
      line(program, ["demo", "--data", folder, "--accounts", "10001"]),
      line(program, ["demo", "--data", folder, "--lifetime", "299"]),
      line(program, ["halt", "--data", folder], { OPERATOR_TOKEN: "" }),
      line(program, ["index", "--data", folder, "BTC-USDC-PERP", "1e5"]),
      line(program, ["market", "status", "--data", folder, "BTC-USDC-PERP", "open"]),
      line(program, ["market", "status", "--data", folder, "BTC-USDC-PERP", "sideways"]),
      line(program, ["cancel", "--data", folder]),
      line(program, ["cancel", "--data", folder, "--order", "ord_1", "--market", "BTC-USDC-PERP"]),
      line(program, ["launch"])
    ])
    expect(results.slice(2).filter(({ code }) => code !== 3)).toEqual([])
    expect(results.slice(0, 2).map(({ code }) => code)).toEqual([2, 2])
  })
})

it("a comparison of books without any money has no negative zero", () => {
  const none = { confirmedDepositsAtoms: "0", uncreditedDepositsAtoms: "0", confirmedWithdrawalsAtoms: "0", owedAtoms: "0", heldAtoms: "0" }
  const books = {
    ...none,
    unattributedAtoms: "0",
    treasuryPartyId: "t::1",
    atLedgerOffset: 1,
    comparedAtEpochMs: 1,
    withdrawalsStopped: false
  }
  const told = (report: object): string => Reconcile.lines(report as Parameters<typeof Reconcile.lines>[0]).join("\n")
  expect(told(books)).not.toContain("-0.000000")
  expect(told({ ...books, confirmedWithdrawalsAtoms: "5000000" })).toContain("-5.000000")
})
