/** The development ledger as a process: its output, the starts it refuses, and what remains after a kill. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Context, Effect, Layer } from "effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { faucet } from "../../src/ledger/development/Faucet.js"
import { setting } from "../../src/ledger/development/Setting.js"
import * as HttpLedger from "../../src/ledger/HttpLedger.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { key } from "../ledger/Keys.js"
import { run } from "./Tool.js"

const program = "dist/tools/ledger.js"

const reached = (url: string) =>
  Effect.runSync(Effect.gen(function*() {
    const context = yield* Effect.scoped(Layer.build(FetchHttpClient.layer))
    const transport = HttpLedger.transport(Context.get(context, HttpClient.HttpClient), { url, bearer: undefined, timeoutMs: 10_000 })
    return { transport, faucet: faucet(transport), port: yield* JsonLedger.make(transport, setting) }
  }))

describe("the ledger's process", () => {
  let root = ""
  const children: Array<ChildProcess> = []
  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-"))
  })
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL")
    fs.rmSync(root, { recursive: true })
  })

  const start = async (...args: ReadonlyArray<string>) => {
    const child = spawn(process.execPath, [program, "--port", "0", "--data", root, ...args], { stdio: ["ignore", "pipe", "inherit"] })
    children.push(child)
    const said = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", resolve)
      child.on("exit", (code) => reject(new Error(`the ledger ended with ${code}`)))
    })
    return { child, said, url: /on (http:\S+),/.exec(said)![1]! }
  }

  const ended = (child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> =>
    new Promise((resolve) => {
      child.removeAllListeners("exit").on("exit", (code) => resolve(code))
      child.kill(signal)
    })

  test("takes nothing back that it answered when it is killed, and goes on from there", async () => {
    const owner = key("owner")
    const first = await start()
    expect(first.said).toMatch(/^ledger of PAR::development::1220[0-9a-f]{64} on http:\/\/127\.0\.0\.1:[0-9]+, at offset 0\n$/)
    const one = reached(first.url)
    const { partyId } = await Effect.runPromise(
      one.port.allocateParty(owner.publicKey, "owner", (hash) => Effect.succeed(owner.sign(hash)))
    )
    await Effect.runPromise(one.faucet.give(partyId, 7))
    await ended(first.child, "SIGKILL")
    const second = await start()
    expect(second.said).toMatch(/at offset 2\n$/)
    const other = reached(second.url)
    expect(await Effect.runPromise(other.port.holdings(partyId))).toStrictEqual({ atoms: 7n, pieces: 1, seen: 1, offset: 2 })
    expect(await ended(second.child, "SIGTERM")).toBe(0)
  })

  test("takes a script of faults, answers what it does not know, and bounds what it reads", async () => {
    const script = path.join(root, "script.json")
    fs.writeFileSync(script, JSON.stringify([{ on: "participant_id", fault: { name: "drop_answer" } }]))
    const { url } = await start("--script", script)
    const { port } = reached(url)
    expect(await Effect.runPromise(Effect.flip(port.participantId))).toMatchObject({ _tag: "Unknown" })
    expect(await Effect.runPromise(port.participantId)).toBe(setting.participantId)
    const status = async (path: string, init: RequestInit = {}) => (await fetch(`${url}${path}`, init)).status
    expect(await status("/v2/unknown")).toBe(404)
    expect(await status("/v2/state/ledger-end", { method: "DELETE" })).toBe(405)
    expect(await status("/v2/state/ledger-end", { method: "POST", body: "{}" })).toBe(405)
    expect(await status("/v2/commands/completions", { method: "POST", body: "{" })).toBe(400)
    expect(await status("/v2/commands/completions", { method: "POST", body: "x".repeat(2 * 1024 * 1024) })).toBe(413)
  })

  test("does not start beside another, nor with a wrong command line or script", async () => {
    await start()
    const beside = await run(program, ["--port", "0", "--data", root])
    expect(beside).toMatchObject({ code: 1 })
    expect(beside.stderr).toMatch(/ledger\.sqlite cannot be read: another process(?: \(process [0-9]+.*\))? works on it, and only one may/)
    const script = path.join(root, "script.json")
    fs.writeFileSync(script, JSON.stringify([{ on: "execute", fault: { name: "explode" } }]))
    const wrong = await run(program, ["--port", "0", "--data", path.join(root, "other"), "--script", script])
    expect(wrong).toMatchObject({ code: 3 })
    expect(wrong.stderr).toMatch(/is no script of faults/)
    expect(await run(program, ["--port", "70000", "--data", path.join(root, "other")])).toMatchObject({ code: 3 })
    expect(await run(program, ["--script", path.join(root, "none")])).toMatchObject({ code: 3 })
  })
})
