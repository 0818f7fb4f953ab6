import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as Diff from "../../src/cli/replay/Diff.js"
import * as Verify from "../../src/cli/replay/Verify.js"
import * as Ids from "../../src/domain/Ids.js"
import { Engine } from "../../src/engine/Engine.js"
import * as EngineSnapshot from "../../src/engine/Snapshot.js"
import { Bracket } from "../../src/engine/accounts/Brackets.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { ApiKeys } from "../../src/engine/accounts/ApiKeys.js"
import type { State } from "../../src/engine/State.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { labelled } from "./Labelled.js"
import * as Recorded from "./Recorded.js"
import { line, runAll } from "./Tool.js"

const folder = Recorded.folders()

const { recording } = labelled(71, 500)
const written = await Recorded.write(recording, folder())
const pristine = written.folder
const block = written.blocks.find(({ firstSequence }) => firstSequence > 400)!

/** A copy of the journal with a snapshot whose state was changed, with a matching digest. */
const planted = async (change: (state: State) => void): Promise<string> => {
  const made = folder()
  fs.cpSync(path.join(pristine, "journal"), path.join(made, "journal"), { recursive: true })
  const state = Recorded.stateAt(recording, block.lastSequence)
  change(state)
  await Recorded.saveSnapshot(made, block, state)
  return made
}

const compared = (from: string): Promise<ReadonlyArray<Diff.Finding>> =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    return yield* Diff.compareAll(yield* Journal, snapshots, yield* snapshots.list, Recorded.capacity, () => {})
  }).pipe(Effect.provide(Recorded.reading(from)), Effect.runPromise)

/** An order that is open in the snapshot's state. */
const openSlot = (state: State): number => {
  for (let slot = 0; slot < state.orders.end; slot++) {
    if (state.orders.holds(slot) && state.orders.status(slot) === 0 && state.orders.remaining(slot) > 0) return slot
  }
  throw new Error("the recording leaves orders open")
}

