/** `Written` from the folder that the build writes, `dist/docs`: the document `openapi.json`, and a file for each page. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Page from "./Page.js"
import { type Texts, Written } from "./Written.js"

/** The file of a page. */
export const fileOf = (name: string): string => name === Page.start ? "index.html" : `${name}.html`

/** The file of the contract's document. */
export const documentFile = "openapi.json"

const read = (folder: string): Texts | undefined => {
  const document = path.join(folder, documentFile)
  if (!fs.existsSync(document)) return undefined
  const pages = Page.names.map((name) => [name, fs.readFileSync(path.join(folder, fileOf(name)), "utf8")] as const)
  return { openApi: fs.readFileSync(document, "utf8"), pages: new Map(pages) }
}

/** The reference in a folder; none where it has no document. A folder that cannot be read ends the start. */
export const layer = (folder: string): Layer.Layer<never> => Layer.effect(Written, Effect.sync(() => read(folder)))
