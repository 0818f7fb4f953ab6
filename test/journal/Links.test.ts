/** A segment or a snapshot that is no file, such as a link, is refused by name: whoever lists files only would not see its records. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Layer } from "effect"
import { afterAll, expect, test } from "vitest"
import { unreadable } from "../../src/cli/Exit.js"
import * as JournalTasks from "../../src/cli/venue/JournalTasks.js"
import type { Corrupt, Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { appendMany, journalOver, replayed } from "./Harness.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "links-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

const over = <A, E>(root: string, body: Effect.Effect<A, E, Journal>): Promise<A> =>
  Effect.runPromise(Effect.provide(body, journalOver(NodeDisk.layer(root))))

/** A directory with three segments and a file that is named like a snapshot. */
const made = async (name: string): Promise<string> => {
  const root = path.join(directory, name)
  await over(root, appendMany(3, 1, 3_500))
  expect(segmentsOf(root)).toHaveLength(3)
  fs.mkdirSync(path.join(root, "snapshots"))
  fs.writeFileSync(path.join(root, "snapshots/00000000000000000004.snap"), "a snapshot")
  return root
}

const segmentsOf = (root: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, "journal")).filter((name) => name.endsWith(".seg")).map((name) => `journal/${name}`).sort()

/** Moves a file out of the directory, and leaves a link to it. */
const link = (root: string, file: string): void => {
  const elsewhere = path.join(directory, `${path.basename(root)} ${path.basename(file)}`)
  fs.renameSync(path.join(root, file), elsewhere)
  fs.symlinkSync(elsewhere, path.join(root, file))
}

const contents = (root: string): ReadonlyArray<readonly [string, boolean, string]> =>
  (fs.readdirSync(root, { recursive: true }) as Array<string>).filter((name) => /\.(?:seg|snap|step|tmp)$/.test(name)).sort().map(
    (name) => {
      const file = path.join(root, name)
      return [name, fs.lstatSync(file).isSymbolicLink(), fs.readFileSync(file).toString("base64")] as const
    }
  )

/** Why a start, the tools and a copy are refused, after a check that nothing was changed. */
const refusals = async (root: string): Promise<ReadonlyArray<Corrupt>> => {
  const before = contents(root)
  const store = Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(root))
  const refused = [
    await over(root, replayed()).then(() => undefined, (error: Error) => error),
    ...await Promise.all([
      JournalTasks.info,
      JournalTasks.copy(NodeDisk.layer(fs.mkdtempSync(path.join(directory, "copy-"))))
    ].map((task) => Effect.runPromise(Effect.provide(Effect.flip(task), store))))
  ]
  expect(contents(root)).toEqual(before)
  return refused as ReadonlyArray<Corrupt>
}

test.each<readonly [string, (root: string) => ReadonlyArray<string>, number]>([
  ["the first segment", (root) => segmentsOf(root).slice(0, 1), 0],
  ["the last segment", (root) => segmentsOf(root).slice(-1), 0],
  ["every segment and snapshot", (root) => ["snapshots/00000000000000000004.snap", ...segmentsOf(root)], 1]
])("%s that is a link is refused by its name, and nothing is begun anew", async (name, files, at) => {
  const root = await made(name)
  const linked = files(root)
  for (const file of linked) link(root, file)
  const [started, info, copy] = await refusals(root)
  expect(String(started)).toContain(`${linked[at]} is corrupt at offset 0`)
  expect(String(started)).toContain("it is a symbolic link: put the file itself there")
  for (const refused of [info!, copy!]) {
    expect(refused).toMatchObject({
      _tag: "JournalCorrupt",
      missing: "misplaced",
      reason: "it is a symbolic link: put the file itself there"
    })
    expect(unreadable(refused).text).toContain("nothing is to be cut")
  }
})

test.each(["snap", "step"])("a .%s that is a link, or a directory, is refused by whoever looks for snapshots", async (ending) => {
  const root = await made(`snapshots with a ${ending}`)
  const file = `snapshots/00000000000000000003.${ending}`
  fs.writeFileSync(path.join(root, file), "another")
  link(root, file)
  const names = Effect.flatMap(SnapshotStore.SnapshotStore, (store) => Effect.all([Effect.flip(store.names), Effect.flip(store.latest)]))
  const listed = () => Effect.runPromise(Effect.provide(names, Layer.provide(SnapshotStore.layerReadOnly, NodeDisk.layer(root))))
  const refused = { _tag: "JournalCorrupt", segment: file, sequence: 3, missing: "misplaced" }
  expect(await listed()).toMatchObject([refused, refused])
  fs.rmSync(path.join(root, file))
  fs.mkdirSync(path.join(root, file))
  expect((await listed())[0]).toMatchObject({ reason: "it is a directory: put the file itself there" })
})

test("a data directory that is itself a link is one like any other", async () => {
  const root = await made("behind a link")
  fs.symlinkSync(root, `${root} to it`)
  expect(await over(`${root} to it`, replayed())).toHaveLength(3)
  await over(`${root} to it`, appendMany(2, 1, 3_500))
  expect(await over(root, replayed())).toHaveLength(5)
})
