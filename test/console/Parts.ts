/** Parts of the pages as they are built, from their own files: they need no document as long as nobody paints them. */
import * as esbuild from "esbuild"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"

/** The hooks for what is made once and never painted: what is to be done before that is done at once. */
const hooks = `export const useRef = () => ({ current: null })
  export const useId = () => "id"
  export const useEffect = () => {}
  export const useLayoutEffect = (run) => void run()
  export const useSignal = (value) => ({ value })
  export const useState = (value) => [typeof value === "function" ? value() : value]`

/** What these lines, in the folder of the pages, export. */
export const built = async <A>(contents: string): Promise<A> => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "venue-shown-"))
  const outfile = path.join(folder, "parts.mjs")
  const stub = path.join(folder, "hooks.mjs")
  fs.writeFileSync(stub, hooks)
  await esbuild.build({
    stdin: { contents, resolveDir: "src/console", loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    outfile,
    alias: { "preact/hooks": stub, "@preact/signals": stub },
    jsx: "automatic",
    jsxImportSource: "preact",
    tsconfig: "src/console/tsconfig.json",
    logLevel: "silent"
  })
  const parts = await import(pathToFileURL(outfile).href) as A
  fs.rmSync(folder, { recursive: true, force: true })
  return parts
}

interface Node {
  readonly type: string | ((props: object) => unknown)
  readonly props: Readonly<Record<string, unknown>>
  readonly ref: { current: unknown } | null
}

/** What is shown, one level down: what a part makes of its properties, or what an element contains. */
const within = ({ props, type }: Node): unknown => typeof type === "function" ? type(props) : props["children"]

/** The text of what is shown. */
export const textOf = (shown: unknown): string => {
  if (typeof shown === "string" || typeof shown === "number") return String(shown)
  if (Array.isArray(shown)) return shown.map(textOf).join("")
  return typeof shown === "object" && shown !== null ? textOf(within(shown as Node)) : ""
}

/** The elements of a kind in what is shown, in order. */
export const elements = (shown: unknown, kind: string): ReadonlyArray<Node> => {
  if (Array.isArray(shown)) return shown.flatMap((each) => elements(each, kind))
  if (typeof shown !== "object" || shown === null) return []
  const node = shown as Node
  return [...(node.type === kind ? [node] : []), ...elements(within(node), kind)]
}
