/** Where a tool looks for a journal. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Segment from "../journal/Segment.js"
import { lockPath } from "../journal/SegmentJournal.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import * as NodeHistories from "../readmodel/NodeHistories.js"
import { Ended, unreadableCode, usage } from "./Exit.js"

/** Why a directory is not one whose journal this user may read; undefined where it is. */
export const wrongPlace = (dataDir: string): Ended | undefined => {
  const noVenues = `${dataDir} is no venue's data directory: it has no journal`
  const journal = path.join(dataDir, Segment.directory)
  for (const directory of [dataDir, journal, path.join(dataDir, SnapshotStore.directory)]) {
    try {
      if (!fs.statSync(directory).isDirectory()) return usage(directory === dataDir ? noVenues : `${directory} is no directory`)
      fs.accessSync(directory, fs.constants.R_OK | fs.constants.X_OK)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== "ENOENT") return usage(`${directory} cannot be read (${code}): run this as the venue's user, to whom it belongs`)
      if (directory === dataDir) return usage(`there is no directory ${dataDir}`)
    }
  }
  if (fs.existsSync(journal)) return undefined
  const traces = [SnapshotStore.directory, lockPath, NodeHistories.fileName].filter((name) => fs.existsSync(path.join(dataDir, name)))
  return traces.length === 0
    ? usage(noVenues)
    : new Ended({ code: unreadableCode, text: `${dataDir} has ${traces.join(" and ")}, but no ${Segment.directory}/: put that back` })
}
