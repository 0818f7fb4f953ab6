/** Keys in a directory: sealed, complete, refused with a plain message if they are not what was written, and never overwritten. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, test } from "vitest"
import { KeyStore, type StoreRefused } from "../../src/signer/KeyStore.js"
import { run } from "../contracts/SignerContract.js"
import { approve, Desk, withdrawal } from "./Desk.js"
import { over, storeIn, temporary } from "./Directory.js"
import { secret } from "./SignerProcess.js"

/** Everything in a directory but its lock. */
const filesIn = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs.readdirSync(directory).filter((name) => name !== "lock.db").map((
      name
    ) => [name, fs.readFileSync(path.join(directory, name)).toString("base64")])
  )

/** A directory with a treasury, an account and their signatures. */
const filled = Effect.gen(function*() {
  const directory = yield* temporary
  yield* Effect.scoped(Effect.gen(function*() {
    const desk = yield* Desk.open(yield* over(storeIn(directory)))
    const account = yield* desk.account("acc_1s")
    yield* desk.signer.sign(approve(yield* desk.prepare(account, withdrawal()), account.authenticator))
  }))
  return directory
})

const refusal = (directory: string, withSecret = secret): Effect.Effect<string, unknown> =>
  Effect.map(Effect.flip(Effect.scoped(over(storeIn(directory, withSecret)))), (error: StoreRefused) => error.message)

const readingIn = (directory: string) =>
  Effect.scoped(Effect.gen(function*() {
    return yield* (yield* KeyStore).load
  }).pipe(Effect.provide(storeIn(directory))))

