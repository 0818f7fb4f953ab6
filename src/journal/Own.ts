/** The names in a directory that are the journal's or the snapshots' own. Behind none of them may be anything but a file. */
import * as Effect from "effect/Effect"
import { type Disk, DiskError } from "./Disk.js"
import { Corrupt } from "./Journal.js"

/**
 * The names that begin with a sequence of 20 digits and are `isOwn`, sorted. `Corrupt` where one is no file: a link would be left out
 * by whoever lists files and be replaced by whoever renames one over it, so that its records would be gone without a word.
 */
export const own = (
  disk: Disk["Type"],
  directory: string,
  isOwn: (name: string) => boolean
): Effect.Effect<ReadonlyArray<string>, Corrupt | DiskError> =>
  Effect.catchTag(disk.listOwn(directory, isOwn), "NoFile", ({ kind, path }) =>
    new Corrupt({
      segment: path,
      offset: 0,
      sequence: Number(path.slice(directory.length + 1, directory.length + 21)),
      reason: `it is ${kind}: put the file itself there`,
      missing: "misplaced"
    }))

/** The same; none where there is no such directory. */
export const ownIfAny: typeof own = (disk, directory, isOwn) =>
  Effect.catchIf(own(disk, directory, isOwn), (error) => error instanceof DiskError && error.code === "ENOENT", () => Effect.succeed([]))
