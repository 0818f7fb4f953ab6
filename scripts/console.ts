/**
 * Builds the owner's pages into `console` in the output (`--to FOLDER`, or `dist`): one document, and files whose names contain a hash of
 * their contents. Exits with 1 where code of the server, or of a package not meant for browsers, got into the bundle, or where a page is
 * larger than allowed.
 */
import * as esbuild from "esbuild"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { gzipSync } from "node:zlib"
import { output } from "./build/Target.js"

const source = "src/console"
const target = path.join(output, "console")

/** The largest total size of everything that a first visit loads, in bytes, compressed. */
const mostBytes = 61_500

/** The largest size of a part that a page loads when it is opened. */
const mostPartBytes = 70_000

/** The modules that may be in the bundle. */
const welcome =
  /^(?:src\/console\/|src\/client\/venue\/|node_modules\/(?:preact|@preact|@simplewebauthn|lightweight-charts|fancy-canvas)\/)/

const bundle = (): ReadonlyMap<string, Uint8Array> => {
  const { metafile, outputFiles } = esbuild.buildSync({
    entryPoints: [`${source}/main.tsx`, `${source}/console.css`],
    bundle: true,
    // What a page imports when it is opened becomes a file of its own, named after its contents.
    splitting: true,
    chunkNames: "[name]-[hash]",
    write: false,
    metafile: true,
    minify: true,
    format: "esm",
    target: ["chrome109", "firefox115", "safari16.4"],
    outdir: target,
    jsx: "automatic",
    jsxImportSource: "preact",
    // Fields that are parameters of their constructor are not declared twice there (`useDefineForClassFields`).
    tsconfig: `${source}/tsconfig.json`,
    legalComments: "none",
    logLevel: "warning"
  })
  // Node finds packages through links; the path within `node_modules` shows where they are from.
  const strangers = Object.keys(metafile.inputs).map((input) => input.replace(/^.*?(?=node_modules\/)/, "")).filter((input) =>
    !welcome.test(input)
  )
  if (strangers.length > 0) throw new Error(`the owner's pages would load ${strangers.join(", ")}`)
  const files = outputFiles.map(({ contents, path: file }) => [path.basename(file), contents] as const)
  return new Map([...files, ["icon.svg", fs.readFileSync(`${source}/icon.svg`)]])
}

/** A name that changes with the contents, so that the file can be cached for good. */
const hashed = (name: string, contents: Uint8Array): string => {
  const { ext, name: stem } = path.parse(name)
  return `${stem}-${createHash("sha256").update(contents).digest("hex").slice(0, 12)}${ext}`
}

/** Whether a file is loaded only when a page is opened. */
const isPart = (name: string): boolean => /-[0-9A-Z]{8}\.js$/.test(name)

const files = bundle()
fs.rmSync(target, { recursive: true, force: true })
fs.mkdirSync(`${target}/assets`, { recursive: true })
let document = fs.readFileSync(`${source}/index.html`, "utf8")
let bytes = 0
for (const [name, contents] of files) {
  const place = `{{${name}}}`
  const weight = gzipSync(contents).length
  if (!document.includes(place)) {
    // The files that import it use this name.
    if (!isPart(name)) throw new Error(`index.html does not name ${name}`)
    if (weight > mostPartBytes) throw new Error(`${name} is ${weight} bytes compressed, of at most ${mostPartBytes}`)
    if (process.argv.includes("--size")) console.log(`${weight} bytes compressed for ${name}`)
    fs.writeFileSync(`${target}/assets/${name}`, contents)
    continue
  }
  const served = hashed(name, contents)
  document = document.replaceAll(place, `/assets/${served}`)
  fs.writeFileSync(`${target}/assets/${served}`, contents)
  bytes += weight
}
fs.writeFileSync(`${target}/index.html`, document)
bytes += gzipSync(document).length
if (process.argv.includes("--size")) console.log(`${bytes} bytes compressed`)
if (bytes > mostBytes) throw new Error(`the owner's pages are ${bytes} bytes compressed, of at most ${mostBytes}`)
