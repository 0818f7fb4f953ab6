/**
 * Runs a program that is bundled into one file, with what V8 had made of it when the output was built. A start otherwise compiles every
 * function that it calls, each thread its own, which takes a third of the time until an empty venue answers.
 *
 * V8 only takes compiled code of its own version, flags and kind of processor, and holds a source to be the same if it is as long. So
 * there is a file for each combination (`v8.cachedDataVersionTag`), which begins with a digest of the source and of the code that follows:
 * a source that somebody repaired in place, or a file that is damaged, is compiled as if there were no such file. Nothing depends on it.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import * as v8 from "node:v8"
import * as vm from "node:vm"

/** Set by the build alone: the environment variable under which a program keeps its compiled code beside it. */
export const keeping = "KEEP_COMPILED_CODE"

/** What a bundled program is a function of: CommonJS names, and the address that it finds its threads and packages by. */
const parameters = "(function (exports, require, module, moduleUrl) {"

const digestBytes = 32

const digestOf = (source: Buffer, code: Buffer): Buffer => createHash("sha256").update(source).update(code).digest()

/** The file of a program's compiled code for this process. */
const fileOf = (program: string): string => `${program}.${v8.cachedDataVersionTag().toString(16)}.code`

const readIfAny = (file: string): Buffer | undefined => {
  try {
    return fs.readFileSync(file)
  } catch {
    // It need not be there, nor be readable: without it the program is compiled.
    return undefined
  }
}

/** The compiled code in a file, where it is whole and of this source. */
const readCode = (file: string, source: Buffer): Buffer | undefined => {
  const bytes = readIfAny(file)
  if (bytes === undefined) return undefined
  const code = bytes.subarray(digestBytes)
  return bytes.length > digestBytes && digestOf(source, code).equals(bytes.subarray(0, digestBytes)) ? code : undefined
}

/** Writes the compiled code under another name first, so that no process finds a part of it. */
const writeCode = (file: string, source: Buffer, code: Buffer): void => {
  const unnamed = `${file}.${process.pid}`
  fs.writeFileSync(unnamed, Buffer.concat([digestOf(source, code), code]))
  fs.renameSync(unnamed, file)
}

/** A bundled program as V8 has it. */
export interface Compiled {
  readonly script: vm.Script
  /** Whether nothing had to be compiled to get it. */
  readonly isFromCode: boolean
  /** Keeps what is compiled by now. */
  readonly keep: () => void
}

/** Reads the bundled program in a file. */
export const compiled = (program: string): Compiled => {
  const source = fs.readFileSync(program)
  const file = fileOf(program)
  const cachedData = readCode(file, source)
  const script = new vm.Script(`${parameters}${source.toString("utf8")}\n})`, {
    filename: program,
    ...(cachedData === undefined ? undefined : { cachedData }),
    // Packages that are not bundled are found from the program's file.
    importModuleDynamically: (name) => import(name)
  })
  return {
    script,
    isFromCode: cachedData !== undefined && script.cachedDataRejected === false,
    keep: () => writeCode(file, source, script.createCachedData())
  }
}

/** Runs the bundled program beside a module: `main.cjs` for `main.js`. */
export const run = (moduleUrl: string): void => {
  const program = fileURLToPath(moduleUrl).replace(/\.js$/, ".cjs")
  const { keep, script } = compiled(program)
  const module = { exports: {} }
  // By then it has compiled what a start needs, and a stop.
  if (process.env[keeping] !== undefined) process.on("exit", keep)
  script.runInThisContext()(module.exports, createRequire(moduleUrl), module, moduleUrl)
}
