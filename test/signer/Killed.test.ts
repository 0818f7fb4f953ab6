/** A signer that is killed between a write and its answer: nothing is signed twice, and no limit is lost. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { expect, test } from "vitest"
import { SignRequest } from "../../src/signer/Requests.js"
import { reasonOf, run } from "../contracts/SignerContract.js"
import { approve, bare, Desk, nonceOf, withdrawal } from "./Desk.js"
import { over, storeIn, temporary } from "./Directory.js"

/** Kills a signer once it has stopped after `stopsBehind` writes; returns its output. */
const killed = (directory: string, stopsBehind: number, request: SignRequest): Effect.Effect<string> =>
  Effect.promise(() =>
    new Promise((resolve, reject) => {
      const text = Schema.encodeSync(Schema.parseJson(SignRequest))(request)
      const child = spawn(process.execPath, ["dist/test/signer/killed.js", directory, String(stopsBehind), text], {
        stdio: ["pipe", "pipe", "inherit"]
      })
      let said = ""
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        said += chunk
        if (said.includes("stopped\n")) child.kill("SIGKILL")
      })
      child.once("error", reject)
      child.once("exit", () => resolve(said.split("\n").filter((line) => !line.includes("level=")).join("\n")))
    })
  )

test.each([
  ["before anything was written", 0, "signed"],
  ["behind what the account has approved", 1, "replayed"],
  ["behind what the treasury has given", 2, "replayed"]
])("killed %s, a signer gives that one signature or none", (_, stopsBehind, otherwise) =>
  run(Effect.scoped(Effect.gen(function*() {
    const directory = yield* temporary
    const { account, desk, other, request } = yield* Effect.scoped(Effect.gen(function*() {
      const desk = yield* Desk.open(yield* over(storeIn(directory)))
      const account = yield* desk.account("acc_1s")
      const request = approve(yield* desk.prepare(account, withdrawal("wdr_1", 5_000_000)), account.authenticator)
      const other = approve(yield* desk.prepare(account, withdrawal("wdr_2", 1)), account.authenticator)
      return { desk, account, request, other }
    }))
    expect(yield* killed(directory, stopsBehind, request)).toBe("stopped\n")

    const again = desk.at(yield* over(storeIn(directory)))
    if (stopsBehind > 0) expect(yield* reasonOf(again.signer.sign(other))).toBe(otherwise)
    const signed = yield* again.signer.sign(request)
    expect(yield* again.signer.sign(request)).toStrictEqual(signed)
    expect(
      yield* reasonOf(again.signer.sign({ ...bare(yield* desk.prepare(account, withdrawal("wdr_3", 1))), approval: request.approval! }))
    )
      .toBe("replayed")
    // Counted once: the rest of the day's limit is available, and not an atom more.
    const last = (id: string, amountAtoms: number) =>
      Effect.map(desk.prepare(account, withdrawal(id, amountAtoms)), (each) => approve(each, account.authenticator, nonceOf(id)))
    expect(yield* reasonOf(again.signer.sign(yield* last("wdr_4", 5_000_000)))).toBe("signed")
    expect(yield* reasonOf(again.signer.sign(yield* last("wdr_5", 2_000_001)))).toBe("policy_daily")
    expect(yield* reasonOf(again.signer.sign(yield* last("wdr_6", 2_000_000)))).toBe("signed")
  }))))
