/** The histories' database as a file of the data directory. A file set aside is kept until the next one is set aside. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodePrivateFile from "../NodePrivateFile.js"
import { DatabaseUnusable, HistoriesDatabase, openAt } from "./HistoriesDatabase.js"

/** The file's name in the data directory. */
const fileName = "histories.db"

/** Suffixes of the database file and of the files that SQLite keeps beside it. */
const companions = ["", "-wal", "-shm"]

const unusable = (cause: unknown): DatabaseUnusable =>
  new DatabaseUnusable({ reason: cause instanceof Error ? cause.message : String(cause) })

/**
 * Histories contain everybody's orders, and the addresses from which owners signed in. Files that SQLite creates beside a database get
 * its mode.
 */
const keepPrivate = (file: string): void => {
  NodePrivateFile.keep(file)
  for (const kept of [file, `${file}.set-aside`]) for (const companion of companions) NodePrivateFile.restrict(`${kept}${companion}`)
}

/** Opens the file in the current thread. */
export const layer = (dataDir: string): Layer.Layer<HistoriesDatabase> => {
  const file = path.join(dataDir, fileName)
  return Layer.succeed(HistoriesDatabase, {
    name: file,
    open: Effect.zipRight(
      Effect.try({
        try: () => {
          fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
          keepPrivate(file)
        },
        catch: unusable
      }),
      openAt(file)
    ),
    setAside: Effect.try({
      try: () => {
        for (const companion of companions) {
          const from = `${file}${companion}`
          const to = `${file}.set-aside${companion}`
          if (fs.existsSync(from)) fs.renameSync(from, to)
          else fs.rmSync(to, { force: true })
        }
      },
      catch: unusable
    })
  })
}
