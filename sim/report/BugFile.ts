/**
 * A failing run as a file: everything needed to run it again, named after the property and the seed. Where there is a journal, an incident
 * bundle of what the venue had made durable lies beside it.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { Schema } from "effect"
import * as Bundle from "../../src/cli/bundle/Bundle.js"
import * as Collect from "../../src/cli/bundle/Collect.js"
import { programVersion } from "../../src/domain/Version.js"
import * as Block from "../../src/journal/Block.js"
import * as Options from "../faults/Options.js"
import type { Script } from "../run/Script.js"
import type * as Shrink from "../shrink/Shrink.js"
import { capacityOf } from "../run/Host.js"
import type { Request } from "../run/Request.js"
import * as Failures from "../shrink/Failures.js"

/** The schema is only the envelope: the script's steps are this program's own. */
const Envelope = Schema.Struct({
  format: Schema.Literal(1),
  /** The broken property, and what distinguishes this failure from others. */
  property: Schema.String,
  invariant: Schema.String,
  kind: Schema.Literal("safety", "liveness", "crash"),
  message: Schema.String,
  /** The signature as found, and after shrinking. */
  signatures: Schema.Array(Schema.String),
  seed: Schema.String,
  profile: Schema.Literal(...Options.profiles),
  /** Calls of the run in which it was found. */
  foundWithSteps: Schema.Int,
  /** Steps of its script before and after shrinking, and the runs that took. */
  stepsBefore: Schema.Int,
  stepsAfter: Schema.Int,
  runs: Schema.Int,
  program: Schema.String,
  node: Schema.String,
  options: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  script: Schema.Struct({
    endMs: Schema.Number,
    steps: Schema.Array(
      Schema.Struct({ do: Schema.String, atMs: Schema.Number }, Schema.Record({ key: Schema.String, value: Schema.Unknown }))
    )
  })
})

export interface BugFile extends Omit<typeof Envelope.Type, "options" | "script"> {
  readonly options: Options.Options
  readonly script: Script
}

/** The file content of a shrunk failing run. */
export const make = (request: Pick<Request, "seed" | "profile" | "steps">, shrunk: Shrink.Result): BugFile => ({
  format: 1,
  property: shrunk.found.properties[0] ?? "",
  invariant: shrunk.failure.invariant,
  kind: shrunk.failure.kind,
  message: shrunk.failure.what,
  signatures: [...new Set([shrunk.found, shrunk.failure].map(Failures.signature))],
  seed: request.seed,
  profile: request.profile,
  foundWithSteps: request.steps,
  stepsBefore: shrunk.stepsBefore,
  stepsAfter: shrunk.stepsAfter,
  runs: shrunk.runs,
  program: programVersion,
  node: process.version,
  options: shrunk.subject.options,
  script: shrunk.subject.script
})

/** The run in a file. */
export const request = (file: BugFile): Request => ({
  seed: file.seed,
  profile: file.profile,
  steps: file.foundWithSteps,
  options: file.options,
  script: file.script
})

/** Reads a file; throws with the reason if it is invalid. */
export const read = (name: string): BugFile => {
  const content: unknown = JSON.parse(fs.readFileSync(name, "utf8"))
  const file = Schema.decodeUnknownSync(Envelope)(content)
  return { ...file, options: file.options as unknown as Options.Options, script: file.script as unknown as Script }
}

/** Writes a file and, if there is a journal, its bundle. Returns the paths. */
export const write = (folder: string, file: BugFile, blocks: ReadonlyArray<Uint8Array>): ReadonlyArray<string> => {
  fs.mkdirSync(folder, { recursive: true })
  const stem = path.join(folder, `${file.property}-${file.seed}`)
  const json = `${stem}.json`
  fs.writeFileSync(json, `${JSON.stringify(file, null, 2)}\n`)
  if (blocks.length === 0) return [json]
  const bundle = `${stem}.bundle`
  fs.writeFileSync(bundle, bundleOf(file, blocks))
  return [json, bundle]
}

/** The signatures of all files in a folder. */
export const signatures = (folder: string): ReadonlySet<string> => new Set(names(folder).flatMap((name) => read(name).signatures))

/** Paths of all files in a folder, sorted; none where there is no folder. */
export const names = (folder: string): ReadonlyArray<string> =>
  fs.existsSync(folder)
    ? fs.readdirSync(folder).filter((name) => name.endsWith(".json")).sort().map((name) => path.join(folder, name))
    : []

const bundleOf = (file: BugFile, blocks: ReadonlyArray<Uint8Array>): Buffer => {
  const sealed = blocks.map((block): Bundle.Sealed => {
    const bytes = Buffer.from(block)
    const header = Block.readHeader(bytes, 0)
    const digest = header === undefined ? undefined : Block.verifiedDigest(bytes, 0, header)
    if (header === undefined || digest === undefined) throw new Error("a block that was read from the journal is not whole")
    return { bytes, header, digest }
  })
  return Bundle.write(Collect.describe({
    base: undefined,
    blocks: sealed,
    capacity: capacityOf(file.options),
    asked: { from: 1, to: sealed.at(-1)!.header.lastSequence },
    notes: { property: file.property, seed: file.seed, profile: file.profile, message: file.message }
  }))
}
