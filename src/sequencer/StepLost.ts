/** Whether the state of the journal's last step to other rules can still be read. Without it no version can replay the journal. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Block from "../journal/Block.js"
import { Disk, type DiskError } from "../journal/Disk.js"
import type { Unreadable } from "../journal/Journal.js"
import * as Reading from "../journal/Reading.js"
import * as Scan from "../journal/Scan.js"
import * as Segment from "../journal/Segment.js"
import { stepCondition } from "../journal/SnapshotStore.js"
import { versions } from "./Versions.js"

/** Whether the journal began under other rules than this program's. */
const beganUnderOthers: Effect.Effect<boolean, Unreadable | DiskError, Disk> = Effect.scoped(Effect.gen(function*() {
  const file = yield* Effect.flatMap(Disk, (disk) => disk.open(Segment.pathOf(1), "read"))
  const header = yield* Scan.readSegmentHeader(file, 1)
  const piece = yield* Scan.readPiece(file, header, Block.sectorBytes, Scan.genesis, Block.sectorBytes)
  const [first] = piece.blocks
  if (first === undefined) return false
  if (first.header.codec < Block.codecVersion) return true
  const { records: [record] } = yield* Reading.decode(piece, first, header, Block.sectorBytes)
  return record?.command.kind === "OpenVenue" && record.command.rules !== versions.rules
}))

/** What has to be put back of a directory under this program's rules, in a sentence; undefined where nothing is missing. */
export const stepLost: Effect.Effect<string | undefined, Unreadable | DiskError, Disk> = Effect.gen(function*() {
  const condition = yield* stepCondition
  if (condition === "whole" || condition === "missing" && !(yield* beganUnderOthers)) return undefined
  return `the state that the last step began with (snapshots/*.step) is ${condition}: put it back from a copy, since no version can replay `
    + "this journal from its beginning without it"
})

/** Logs what has to be put back, or why that is not known. */
export const tellStepLost: Effect.Effect<void, never, Disk> = stepLost.pipe(
  Effect.flatMap((text) => text === undefined ? Effect.void : Effect.logWarning(text)),
  Effect.catchAllCause((cause) =>
    Effect.logWarning(`it is not known whether the state that the last step began with can be read: ${Cause.pretty(cause)}`)
  )
)
