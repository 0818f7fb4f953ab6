/** `Assets` from the folder that the build writes: the document `index.html`, and the files beside it in `assets/`. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Asset, Assets, type Built } from "./Assets.js"

/** What is served, by the ending of its name; all of it is text. */
const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml"
}

const read = (folder: string): Built | undefined => {
  const document = path.join(folder, "index.html")
  if (!fs.existsSync(document)) return undefined
  const assets = path.join(folder, "assets")
  const files = fs.readdirSync(assets).flatMap((name): ReadonlyArray<readonly [string, Asset]> => {
    const contentType = contentTypes[path.extname(name)]
    return contentType === undefined ? [] : [[name, { contentType, body: fs.readFileSync(path.join(assets, name), "utf8") }]]
  })
  return { document: fs.readFileSync(document, "utf8"), files: new Map(files) }
}

/** The pages in a folder; none where it has no document. A folder that cannot be read ends the start. */
export const layer = (folder: string): Layer.Layer<never> => Layer.effect(Assets, Effect.sync(() => read(folder)))
