/** The development ledger's file: what survives any end of its process, and from which files it refuses to start. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { controls, DevelopmentLedger } from "../../../src/ledger/development/DevelopmentLedger.js"
import { open } from "../../../src/ledger/development/NodeStore.js"
import { setting } from "../../../src/ledger/development/Setting.js"
import { empty, type Input, keep } from "../../../src/ledger/development/State.js"
import { inMemory } from "../../../src/ledger/development/Store.js"
import { routes } from "../../../src/ledger/Shapes.js"
import { key } from "../Keys.js"

let root: string
let file: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-"))
  file = path.join(root, "made/by/it/ledger.sqlite")
})
afterEach(() => fs.rmSync(root, { recursive: true }))

const owner = key("owner")
const allocated: Input = {
  _tag: "Allocated",
  atMicros: 1_000,
  partyId: owner.party("owner"),
  publicKey: Buffer.from(owner.publicKey).toString("base64")
}
const minted = (number: number): Input => ({
  _tag: "Minted",
  atMicros: 2_000 + number,
  contractId: `00${String(number).padStart(64, "0")}`,
  owner: owner.party("owner"),
  amountAtoms: "5"
})

describe("the file", () => {
  test("keeps inputs in their order, and a whole state in place of those before it", () => {
    const store = open(file)
    store.append(allocated)
    store.append(minted(1))
    store.close()
    const again = open(file)
    expect(again.recover()).toStrictEqual({ kept: undefined, inputs: [allocated, minted(1)] })
    again.replace(keep(empty()))
    again.append(minted(2))
    again.close()
    const last = open(file)
    expect(last.recover()).toStrictEqual({ kept: keep(empty()), inputs: [minted(2)] })
    last.close()
  })

  test("is of one process at a time, the one that made it and any that opens it later", () => {
    for (let start = 0; start < 2; start++) {
      const store = open(file)
      expect(() => open(file)).toThrow(/cannot be read: another process works on it, and only one may: stop it first/)
      store.close()
    }
  })

  test("is not written to by a start that finds all there, so that it needs no room", () => {
    const store = open(file)
    store.append(allocated)
    store.close()
    const before = fs.readFileSync(file)
    const again = open(file)
    expect(fs.existsSync(`${file}-wal`) && fs.statSync(`${file}-wal`).size > 0).toBe(false)
    expect(again.recover()).toStrictEqual({ kept: undefined, inputs: [allocated] })
    again.close()
    expect(fs.readFileSync(file).equals(before)).toBe(true)
  })

  test("is nobody else's to read, whatever the directory's mode", () => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.chmodSync(path.dirname(file), 0o755)
    const mode = (): number => fs.statSync(file).mode & 0o777
    open(file).close()
    expect(mode()).toBe(0o600)
    fs.chmodSync(file, 0o644)
    open(file).close()
    expect(mode()).toBe(0o600)
  })

  test("is not gone on from where it is of another version, or is damaged", () => {
    const store = open(file)
    store.append(allocated)
    store.close()
    const database = new SqliteDatabase(file)
    database.prepare("UPDATE input SET body = ?").run(JSON.stringify({ _tag: "Allocated", atMicros: "late" }))
    database.close()
    const damaged = open(file)
    expect(() => damaged.recover()).toThrow(/atMicros/)
    damaged.close()
    const newer = new SqliteDatabase(file)
    newer.pragma("user_version = 2")
    newer.close()
    expect(() => open(file)).toThrow(/it has format 2, this version writes 1/)
    fs.writeFileSync(file, "not a database, but as long as one would have to be to be looked at".repeat(20))
    expect(() => open(file)).toThrow(/cannot be read/)
  })
})

describe("a ledger over it", () => {
  const drive = (ledger: DevelopmentLedger, from: number, count: number): void => {
    let chance = from
    const given = (epochMs: number) => ({ epochMs, bytes: (size: number) => new Uint8Array(size).fill(++chance % 251) })
    for (let index = from; index < from + count; index++) {
      const body = { party: owner.party("owner"), amountAtoms: index + 1 }
      const handled = ledger.handle({ method: "POST", path: controls.faucet, body }, given(1_000 + index * 1_000))
      expect(handled.reply?.status).toBe(200)
    }
  }
  const endOf = (ledger: DevelopmentLedger) =>
    ledger.handle({ method: routes.ledger_end[0], path: routes.ledger_end[1] }, {
      epochMs: 5_000_000,
      bytes: (size) => new Uint8Array(size)
    }).reply

  test("comes back the same, however far behind its last whole state it is", () => {
    const small = { ...setting, inputsPerState: 20 }
    const store = open(file)
    store.append(allocated)
    const ledger = new DevelopmentLedger(small, store)
    const reference = inMemory()
    reference.append(allocated)
    const other = new DevelopmentLedger(small, reference)
    // Past two whole states, and some inputs further.
    drive(ledger, 0, 27)
    drive(other, 0, 27)
    store.close()
    const again = open(file)
    const { inputs, kept } = again.recover()
    expect(kept).toBeDefined()
    expect(inputs.length).toBeLessThan(small.inputsPerState)
    const reopened = new DevelopmentLedger(small, again)
    expect(reopened.offset).toBe(other.offset)
    drive(reopened, 27, 3)
    drive(other, 27, 3)
    expect(endOf(reopened)).toStrictEqual(endOf(other))
    again.close()
  })

  test("changes nothing where nothing can be kept", () => {
    const store = inMemory()
    store.append(allocated)
    let isFull = false
    const ledger = new DevelopmentLedger(setting, {
      ...store,
      append: (input) => {
        if (isFull) throw new Error("disk full")
        store.append(input)
      }
    })
    drive(ledger, 0, 1)
    const { offset } = ledger
    isFull = true
    expect(() => drive(ledger, 1, 1)).toThrow("disk full")
    expect(ledger.offset).toBe(offset)
  })
})
