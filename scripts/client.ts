/**
 * Makes the ccxt class a package of its own: compiled, with its types, README, licence and a manifest that takes version, licence
 * and what it needs from the repository's. `--to FOLDER` says where (`dist/client`): the package is `FOLDER/perpetuum-ccxt`, and
 * packed as `npm install` takes it beside it. Prints the packed file.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"

interface Manifest {
  readonly version: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

const name = "perpetuum-ccxt"
const source = "src/client/ccxt"
const entry = "./Perpetuum"

const { values } = parseArgs({ options: { to: { type: "string", default: "dist/client" } } })
const parent = path.resolve(values.to)
const folder = path.join(parent, name)

const { dependencies, engines, license, version } = JSON.parse(fs.readFileSync("package.json", "utf8")) as Manifest
const manifest = {
  name,
  version,
  description: "Perpetuum, a perpetual-futures venue, as an exchange of the ccxt library",
  license,
  type: "module",
  engines,
  exports: {
    ".": { types: `${entry}.d.ts`, default: `${entry}.js` },
    "./package.json": "./package.json"
  },
  files: ["*.js", "*.d.ts"],
  // The user's own: the class is an exchange of that copy of the library, or `instanceof` would not hold.
  peerDependencies: { ccxt: dependencies["ccxt"] }
}

fs.rmSync(folder, { recursive: true, force: true })
fs.mkdirSync(folder, { recursive: true })
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", source, "--outDir", folder], { stdio: "inherit" })
fs.writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
fs.copyFileSync(path.join(source, "README.md"), path.join(folder, "README.md"))
fs.copyFileSync("LICENSE", path.join(folder, "LICENSE"))
const packed = execFileSync("npm", ["pack", "--silent", "--offline", "--ignore-scripts", "--pack-destination", parent], {
  cwd: folder,
  encoding: "utf8"
})
console.log(path.join(parent, packed.trim()))
