/** The simulator sees which snapshots a venue removes, and checks that it keeps the newest two. */
import { expect, test } from "vitest"
import * as Property from "../../sim/properties/Property.js"
import { snapshotsKeepUp } from "../../sim/properties/snapshotsKeepUp.js"
import type { Call } from "../../sim/world/SimDisk.js"
import { removed } from "../../sim/world/SnapshotTap.js"

const pathOf = (sequence: number): string => `snapshots/${String(sequence).padStart(20, "0")}.snap`
const files = [pathOf(20), pathOf(40), pathOf(60), "snapshots/next.tmp", "journal/0.seg"]

test.each<readonly [Call["operation"], string, ReturnType<typeof removed>]>([
  ["remove", pathOf(20), { sequence: 20, left: 2 }],
  ["remove", "snapshots/next.tmp", undefined],
  ["rename", pathOf(20), undefined],
  ["remove", "journal/0.seg", undefined]
])("an operation: %s %s", (operation, path, expected) => {
  expect(removed({ index: 0, operation, path }, () => files)).toEqual(expected)
})

test.each([[2, Property.holds], [1, expect.stringContaining("of the others there are only 1")]])("%d are left", (left, expected) => {
  expect(Property.watch(snapshotsKeepUp).observe({ _tag: "SnapshotRemoved", sequence: 20, left })).toEqual(expected)
})