describe("a directory of keys", () => {
  test("is the owner's alone, and nothing in it is to be read", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      const names = fs.readdirSync(directory).sort()
      expect(names).toStrictEqual(["acc_1s.sealed", "header.json", "lock.db", "treasury.sealed"])
      for (const name of names) expect(fs.statSync(path.join(directory, name)).mode & 0o777).toBe(0o600)
      const records = yield* readingIn(directory)
      const seeds = [...records.values()].flatMap((record) => [...record.matchAll(/"seed":"([^"]+)"/g)].map(([, seed]) => seed!))
      expect(seeds.length).toBe(2)
      for (const name of names) {
        const bytes = fs.readFileSync(path.join(directory, name))
        for (const seed of seeds) {
          const raw = Buffer.from(seed, "base64url")
          for (const form of [raw, Buffer.from(seed), Buffer.from(raw.toString("hex")), Buffer.from(raw.toString("base64"))]) {
            expect(bytes.includes(form)).toBe(false)
          }
        }
        expect(bytes.includes(Buffer.from(secret))).toBe(false)
        if (name.endsWith(".sealed")) expect(bytes.includes(Buffer.from("keyId"))).toBe(false)
      }
    }))))

  test("that is new is made the owner's alone", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = path.join(yield* temporary, "a", "b")
      yield* Effect.scoped(Layer.build(storeIn(directory)))
      expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
    }))))

  test("is sealed anew at every write", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      const seen = new Set<string>()
      yield* Effect.gen(function*() {
        const { write } = yield* KeyStore
        for (let index = 0; index < 8; index++) {
          yield* write("treasury", "the same")
          seen.add(fs.readFileSync(path.join(directory, "treasury.sealed")).toString("hex"))
        }
      }).pipe(Effect.provide(storeIn(directory)))
      expect(seen.size).toBe(8)
    }))))

  test("is refused under another secret, as it is", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      const before = filesIn(directory)
      expect(yield* refusal(directory, "a secret of somebody else's")).toBe(
        `SIGNER_SECRET is not the one that the keys in ${directory} are sealed with, or ${directory}/header.json is damaged`
      )
      expect(filesIn(directory)).toStrictEqual(before)
      yield* Effect.scoped(over(storeIn(directory)))
    }))))

  test("takes the environment of its first start that has one, and is refused in another, as it is", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      const header = path.join(directory, "header.json")
      const held = () => JSON.parse(fs.readFileSync(header, "utf8"))
      const first = held()
      const opened = (environment?: string) => Effect.scoped(over(storeIn(directory, secret, environment)))
      expect(first.environment).toBe(undefined)
      // A start that is refused leaves it free.
      yield* Effect.flip(Effect.scoped(over(storeIn(directory, "a secret of somebody else's", "staging"))))
      // So does one for which nobody has set it.
      yield* Effect.scoped(over(storeIn(directory, secret, "development", false)))
      expect(held()).toEqual(first)
      yield* opened("production")
      expect(held()).toEqual({ ...first, environment: "production" })
      const before = filesIn(directory)
      const { message, setting } = yield* Effect.flip(opened("staging"))
      expect(setting).toBe("VENUE_ENVIRONMENT")
      expect(message).toBe(`the keys in ${directory} are of a signer in production, as ${header} says, and VENUE_ENVIRONMENT is staging: `
        + "set it to production, or give this signer a directory of its own. Where the file has it by mistake, \"environment\" may be "
        + "corrected in it by hand")
      expect(filesIn(directory)).toStrictEqual(before)
      yield* opened("production")
      yield* opened()
      const fresh = path.join(yield* temporary, "keys")
      yield* Effect.scoped(over(storeIn(fresh, secret, "testnet")))
      expect(JSON.parse(fs.readFileSync(path.join(fresh, "header.json"), "utf8"))).toMatchObject({ format: 1, environment: "testnet" })
    }))))

  test.each(["acc_1s.sealed", "treasury.sealed"])("is refused with any bit of %s turned, as it is",
    (name) =>
      run(Effect.scoped(Effect.gen(function*() {
        const directory = yield* filled
        const file = path.join(directory, name)
        const whole = fs.readFileSync(file)
        for (let at = 0; at < whole.length; at += at < 40 || at > whole.length - 20 ? 1 : 41) {
          const changed = Buffer.from(whole)
          changed[at]! ^= 1 << (at % 8)
          fs.writeFileSync(file, changed)
          expect(yield* refusal(directory)).toBe(`${file} is damaged: it is not what was sealed under this name`)
          expect(fs.readFileSync(file).equals(changed)).toBe(true)
        }
        for (const length of [0, 4, 31, whole.length - 1]) {
          fs.writeFileSync(file, whole.subarray(0, length))
          expect(yield* refusal(directory)).toContain("is damaged")
        }
        fs.writeFileSync(file, whole)
        yield* Effect.scoped(over(storeIn(directory)))
      }))))

  test("is refused with a record under another's name", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      fs.copyFileSync(path.join(directory, "acc_1s.sealed"), path.join(directory, "acc_2s.sealed"))
      expect(yield* refusal(directory)).toContain("acc_2s.sealed is damaged")
    }))))

  test.each<readonly [string, (text: string) => string | undefined, string]>([
    ["no header", () => undefined, "is missing, and there are keys beside it"],
    ["no JSON in its header", () => "{", "is damaged, or of a newer version"],
    ["a header of a newer version", (text) => text.replace("\"format\":1", "\"format\":2"), "is damaged, or of a newer version"],
    ["another salt", (text) => text.replace(/"salt":"(.)/, (_, first: string) => `"salt":"${first === "A" ? "B" : "A"}`),
      "SIGNER_SECRET is not the one"],
    ["another cost", (text) => text.replace("\"costLog2\":10", "\"costLog2\":11"), "SIGNER_SECRET is not the one"],
    ["a cost that would take for ever", (text) => text.replace("\"costLog2\":10", "\"costLog2\":40"), "is damaged, or of a newer version"],
    ["another check",
      (text) => text.replace(/"check":"(.{30})(.)/, (_, begin: string, next: string) => `"check":"${begin}${next === "_" ? "A" : "_"}`),
      "SIGNER_SECRET is not the one"]
  ])("is refused with %s, as it is", (_, change, expected) =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      const file = path.join(directory, "header.json")
      const changed = change(fs.readFileSync(file, "utf8"))
      if (changed === undefined) fs.unlinkSync(file)
      else fs.writeFileSync(file, changed)
      const before = filesIn(directory)
      expect(yield* refusal(directory)).toContain(expected)
      expect(filesIn(directory)).toStrictEqual(before)
    }))))

  test("is one process's, which another is told, until it ends", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.scoped(Effect.gen(function*() {
        yield* over(storeIn(directory))
        expect(yield* refusal(directory)).toBe(`another process works on the keys in ${directory}, and only one may: stop it first`)
        // The refused opening has not released this process's hold, which only another process can see.
        const lock = JSON.stringify(path.join(directory, "lock.db"))
        const takes = `import SqliteDatabase from "better-sqlite3"; new SqliteDatabase(${lock}, { timeout: 0 }).exec("BEGIN EXCLUSIVE")`
        expect(spawnSync(process.execPath, ["--input-type=module", "-e", takes], { encoding: "utf8" }).stderr).toContain("SQLITE_BUSY")
      }))
      yield* Effect.scoped(over(storeIn(directory)))
    }))))

  test("loses what a write left that never ended, and nothing else", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* filled
      const before = filesIn(directory)
      fs.writeFileSync(path.join(directory, "acc_1s.sealed.tmp"), "half of a record")
      yield* Effect.scoped(over(storeIn(directory)))
      expect(filesIn(directory)).toStrictEqual(before)
    }))))

  test("takes no more writes once it is not known which record it holds", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const directory = yield* temporary
      yield* Effect.gen(function*() {
        const { write } = yield* KeyStore
        yield* write("acc_1s", "one")
        fs.mkdirSync(path.join(directory, "acc_2s.sealed.tmp"))
        expect((yield* Effect.flip(write("acc_2s", "two"))).code).toBe("EISDIR")
        yield* write("acc_1s", "one and a half")
        fs.mkdirSync(path.join(directory, "acc_3s.sealed", "below"), { recursive: true })
        yield* Effect.flip(write("acc_3s", "three"))
        expect((yield* Effect.flip(write("acc_1s", "two"))).message).toContain("what was written before may be lost")
      }).pipe(Effect.provide(storeIn(directory)))
      for (const name of ["acc_2s.sealed.tmp", "acc_3s.sealed"]) fs.rmSync(path.join(directory, name), { recursive: true })
      expect(yield* readingIn(directory)).toStrictEqual(new Map([["acc_1s", "one and a half"]]))
    }))))
})
