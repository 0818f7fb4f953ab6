/** The tools' help texts and documented exit codes: each code is reached. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { line, type Result, run, runAll } from "./Tool.js"

const environment = { OPERATOR_TOKEN: "token-of-tests" }
type Words = readonly [name: string, ...args: ReadonlyArray<string>]
const tool = (name: string, ...args: ReadonlyArray<string>): Promise<Result> => run(`dist/tools/${name}.js`, args, environment)
const tools = (...words: ReadonlyArray<Words>): Promise<ReadonlyArray<Result>> =>
  runAll(words.map(([name, ...args]) => line(`dist/tools/${name}.js`, args, environment)))

test("a tool whose output nobody reads any more ends at once, without a word", async () => {
  const ended = await new Promise((resolve) => {
    const child = spawn(process.execPath, ["dist/tools/venue.js", "--help"], { stdio: ["ignore", "pipe", "pipe"] })
    let said = ""
    child.stdout.destroy()
    child.stderr.on("data", (bytes: Buffer) => {
      said += bytes.toString("utf8")
    })
    child.on("close", (code) => resolve([code, said]))
  })
  expect(ended).toEqual([141, ""])
})

describe("--help", () => {
  test("of a tool: its commands first, then its exit codes, in plain text", async () => {
    const { code, stderr, stdout } = await tool("venue", "--help")
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).not.toContain("\x1b")
    const lines = stdout.split("\n")
    expect(lines[2]).toBe("COMMANDS")
    expect(lines[3]).toMatch(/^  status +Whether the venue takes requests/)
    expect(stdout).toMatch(/\n {2}market put +Puts a market/)
    expect(stdout.indexOf("COMMANDS")).toBeLessThan(stdout.indexOf("EXIT CODES"))
    expect(stdout.match(/^ {2}\d+ /gm)).toEqual(["  0 ", "  1 ", "  2 ", "  3 ", "  70 ", "  130 ", "  141 "])
  })

  test("of a group and of a command: what each takes", async () => {
    const [group, command] = await tools(["venue", "journal"], ["venue", "market", "put", "-h"])
    expect(group!.stdout.split("\n").slice(2, 7)).toEqual([
      "COMMANDS",
      expect.stringMatching(/^  info /),
      expect.stringMatching(/^  tail /),
      expect.stringMatching(/^  copy /),
      expect.stringMatching(/^  cut /)
    ])
    expect(command!.stdout).toContain("  venue market put [--url text] [--data text] [--key text] [--over-http] [--dry-run] <file>")
    expect(command!.stdout).toMatch(/\n {2}--dry-run +Shows what would change/)
    expect([group!.code, command!.code]).toEqual([0, 0])
  })

  test("of the others", async () => {
    const said = await tools(["replay", "--help"], ["signer", "--help"], ["ledger", "--help"])
    // Those that serve end as asked where they are interrupted, and go on where nobody reads their output.
    expect(said.map(({ stdout }) => [/^ {2}70 /m, /^ {2}130 /m, /^ {2}141 /m].map((code) => code.test(stdout))))
      .toEqual([[true, true, true], [true, false, false], [true, false, false]])
    expect(said.map(({ code, stdout }) => [code, /OPTIONS\n {2}--\w+/.test(stdout), stdout.includes("EXIT CODES")]))
      .toEqual(said.map(() => [0, true, true]))
  })

  test("and a fault of the command line is plain text too, where nobody looks on", async () => {
    const { code, stderr, stdout } = await tool("venue", "bogus")
    expect([code, stdout]).toEqual([3, ""])
    expect(stderr).toContain("Invalid subcommand")
    expect(stderr).not.toContain("\x1b")
  })

  test("a command of a group that there is not, and an option where a command is to be, are told with those that there are", async () => {
    const said = await tools(
      ["venue", "withdrawals", "stp"],
      ["venue", "withdrawals", "--url", "http://127.0.0.1:9", "stop"],
      ["venue", "--url=http://127.0.0.1:9", "status"],
      ["venue", "--log-level", "debug", "withdrawals"]
    )
    expect(said.slice(0, 2)).toEqual([
      { code: 3, stdout: "", stderr: "Invalid subcommand for venue withdrawals, \"stp\" - use one of 'stop', 'allow'\n" },
      {
        code: 3,
        stdout: "",
        stderr: "venue withdrawals takes no option before its command, as \"--url\": it is to follow one of 'stop', 'allow'\n"
      }
    ])
    expect([said[2]!.code, said[2]!.stderr]).toEqual([3,
      expect.stringMatching(/^venue takes no option before its command, .* 'status', 'halt'/)])
    expect(said[3]!.stdout).toContain("COMMANDS")
  })
})

test("no tool contains the venue's routes, which take as long to load as all that a command does", () => {
  const texts = fs.readdirSync("dist/tools").map((name) => fs.readFileSync(path.join("dist/tools", name), "utf8"))
  const containing = (module: string): number => texts.filter((text) => text.includes(`/src/${module}.js\n`)).length
  expect([containing("cli/signer"), containing("edge/Contract"), containing("Venue")]).toEqual([1, 0, 0])
})

describe("an exit code", () => {
  let server: http.Server
  let url: string
  let folder: string

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "venue-codes-"))
    fs.mkdirSync(path.join(folder, "broken/journal"), { recursive: true })
    fs.writeFileSync(path.join(folder, "text.json"), "{}")
    server = http.createServer((request, response) => {
      response.statusCode = 404
      request.resume().on("end", () =>
        response.end(JSON.stringify({
          version: "external-rest-error/v1",
          requestId: "req_1",
          code: "market_not_found",
          safeMessage: "There is no such market.",
          retryable: false,
          recoveryActions: [],
          occurredAtEpochMs: 1
        })))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
    fs.rmSync(folder, { recursive: true })
  })

  const remote: ReadonlyArray<ReadonlyArray<string>> = [
    ["halt"],
    ["resume"],
    ["market", "list"],
    ["market", "show", "A-USDC-PERP"],
    ["market", "put", "fixtures/market.json"],
    ["market", "put", "--dry-run", "fixtures/market.json"],
    ["market", "status", "A-USDC-PERP", "open"],
    ["market", "delist", "--yes", "A-USDC-PERP"],
    ["index", "A-USDC-PERP", "1"],
    ["cancel", "--order", "ord_1"],
    ["fund", "add", "1"],
    ["credit", "--account", "acc_1", "--amount", "1"],
    ["revoke-key", "--id", "key_1"],
    ["flags", "--account", "acc_1", "--set", "disabled"],
    ["limits", "--retention", "1h"],
    ["reconcile"],
    ["withdrawals", "stop"],
    ["withdrawals", "allow"],
    ["demo"]
  ]

  const wrongUrls = [
    "nonsense",
    "ftp://127.0.0.1",
    "http:/venue",
    "https://",
    "http://me:hunter2@127.0.0.1:1",
    "http://127.0.0.1:1/venue",
    "http://127.0.0.1:1?x=1"
  ]

  /** The first line runs in a process of its own, the others together in one. */
  const codesOf = async (lines: ReadonlyArray<Words>): Promise<ReadonlyArray<string>> => {
    const [[first, ...words], ...others] = lines as readonly [Words, ...ReadonlyArray<Words>]
    const results = await Promise.all([tool(first, ...words), tools(...others)])
    return results.flat().map(({ code }, at) => `${lines[at]!.slice(0, 3).join(" ")}: ${code}`)
  }
  const expected = (lines: ReadonlyArray<ReadonlyArray<string>>, code: number) =>
    lines.map((words) => `${words.slice(0, 3).join(" ")}: ${code}`)

  test("of 1 is every operator's command's that the venue refuses", async () => {
    const lines = remote.map((words): Words => ["venue", ...words, "--url", url])
    expect(await codesOf(lines)).toEqual(expected(lines, 1))
  })

  test("of 2 is that of who gets no answer, and of what cannot be read", async () => {
    const nobody = ["--url", "http://127.0.0.1:1"]
    const lines: ReadonlyArray<Words> = [
      ["venue", "status", ...nobody],
      ["venue", "limits", ...nobody],
      ["venue", "connect", ...nobody, "--key-file", path.join(folder, "keys.json")]
    ]
    expect(await codesOf(lines)).toEqual(expected(lines, 2))
  })

  test("of 3 is every command's that is to ask what is no URL of a venue", async () => {
    const file = path.join(folder, "text.json")
    const commands = [...remote, ["status"], ["limits"], ["connect"], ["verify-solvency", "--proof", file], ["halt", "--over-http"]]
    const lines = wrongUrls.flatMap((wrong) => commands.map((words): Words => ["venue", ...words, "--url", wrong]))
    const results = await tools(...lines)
    const told = "3 --url takes scheme, host and port alone, as https://venue.example"
    expect(lines.filter((_, at) => `${results[at]!.code} ${results[at]!.stderr.trim()}` !== told)).toEqual([])
    expect(results.length).toBe(commands.length * wrongUrls.length)
  })

  test("of 3 is that of DATA_DIR set to nothing, told as a start tells it", async () => {
    const lines = [["venue", "halt"], ["venue", "journal", "info"], ["ledger"]]
      .map(([name = "", ...args]) => line(`dist/tools/${name}.js`, args, { ...environment, DATA_DIR: "" }))
    expect((await runAll(lines)).map(({ code, stderr }) => `${code} ${stderr.trim()}`))
      .toEqual(lines.map(() => "3 DATA_DIR is empty: it must have a value, or be left out"))
  })

  test("of 3 is that of a wrong command line, file or setting", async () => {
    const nowhere = ["--data", path.join(folder, "nowhere")]
    const lines: ReadonlyArray<Words> = [
      ["venue", "demo", "--accounts", "0"],
      ["venue", "market", "put", path.join(folder, "text.json")],
      ["venue", "index", "A-USDC-PERP", "x"],
      ["venue", "cancel"],
      ["venue", "journal", "info", ...nowhere],
      ["venue", "journal", "tail", ...nowhere],
      ["venue", "journal", "cut", "--at", "0"],
      ["venue", "audit", "--from", "0"],
      ["venue", "bundle", "--out", path.join(folder, "x"), ...nowhere],
      ["venue", "verify-solvency", "--proof", path.join(folder, "none.json")],
      ["venue", "connect", "--lifetime", "1"],
      ["replay", "--verify", ...nowhere],
      ["signer", "--port", "0", ...nowhere],
      ["ledger", "--port", "70000", ...nowhere]
    ]
    expect(await codesOf(lines)).toEqual(expected(lines, 3))
  })
})