describe("a snapshot held to replay", () => {
  it("is equal where nothing was changed", async () => {
    const findings = await compared(await planted(() => {}))
    const detail = Verify.digestOf(new Engine(Recorded.stateAt(recording, block.lastSequence)))
    expect(findings).toEqual([{ sequence: block.lastSequence, found: "equal", detail, groups: [] }])
  })

  const state = () => Recorded.stateAt(recording, block.lastSequence)
  const account = () => Ids.accountId(state().accounts.born(1))

  it.each<readonly [string, (state: State) => void, () => ReadonlyArray<Diff.Group>]>([
    ["an account's money", (state) => {
      state.accounts.setCollateral(1, state.accounts.collateral(1) + 1)
    }, () => {
      const atoms = state().accounts.collateral(1)
      const line = `${account()}: collateralAtoms ${atoms + 1} in the snapshot, ${atoms} in replay`
      return [{ name: "Accounts", lines: [line] }]
    }],
    ["a position", (state) => {
      state.positions.setRealizedPnl(state.positions.find(1, 0), state.positions.realizedPnl(state.positions.find(1, 0)) - 7)
    }, () => {
      const atoms = state().positions.realizedPnl(state().positions.find(1, 0))
      const line = `${account()} in AAA-USDC-PERP: realizedPnlAtoms ${atoms - 7} in the snapshot, ${atoms} in replay`
      return [{ name: "Positions", lines: [line] }]
    }],
    ["an order's name", (state) => {
      state.orders.idempotencyKey.put(openSlot(state), "")
    }, () => {
      const slot = openSlot(state())
      const line = `${Ids.orderId(state().orders.number(slot))}: idempotencyKey empty in the snapshot, `
        + `${state().orders.idempotencyKey.at(slot)} in replay`
      return [{ name: "Orders", lines: [line] }]
    }],
    ["the halt and a fee", (state) => {
      state.halted = !state.halted
      state.fees.add(3)
    }, () => {
      const { fees: { atoms: fees }, halted } = state()
      const lines = [
        `venue: halted ${!halted} in the snapshot, ${halted} in replay`,
        `totals: feesAtoms ${fees + 3n} in the snapshot, ${fees} in replay`
      ]
      return [{ name: "Venue", lines }]
    }],
    ["a market's index", (state) => {
      state.markets[1]!.indexPrice += 1
    }, () => {
      const { indexPrice } = state().markets[1]!
      const line = `BBB-USDC-PERP: indexPrice ${indexPrice + 1} in the snapshot, ${indexPrice} in replay`
      return [{ name: "Markets", lines: [line] }]
    }]
  ])("shows a difference in %s", async (_, change, groups) => {
    const [finding] = await compared(await planted(change))
    expect(finding!.found).toBe("differs")
    expect(finding!.groups).toEqual(groups())
  })

  it("shows an order that is missing wherever it was", async () => {
    const before = Recorded.stateAt(recording, block.lastSequence)
    const slot = openSlot(before)
    const order = Ids.orderId(before.orders.number(slot))
    const [finding] = await compared(
      await planted((state) => {
        state.books[state.orders.market(slot)]!.remove(slot)
      })
    )
    const book = before.orders.market(slot) === 0 ? "AAA-USDC-PERP" : "BBB-USDC-PERP"
    const side = before.orders.side(slot) === 0 ? "bids" : "asks"
    expect(finding!.groups.map(({ name }) => name)).toEqual(["Books", "Lists of orders"])
    expect(finding!.groups[0]!.lines[0]).toContain(`${book} ${side} ${order}: only in replay (priceAtoms `)
    expect(finding!.groups[1]!.lines).toHaveLength(1)
    const list = /^\S+ (?:bids|asks), best first: \d+ in the snapshot, \d+ in replay; first at place \d+, /
    expect(finding!.groups[1]!.lines[0]).toMatch(list)
  })

  it("shows keys, fills and API keys that only one of them has", async () => {
    const earlier = Recorded.stateAt(recording, block.lastSequence - 60)
    const { displayPrefixes, keyIds, rows } = earlier.apiKeys.dump()
    const left = keyIds.length - 1
    earlier.apiKeys = ApiKeys.restore({
      rows: rows.subarray(0, (rows.length / keyIds.length) * left),
      keyIds: keyIds.slice(0, left),
      displayPrefixes: displayPrefixes.slice(0, left),
      numbers: undefined
    })
    const groups = Diff.compare(earlier, Recorded.stateAt(recording, block.lastSequence))
    const named = new Map(groups.map(({ lines, name }) => [name, lines]))
    expect(named.get("Fills")!.some((line) => /^fill \d+: only in replay \(ordinal /.test(line))).toBe(true)
    expect(named.get("API keys")).toEqual([expect.stringMatching(/^api_key-of-account5-\S+: only in replay/)])
    expect(named.get("Idempotency keys")!.some((line) => /^acc_\w+, key with digest .*: only in replay/.test(line))).toBe(true)
    expect(Diff.compare(earlier, earlier)).toEqual([])
  })

  it("takes the same things stored otherwise for the same", async () => {
    const [finding] = await compared(
      await planted((state) => {
        const free = Array.from({ length: state.orders.end }, (_, slot) => slot).find((slot) => !state.orders.holds(slot))
        const row = free ?? state.orders.end
        expect(state.orders.holds(row)).toBe(false)
        state.orders.setPriceAtoms(row, 7)
      })
    )
    // The content of a free row is no part of the state.
    expect(finding).toMatchObject({ found: "equal", groups: [] })
  })

  it("says what of it cannot be loaded, and what it cannot be compared with", async () => {
    const sections = EngineSnapshot.encode(Recorded.stateAt(recording, block.lastSequence)).filter(({ name }) => name !== "ended")
    const made = await planted(() => {})
    const save = (snapshot: SnapshotStore.Snapshot) =>
      Effect.runPromise(
        Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.save(snapshot)).pipe(
          Effect.provide(SnapshotStore.layer),
          Effect.provide(NodeDisk.layer(made))
        )
      )
    const { schema } = EngineSnapshot
    await save({ sequence: block.lastSequence, blockDigest: block.digest, schema, sections })
    expect((await compared(made))[0]).toMatchObject({
      found: "differs",
      detail: "it cannot be loaded: a snapshot has a section ended",
      groups: [{ lines: ["ended: missing in the snapshot"] }]
    })
    await save({ sequence: block.lastSequence, blockDigest: block.previousDigest, schema, sections })
    await save({ sequence: recording.sequence + 1, blockDigest: block.digest, schema, sections })
    expect((await compared(made)).map(({ detail, found }) => [found, detail])).toEqual([
      ["unusable", "it names another block"],
      ["unusable", "the journal ends before it"]
    ])
  })

  it("has a name for every field of the canonical form", () => {
    const seen = new Set<string>()
    const rare = EngineSnapshot.unsafeDecode(EngineSnapshot.encode(recording.state), recording.state.capacity)
    rare.accounts.setDisplayHandle(0, "a-name")
    rare.leaving.set(0, { reason: 1, before: 64 })
    rare.connections.arm(7, 0)
    rare.connections.join(7, 64)
    rare.liquidations.set(1, 1_000)
    const slot = rare.touchPosition(0, 0)
    rare.positions.setLeverage(slot, 3)
    const stopLoss = { priceAtoms: 900, by: 0, limitAtoms: 0 } as const
    const bracket = new Bracket(1, 0, 0, slot, 0, { ...noAutoClose, stopLoss }, false, 1_000, 1)
    rare.brackets.add(bracket)
    rare.brackets.arm(bracket)
    rare.brackets.note(0, 0, 900)
    for (const line of Recorded.canonical(rare)) {
      const [kind, ...words] = line.split(" ")
      const shape = Diff.shapes[kind!]
      if (shape === undefined) continue
      seen.add(kind!)
      expect(words, line).toHaveLength(shape.naming + shape.fields.length)
    }
    expect([...seen].sort()).toEqual(Object.keys(Diff.shapes).sort())
  })
})

