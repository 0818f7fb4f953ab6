/**
 * Builds the owner's pages into `console` of the output (`--to FOLDER`, or `dist`): one document, and the files that it names by
 * what is in them. Ends with 1 where anything of the server, or of a package that is not meant for it, got into what a browser
 * loads, or where all of it is more than a page may weigh.
 */
import * as esbuild from "esbuild"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { gzipSync } from "node:zlib"
import { output } from "./build/Target.js"

const source = "src/console"
const target = path.join(output, "console")

/** What everything that a first visit loads may come to, in bytes, compressed. */
const mostBytes = 60_000

/** What a part may come to that a page loads when it is opened. */
const mostPartBytes = 70_000

/** What may be in the bundle. */
const welcome =
  /^(?:src\/console\/|src\/client\/venue\/|node_modules\/(?:preact|@preact|@simplewebauthn|lightweight-charts|fancy-canvas)\/)/

const bundle = (): ReadonlyMap<string, Uint8Array> => {
  const { metafile, outputFiles } = esbuild.buildSync({
    entryPoints: [`${source}/main.tsx`, `${source}/console.css`],
    bundle: true,
    // What a page imports when it is opened is a file of its own, called by what is in it.
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
    tsconfig: `${source}/tsconfig.json`,
    legalComments: "none",
    logLevel: "warning"
  })
  // Node finds packages through links; what counts is where they are from.
  const strangers = Object.keys(metafile.inputs).map((input) => input.replace(/^.*?(?=node_modules\/)/, "")).filter((input) =>
    !welcome.test(input)
  )
  if (strangers.length > 0) throw new Error(`the owner's pages would load ${strangers.join(", ")}`)
  const files = outputFiles.map(({ contents, path: file }) => [path.basename(file), contents] as const)
  return new Map([...files, ["icon.svg", fs.readFileSync(`${source}/icon.svg`)]])
}

/** A name that changes with what it names, so that it can be kept for good. */
const hashed = (name: string, contents: Uint8Array): string => {
  const { ext, name: stem } = path.parse(name)
  return `${stem}-${createHash("sha256").update(contents).digest("hex").slice(0, 12)}${ext}`
}

/** Whether a file is loaded when a page is opened, and not before. */
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
    // The files that import it call it so.
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
