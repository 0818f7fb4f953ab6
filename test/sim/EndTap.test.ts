/** The simulator sees whether the state with which a step to other rules begins is durable before the step is journaled. */
import { expect, test } from "vitest"
import * as Property from "../../sim/properties/Property.js"
import { versions } from "../../sim/properties/versions.js"
import * as EndTap from "../../sim/world/EndTap.js"

const stepPath = `snapshots/${"20".padStart(20, "0")}.step`
const diskWith = (files: ReadonlyArray<string>, durable: ReadonlyArray<string>) => ({
  crashes: () => 0,
  files: () => files,
  bytes: () => new Uint8Array(8),
  durable: (path: string) => new Uint8Array(durable.includes(path) ? 8 : 0)
})

test.each<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>, boolean]>([
  ["there is none", [], [], true],
  ["its name may be lost", [stepPath], [], false],
  ["it is there for good", [stepPath], [stepPath], true],
  ["a snapshot's name may be lost", ["snapshots/00000000000000000020.snap"], [], true]
])("as a process goes on: %s", (_, files, durable, keepsStep) => {
  const seen = EndTap.make(() => diskWith(files, durable))({
    index: 0,
    operation: "writeAt",
    path: "journal/0.seg",
    position: 0,
    bytes: Uint8Array.of(1)
  })
  expect(seen).toMatchObject({ _tag: "WentOn", keepsStep })
})

test("a process that journals no step is held to nothing", () => {
  const seen = { _tag: "WentOn" as const, path: "journal/0.seg", position: 0, zeroedTo: 0, segmentEnd: 0, keepsStep: false }
  expect(Property.watch(versions).observe(seen)).toEqual(Property.holds)
})
