/** The signer as a process: with what it starts, with what it refuses to start, and what it never prints. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as https from "node:https"
import * as path from "node:path"
import { describe, expect, test } from "vitest"
import { KeyStore } from "../../src/signer/KeyStore.js"
import { reasonOf, run } from "../contracts/SignerContract.js"
import { approve, bare, Desk, variables, withdrawal } from "./Desk.js"
import { storeIn, temporary } from "./Directory.js"
import { secret, signerAt, start, token } from "./SignerProcess.js"

const ended = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  user: { readonly uid?: number; readonly gid?: number } = {}
) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["dist/tools/signer.js", "--port", "0", ...args], {
    ...user,
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    encoding: "utf8",
    timeout: 100_000
  })
  return { status, said: `${stdout}${stderr}` }
}

const secrets = { SIGNER_SECRET: secret, SIGNER_TOKEN: token }

describe("a signer does not start", () => {
  test.each<readonly [string, ReadonlyArray<string>, Readonly<Record<string, string>>]>([
    ["SIGNER_SECRET", [], { ...variables, SIGNER_TOKEN: token }],
    ["TLS_CERT", ["--host", "0.0.0.0"], { ...variables, ...secrets }]
  ])("without %s (%s)", (name, args, environment) => {
    const { said, status } = ended([...args, "--data", "/nowhere/keys"], environment)
    expect(said).toContain(name)
    expect(said).not.toContain(secret)
    expect(said).not.toContain(token)
    expect(status).toBe(3)
    expect(fs.existsSync("/nowhere")).toBe(false)
  })

  test("on keys of another secret, and says so in a sentence", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory, "a secret of somebody else's")))
      const { said, status } = ended(["--data", directory], { ...variables, ...secrets })
      expect(said.trim()).toBe(
        `SIGNER_SECRET is not the one that the keys in ${directory} are sealed with, or ${directory}/header.json is damaged`
      )
      expect(status).toBe(2)
    }))))

  test("where something was written to its lock's file, and says what to do", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      fs.writeFileSync(path.join(directory, "lock.db"), "12345\n")
      const { said, status } = ended(["--data", directory], { ...variables, ...secrets })
      expect(said.trim()).toBe(
        `${directory}/lock.db cannot be locked: something was written to it, which is always empty: stop what writes `
          + "there, empty it (truncate -s 0), and do not remove it"
      )
      expect(status).toBe(2)
    }))))

  test.each([
    ["header.json", 0o000],
    // A lock that is taken on a file that can only be read would exclude nobody.
    ["lock.db", 0o444]
  ])("where its user cannot read and write %s, and says what to do", (name, mode) =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      const file = path.join(directory, name)
      // A process of root's may use any file: it is started as another user.
      const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
      if (user.uid !== undefined) {
        for (const own of ["", "lock.db", "header.json"]) fs.chownSync(path.join(directory, own), user.uid, user.gid)
      }
      fs.chmodSync(file, mode)
      const { said, status } = ended(["--data", directory], { ...variables, ...secrets }, user)
      expect(said.trim()).toBe(
        `the keys in ${directory} cannot be opened: EACCES: ${file} cannot be read and written, and all that is in `
          + `${directory} must be the signer's user's, as chown -R makes it`
      )
      expect(status).toBe(2)
    }))))
})

describe("a signer that runs", () => {
  test("signs for its token alone, and says nothing of keys, secret or token", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      const said = yield* Effect.scoped(Effect.gen(function*() {
        const { said, signer, url } = yield* start(directory)
        const desk = yield* Desk.open(signer)
        const account = yield* desk.account("acc_1s")
        const request = yield* desk.prepare(account, withdrawal())
        const approved = approve(request, account.authenticator)
        const stranger = yield* signerAt(url, 20_000, "another token of sixteen")
        expect(yield* reasonOf(stranger.sign(approved))).toBe("SignerUnavailable")
        expect(yield* reasonOf(signer.sign(bare(request)))).toBe("assertion_invalid")
        expect(yield* reasonOf(signer.sign(approved))).toBe("signed")
        return said
      }))
      expect(said()).toContain("signed treasury_withdrawal of wdr_1 for acc_1s")
      expect(said()).toContain("refuses (assertion_invalid)")
      const records = yield* Effect.scoped(Effect.provide(Effect.flatMap(KeyStore, ({ load }) => load), storeIn(directory)))
      const seeds = [...records.values()].flatMap((record) => [...record.matchAll(/"seed":"([^"]+)"/g)].map(([, seed]) => seed!))
      expect(seeds.length).toBe(2)
      for (const hidden of [secret, token, ...seeds, ...seeds.map((seed) => Buffer.from(seed, "base64url").toString("hex"))]) {
        expect(said()).not.toContain(hidden)
      }
      expect(fs.readdirSync(directory).filter((name) => !/^(?:acc_1s\.sealed|treasury\.sealed|header\.json|lock\.db)$/.test(name)))
        .toStrictEqual([])
    }))))

  test("says whose its treasury is, and gives it to another venue while it is stopped, by the digest that it refused it under", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      const [one, other] = ["1", "2"].map((digit) => ({ venue: digit.repeat(64) }))
      const said = yield* Effect.scoped(Effect.gen(function*() {
        const { said, signer } = yield* start(directory)
        yield* signer.treasuryKey
        yield* signer.claim(one!)
        yield* signer.claim(one!)
        expect(yield* Effect.either(signer.claim(other!))).toMatchObject({
          left: { reason: "unknown_key", detail: `its treasury is another venue's, ${"1".repeat(16)}, and who asks is ${other!.venue}` }
        })
        return said
      }))
      expect(said().match(/signer: its treasury is the venue 1{16}'s from now on/g)).toHaveLength(1)
      expect(said()).toContain("signer: not claimed by a venue: the signer refuses (unknown_key): its treasury is another venue's")
      const given = (venue: string) => ended(["--data", directory, "--give-treasury", venue], { ...variables, ...secrets })
      expect(given("2".repeat(16))).toMatchObject({ status: 3, said: expect.stringContaining("64 hexadecimal digits") })
      expect(given(other!.venue)).toMatchObject({
        status: 0,
        said: expect.stringContaining(
          `its treasury is the venue ${"2".repeat(16)}'s from now on, and no longer the venue ${"1".repeat(16)}'s`
        )
      })
      const { signer } = yield* start(directory)
      yield* signer.claim(other!)
      expect(yield* reasonOf(signer.claim(one!))).toBe("unknown_key")
    }))))

  test("notes its environment beside its keys", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* start(directory)
      const { environment } = JSON.parse(fs.readFileSync(path.join(directory, "header.json"), "utf8"))
      expect(environment).toBe(variables.VENUE_ENVIRONMENT)
    }))))

  test("holds its keys alone", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      yield* start(directory)
      const { said, status } = ended(["--data", directory], { ...variables, ...secrets })
      expect(said).toMatch(/^another process(?: \(process [0-9]+.*\))? works on the keys in /)
      expect(status).toBe(2)
    }))))

  test("serves TLS where it has a certificate", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      const certFile = path.resolve("fixtures/tls/test-only.cert.pem")
      const { url } = yield* start(directory, { TLS_CERT: certFile, TLS_KEY: path.resolve("fixtures/tls/test-only.key.pem") })
      expect(url).toMatch(/^https:/)
      const status = yield* Effect.async<number | undefined>((resume) => {
        https.get(`${url}/healthz`, { ca: fs.readFileSync(certFile) }, (answer) => {
          answer.resume()
          resume(Effect.succeed(answer.statusCode))
        })
      })
      expect(status).toBe(200)
    }))))
})
