/**
 * Builds the packages for users: `perpetuum-client`, the reference client for Node and browsers, and `perpetuum-ccxt`, the exchange class.
 * Each is compiled from copies of the client's sources, with the contract's types written out, so that no server code is within reach; it
 * is bundled with its types, README, licence and a manifest that takes version, licence and dependencies from the repository's. `--to
 * FOLDER` sets the destination (`dist/client`): a package is at `FOLDER/NAME`, with an archive beside it for `npm install`. Prints the
 * packed files.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as esbuild from "esbuild"
import { type Document, writtenOut } from "./client/Declarations.js"
import { parsed } from "./Usage.js"

interface Manifest {
  readonly version: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

const values = parsed("client [--to dist/client]", { options: { to: { type: "string", default: "dist/client" } } })
const parent = path.resolve(values.to)
fs.mkdirSync(parent, { recursive: true })

const { dependencies, engines, license, version } = JSON.parse(fs.readFileSync("package.json", "utf8")) as Manifest

/** Within the repository, so that its packages are found. */
const scratch = fs.mkdtempSync(path.join(fs.realpathSync("dist"), "client-"))
const compiled = path.join(scratch, "compiled")

/** Compiles copies of the client's sources, which must not need any others. */
const compile = (): void => {
  const sources = path.join(scratch, "sources")
  for (const folder of ["ccxt", "venue"]) fs.cpSync(path.join("src/client", folder), path.join(sources, folder), { recursive: true })
  const contract = path.join(sources, "venue", "Contract.ts")
  const document = JSON.parse(fs.readFileSync("dist/docs/openapi.json", "utf8")) as Document
  fs.writeFileSync(contract, writtenOut(fs.readFileSync(contract, "utf8"), document))
  const compilerOptions = { rootDir: "sources", outDir: "compiled", declaration: true, sourceMap: false }
  const settings = { extends: path.resolve("tsconfig.json"), compilerOptions, include: ["sources"], exclude: [] }
  fs.writeFileSync(path.join(scratch, "tsconfig.json"), JSON.stringify(settings))
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", scratch], { stdio: "inherit" })
}

/** Bundles one entry point with all of the client's code that it uses. */
const bundle = (entry: string, to: string, platform: "node" | "browser", external: ReadonlyArray<string>): void => {
  const { metafile } = esbuild.buildSync({
    entryPoints: [path.join(compiled, entry)],
    outfile: to,
    bundle: true,
    format: "esm",
    platform,
    target: platform === "node" ? "node20" : ["chrome109", "firefox115", "safari16.4"],
    external: [...external],
    metafile: true,
    legalComments: "none",
    logLevel: "warning"
  })
  const strangers = Object.keys(metafile.inputs).filter((input) => !path.resolve(input).startsWith(compiled))
  if (strangers.length > 0) throw new Error(`${entry} would take ${strangers.join(", ")} along`)
}

/** The parts in which the packages differ. */
interface Package {
  readonly name: string
  readonly description: string
  readonly folder: string
  readonly bundles: ReadonlyArray<readonly [file: string, platform: "node" | "browser"]>
  readonly external: ReadonlyArray<string>
  readonly manifest: object
}

const range = (name: string): Readonly<Record<string, string>> => ({ [name]: dependencies[name]! })

const packages: ReadonlyArray<Package> = [
  {
    name: "perpetuum-client",
    description: "A client of Perpetuum, a perpetual-futures venue: outcomes of lost requests, streams that resume, verified books",
    folder: "venue",
    bundles: [["node.js", "node"], ["browser.js", "browser"]],
    external: ["ws"],
    manifest: {
      exports: {
        ".": {
          browser: { types: "./browser.d.ts", default: "./browser.js" },
          default: { types: "./node.d.ts", default: "./node.js" }
        },
        "./package.json": "./package.json"
      },
      sideEffects: false,
      dependencies: range("ws")
    }
  },
  {
    name: "perpetuum-ccxt",
    description: "Perpetuum, a perpetual-futures venue, as an exchange of the ccxt library",
    folder: "ccxt",
    bundles: [["Perpetuum.js", "node"]],
    external: ["ccxt", "ws"],
    manifest: {
      exports: { ".": { types: "./Perpetuum.d.ts", default: "./Perpetuum.js" }, "./package.json": "./package.json" },
      dependencies: range("ws"),
      // The user's own copy of the library: the class must be an exchange of that copy, or `instanceof` would fail.
      peerDependencies: range("ccxt")
    }
  }
]

const make = ({ bundles, description, external, folder, manifest, name }: Package): void => {
  const target = path.join(parent, name)
  fs.rmSync(target, { recursive: true, force: true })
  fs.mkdirSync(target, { recursive: true })
  for (const [file, platform] of bundles) bundle(path.join(folder, file), path.join(target, file), platform, external)
  const own = path.join(compiled, folder)
  for (const file of fs.readdirSync(own)) if (file.endsWith(".d.ts")) fs.copyFileSync(path.join(own, file), path.join(target, file))
  fs.copyFileSync(path.join("src/client", folder, "README.md"), path.join(target, "README.md"))
  fs.copyFileSync("LICENSE", path.join(target, "LICENSE"))
  const whole = { name, version, description, license, type: "module", engines, files: ["*.js", "*.d.ts"], ...manifest }
  fs.writeFileSync(path.join(target, "package.json"), `${JSON.stringify(whole, undefined, 2)}\n`)
  const packed = execFileSync("npm", ["pack", "--silent", "--offline", "--ignore-scripts", "--pack-destination", parent], {
    cwd: target,
    encoding: "utf8"
  })
  console.log(path.join(parent, packed.trim()))
}

try {
  compile()
  packages.forEach(make)
} finally {
  fs.rmSync(scratch, { recursive: true, force: true })
}
