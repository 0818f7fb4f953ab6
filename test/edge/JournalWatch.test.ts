/** What the log says of a journal that does not take everything, and what it says where the process itself stood still. */
import { expect, test } from "vitest"
import * as JournalWatch from "../../src/edge/system/JournalWatch.js"
import type { Room } from "../../src/journal/Journal.js"

/** A watch whose checks are 10 s apart, or later; each has the journal's trouble and what it has room for. */
const watch = () => {
  let [nanos, trouble, room]: [number, string | undefined, Room] = [0, undefined, "all"]
  const look = JournalWatch.make(
    { journalSpace: () => ({ room, freeBytes: 1, shortage: undefined }), trouble: () => trouble },
    { nanos: () => nanos, pauseMs: 10_000 }
  )
  return (afterMs: number, what: string | undefined, of: Room = "all"): ReadonlyArray<string> => {
    nanos += afterMs * 1e6
    trouble = what
    room = of
    return look().map(({ text }) => text)
  }
}

const waits = "a block has been on its way to the disk for 30125 ms"

test("a disk that does not answer is told once, and when it is over", () => {
  const look = watch()
  expect([look(0, undefined), look(10_002, waits), look(10_002, waits), look(10_002, undefined)]).toEqual([
    [],
    [`the journal does not take everything: ${waits}`],
    [],
    ["the journal takes everything again"]
  ])
})

test("after the process stood still the disk is not blamed, unless the block still waits at the next check", () => {
  const look = watch()
  const stood = "this process stood still for 30000 ms, and so did what it has on its way to the disk"
  expect([look(0, undefined), look(40_000, waits), look(10_000, undefined), look(40_000, waits), look(10_000, waits)]).toEqual([
    [],
    [stood],
    [],
    [stood],
    [`the journal does not take everything: ${waits}`]
  ])
})

test("a full disk is told however late the check is", () => {
  const look = watch()
  expect([look(0, undefined), look(40_000, "placements are refused", "reductions")]).toEqual([
    [],
    ["the journal does not take everything: placements are refused"]
  ])
})
