/** What the development ledger's server does with requests that no client of it sends. */
import * as Net from "node:net"
import { Effect } from "effect"
import { expect, test } from "vitest"
import { DevelopmentLedger } from "../../../src/ledger/development/DevelopmentLedger.js"
import { listen } from "../../../src/ledger/development/NodeLedgerServer.js"
import { setting } from "../../../src/ledger/development/Setting.js"
import { inMemory } from "../../../src/ledger/development/Store.js"

/** The status and the body of the answer to a request with this line. */
const told = (address: string, line: string, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address)
    const socket = Net.connect(Number(port), hostname)
    let answer = ""
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text
    })
    socket.on("error", reject)
    socket.on("close", () => resolve(`${/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]} ${answer.slice(answer.indexOf("\r\n\r\n") + 4)}`))
    socket.write(`${line} HTTP/1.1\r\nHost: ledger\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })

const user = JSON.stringify({ userId: "perpetuum", parties: ["owner"] })

/** A body of that many arrays in one another. */
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)

const rows: ReadonlyArray<readonly [line: string, body: string, answer: RegExp]> = [
  ["GET //", "", /^400 Invalid value for: target$/],
  ["POST //", "{}", /^400 Invalid value for: target$/],
  ["GET ///", "", /^400 Invalid value for: target$/],
  ["GET http://[", "", /^400 Invalid value for: target$/],
  ["GET http://ledger:99999/", "", /^400 Invalid value for: target$/],
  ["GET *", "", /^404 /],
  ["GET /%", "", /^404 /],
  ["GET /v2/state/ledger-end?__proto__=1&constructor=%", "", /^200 \{"offset":0,/],
  ["GET http://elsewhere/v2/state/ledger-end", "", /^200 \{"offset":0,/],
  ["DELETE /v2/state/ledger-end", "", /^405 /],
  ["POST /v2/state/ledger-end", "", /^405 /],
  ["POST /v2/commands/completions?limit=none", user, /^200 \[/],
  ["POST /v2/commands/completions?limit=-1&limit=2", user, /^200 \[/],
  ["POST /v2/commands/completions", "{", /^400 Invalid value for: body$/],
  ["POST /v2/commands/completions", "", /^400 \{"code":"INVALID_ARGUMENT"/],
  ["POST /v2/commands/completions", nested(64), /^400 \{"code":"INVALID_ARGUMENT"/],
  ["POST /v2/commands/completions", nested(65), /^400 Invalid value for: body$/],
  ["POST /v2/commands/completions", nested(300_000), /^400 Invalid value for: body$/]
]

test("whatever a request's line or body holds, it is answered, and the ledger goes on", () =>
  Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const failed: Array<unknown> = []
    const ledger = new DevelopmentLedger(setting, inMemory())
    const { address } = yield* listen(ledger, { host: "127.0.0.1", port: 0 }, (error) => failed.push(error))
    for (const [line, body, answer] of rows) {
      expect(yield* Effect.promise(() => told(address, line, body)), line).toMatch(answer)
    }
    expect(failed).toEqual([])
  }))))
