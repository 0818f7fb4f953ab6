/** The development ledger within the venue's process. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { afterEach, beforeEach, expect, test } from "vitest"
import { Faucet } from "../../../src/ledger/development/Faucet.js"
import * as NodeDevelopmentLedger from "../../../src/ledger/development/NodeDevelopmentLedger.js"
import { Ledger } from "../../../src/ledger/Ledger.js"
import { key } from "../Keys.js"

let root: string
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-"))
})
afterEach(() => fs.rmSync(root, { recursive: true }))

const owner = key("owner")
const layer = () => NodeDevelopmentLedger.layer({ file: path.join(root, "ledger.sqlite") })

test("keeps parties and holdings from one start of the venue to the next", async () => {
  const begin = Effect.gen(function*() {
    const { partyId } = yield* (yield* Ledger).allocateParty(owner.publicKey, "owner", (hash) => Effect.succeed(owner.sign(hash)))
    yield* (yield* Faucet).give(partyId, 7)
    return partyId
  })
  const partyId = await Effect.runPromise(Effect.provide(begin, layer()))
  const later = Effect.flatMap(Ledger, (ledger) => ledger.holdings(partyId))
  expect(await Effect.runPromise(Effect.provide(later, layer()))).toStrictEqual({ atoms: 7n, pieces: 1, seen: 1, offset: 2 })
})

test("gives nothing to a party that it does not know, and is of one venue at a time", async () => {
  const giving = Effect.flatMap(Faucet, (faucet) => Effect.flip(faucet.give(owner.party("owner"), 7)))
  expect(await Effect.runPromise(Effect.provide(giving, layer()))).toMatchObject({ _tag: "Refused", code: "FAUCET" })
  const beside = Effect.zipRight(Ledger, Effect.flip(Effect.provide(Ledger, layer())))
  expect((await Effect.runPromise(Effect.provide(beside, layer()))).message).toMatch(/another process works on it/)
})
