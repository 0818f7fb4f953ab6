/** Secrets do not appear in the log, however they got into a message. That a process logs lines of JSON is tested by `Running.test.ts`. */
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as List from "effect/List"
import * as LogLevel from "effect/LogLevel"
import { expect, test, vi } from "vitest"
import { json, lastWord, layer, withoutCredentials } from "../../src/observe/NodeLog.js"

const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF"

test.each([
  ["an API key", `key pk_dev_k1_${secret} was sent`, "key [hidden] was sent"],
  ["a session", `(ses_${secret})`, "([hidden])"],
  ["a device code", `dvc_${secret}`, "[hidden]"],
  ["a ticket, or a secret that the venue made", secret, "[hidden]"],
  ["a token that a platform signed", "workloadToken: eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtYWtlciJ9.c2ln, read",
    "workloadToken: [hidden], read"],
  ["one without a signature", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtYWtlciJ9.", "[hidden]"],
  ["whatever a bearer is", "authorization: Bearer operator,", "authorization: [hidden],"],
  ["a secret of the settings", "OPERATOR_TOKEN=a token with spaces!", "OPERATOR_TOKEN=[hidden]!"]
])("%s is hidden", (_, text, told) => {
  expect(withoutCredentials(text, { OPERATOR_TOKEN: "a token with spaces", SIGNER_SECRET: "", LEDGER_TOKEN: undefined })).toBe(told)
})

test("request ids, account ids and digests are told", () => {
  const text = `req_00112233445566778899aabb of acc_1s at ${"0123456789abcdef".repeat(4)}`
  expect(withoutCredentials(text, {})).toBe(text)
})

/** The line of an event. */
const lineOf = (message: string): string =>
  json.log({
    annotations: HashMap.empty(),
    cause: Cause.empty,
    context: FiberRefs.empty(),
    date: new Date(0),
    fiberId: FiberId.none,
    logLevel: LogLevel.Error,
    message,
    spans: List.empty()
  })

/** The logged message. */
const said = (message: string): string => (JSON.parse(lineOf(message)) as { readonly message: string }).message

test("what somebody sends moves no cursor and hides nothing of the log, and its meaning is kept", () => {
  const sent = "has \"\u009b31mEVIL\u009b2J\u001b[8m\u202e\u2028\u{e0041}\" there, Grüße 你好 \u2764\ufe0f"
  const line = lineOf(sent)
  expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  expect(line).toContain("Grüße 你好 \u2764\ufe0f")
  expect(line).toContain(String.raw`\u009b31mEVIL\u009b2J\u001b[8m\u202e\u2028\udb40\udc41`)
  expect(said(sent)).toBe(sent)
  const text = "a line\n  at another\u009b2J"
  expect(said(text)).toBe(text)
})

test("a credential is hidden wherever in a long text it stands, also where the text is cut", () => {
  const token = `pk_dev_k1_${secret}`
  const failed: Array<unknown> = []
  for (const around of [16_384, 65_536]) {
    for (let before = around - 80; before < around + 4; before++) {
      for (const behind of ["", " and more".repeat(6_000)]) {
        const told = said(`${"words ".repeat(around / 6).slice(0, before - 1)} ${token}${behind}`)
        if (told.includes("pk_dev") || told.includes(secret.slice(0, 6)) || told.length > 16_387)
          failed.push([around, before, behind.length])
      }
    }
  }
  expect(failed).toEqual([])
})

test("nothing of a credential is told where hiding others has brought it to the front", () => {
  const text = `bearer ${"t".repeat(65_500)} ${secret}`
  expect(said(text)).not.toContain(secret.slice(0, 6))
  expect(said("a".repeat(16_384))).toBe("a".repeat(16_384))
  expect(said("a b".repeat(6_000))).toBe(`${"a b".repeat(6_000).slice(0, 16_384)}...`)
})

test("a token of a letter or two is not hidden, since every word that has them would tell it", () => {
  expect(withoutCredentials("no session, and no abcd", { LEDGER_TOKEN: "s", SIGNER_TOKEN: "abcd" })).toBe("no session, and no [hidden]")
})

/** What a process prints of an event under a LOG_FORMAT, whatever the console's function. */
const printed = async (format: "json" | "pretty", event: Effect.Effect<void>): Promise<string> => {
  const told: Array<unknown> = []
  const unsafe = new Proxy(console, {
    get: () => (...parts: ReadonlyArray<unknown>) => {
      told.push(...parts)
    }
  })
  const settings = Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["LOG_FORMAT", format]])))
  const logged = Effect.provide(event, Layer.provide(layer, settings))
  await Effect.runPromise(Effect.consoleWith((own) => Effect.withConsole(logged, { ...own, unsafe })))
  return told.map((part) => typeof part === "string" ? part : JSON.stringify(part)).join(" ")
}

test.each(["json", "pretty"] as const)("nothing in an event moves a terminal's cursor, under LOG_FORMAT %s", async (format) => {
  const sent = "\u009b2J\u202e"
  const event = Effect.logWarning(`the message ${sent}`, Cause.fail(new Error(`the cause ${sent}`))).pipe(
    Effect.annotateLogs({ from: `the header ${sent}`, body: { of: sent } }),
    Effect.withLogSpan(`the span ${sent}`)
  )
  const told = await printed(format, event)
  expect(told).not.toMatch(/[\u0080-\u009f\u202e]/)
  const parts = ["the message", "the cause", "the header"]
  for (const part of format === "pretty" ? [...parts, "the_span"] : parts) {
    expect(told).toMatch(new RegExp(String.raw`${part}[ _]\\u009b2J\\u202e`))
  }
})

test.each(["json", "pretty"])("the last word of a process hides credentials, and moves no cursor, under LOG_FORMAT %s", (format) => {
  const written: Array<unknown> = []
  vi.stubEnv("LOG_FORMAT", format)
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(text) > 0)
  try {
    lastWord("venue", `it cannot be read: \u009b2J, pk_dev_k1_${secret}`)
  } finally {
    write.mockRestore()
    vi.unstubAllEnvs()
  }
  expect(written).toEqual([
    format === "json"
      ? expect.stringMatching(/^\{"time":"[^"]+","level":"fatal","message":"venue: it cannot be read: \\u009b2J, \[hidden\]"\}\n$/)
      : "venue: it cannot be read: \\u009b2J, [hidden]\n"
  ])
})

test.each(["json", "pretty"] as const)("credentials are hidden in all parts of an event, under LOG_FORMAT %s", async (format) => {
  const token = `pk_dev_k1_${secret}`
  const event = Effect.logWarning(`the message of ${token}`, Cause.fail(new Error(`the cause of ${token}`))).pipe(
    Effect.annotateLogs({ requestId: "req_0011", authorization: `Bearer ${token}`, body: { token, of: "somebody" } }),
    Effect.withLogSpan(`the span of ${token}`)
  )
  const told = await printed(format, event)
  expect(told).not.toContain(secret)
  for (const each of ["the message of [hidden]", "the cause of [hidden]", "req_0011", "authorization", "somebody"])
    expect(told).toContain(each)
})
