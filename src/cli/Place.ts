/** Where a tool looks for a journal. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Segment from "../journal/Segment.js"
import { lockPath } from "../journal/SegmentJournal.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import * as NodeHistories from "../readmodel/NodeHistories.js"
import { Ended, unreadableCode, usage } from "./Exit.js"

/** What a directory has of a venue's beside a journal. */
const tracesIn = (dataDir: string): ReadonlyArray<string> =>
  [SnapshotStore.directory, lockPath, NodeHistories.fileName].filter((name) => fs.existsSync(path.join(dataDir, name)))

const noVenues = (dataDir: string, why: string): Ended => usage(`${dataDir} is no venue's data directory: ${why}`)

const noJournal = "it has no journal"

/**
 * Why nothing may be written to a directory whose journal could be read; undefined where it may. A directory that another program calls
 * `journal` makes what is above it no venue's.
 */
export const wrongToWrite = (dataDir: string): Ended | undefined => {
  const wrong = wrongPlace(dataDir)
  if (wrong !== undefined || tracesIn(dataDir).length > 0) return wrong
  const hasSegment = fs.readdirSync(path.join(dataDir, Segment.directory)).some((name) => Segment.firstSequenceOf(name) !== undefined)
  return hasSegment ? undefined : noVenues(dataDir, `its ${Segment.directory}/ has no segment`)
}

/** Why a directory is not one whose journal this user may read; undefined where it is. */
export const wrongPlace = (dataDir: string): Ended | undefined => {
  const journal = path.join(dataDir, Segment.directory)
  for (const directory of [dataDir, journal, path.join(dataDir, SnapshotStore.directory)]) {
    try {
      if (!fs.statSync(directory).isDirectory()) {
        return directory === dataDir ? noVenues(dataDir, noJournal) : usage(`${directory} is no directory`)
      }
      fs.accessSync(directory, fs.constants.R_OK | fs.constants.X_OK)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== "ENOENT") return usage(`${directory} cannot be read (${code}): run this as the venue's user, to whom it belongs`)
      if (directory === dataDir) return usage(`there is no directory ${dataDir}`)
    }
  }
  if (fs.existsSync(journal)) return undefined
  const traces = tracesIn(dataDir)
  return traces.length === 0
    ? noVenues(dataDir, noJournal)
    : new Ended({ code: unreadableCode, text: `${dataDir} has ${traces.join(" and ")}, but no ${Segment.directory}/: put that back` })
}