describe("the command", () => {
  const program = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../tools/replay.js")
  const settings = { ORDER_CAPACITY: "10000", IDEMPOTENCY_CAPACITY: "10000" }
  const diff = (data: string, ...more: ReadonlyArray<string>) => line(program, ["--data", data, "--diff", ...more], settings)

  it("ends with 0 for equal, 1 for different, 2 for what cannot be compared, and 3 for what is not there", async () => {
    const equal = await planted(() => {})
    const differing = await planted((state) => {
      state.accounts.setCollateral(1, state.accounts.collateral(1) + 1)
    })
    const damaged = await planted(() => {})
    const [name] = fs.readdirSync(path.join(damaged, "snapshots"))
    fs.truncateSync(path.join(damaged, "snapshots", name!), 100)
    const results = await runAll([
      diff(equal),
      diff(equal, String(block.lastSequence)),
      diff(differing),
      diff(damaged),
      diff(equal, "1"),
      diff(pristine),
      line(program, ["--data", equal, "--verify", "--snapshot", "7"], settings)
    ])
    expect(results.map(({ code }) => code)).toEqual([0, 0, 1, 2, 3, 3, 3])
    expect(results[0]!.stdout).toMatch(new RegExp(`^snapshot ${block.lastSequence} equal: `))
    expect(results[2]!.stdout).toMatch(/\n {2}Accounts\n {4}acc_\w+: collateralAtoms \d+ in the snapshot, \d+ in replay\n/)
    expect(results[4]!.stderr).toBe(`there is no snapshot at 1; there are those at ${block.lastSequence}\n`)
  })
})
