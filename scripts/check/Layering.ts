/**
 * Permitted imports: the architecture's layers, folder by folder. A folder without a rule is itself a violation, and so is a permission
 * that nothing uses.
 */
import { isOfNode } from "./Bans.js"
import { packageOf } from "./Packages.js"
import { type Import, type Source, type Violation, violation } from "./Source.js"

/** Locks files, finds the process that holds a locked one, and has the words for both; for code that locks files. */
const locks: ReadonlyArray<string> = ["src/NodeLock.ts", "src/NodeLockHolder.ts", "src/LockWords.ts"]

/** Files that only the process's user may read; for code that has SQLite create one. */
const privateFiles = "src/NodePrivateFile.ts"

/** Finds files of another user's; for code whose library does not say why a file cannot be opened. */
const unusables = "src/NodeUnusable.ts"

/** Directories made with what is above them; for whoever makes one. */
const directories = "src/NodeDirectory.ts"

/** The threads of the process; for code that starts one. */
const threads = "src/NodeThreads.ts"

/** What several layers share at the top of `src`, and what each may import there: were it more, it would be a bridge over the layers. */
const shared: Readonly<Record<string, ReadonlyArray<string>>> = {
  "src/NodeLock.ts": [privateFiles],
  "src/NodeLockHolder.ts": [],
  "src/LockWords.ts": [],
  [privateFiles]: [],
  [unusables]: [],
  [directories]: [],
  [threads]: []
}

/** The files that put the venue together: these may import everything in `src`. */
const composition: ReadonlySet<string> = new Set([
  "src/main.ts",
  "src/NodeMain.ts",
  "src/NodeCompiled.ts",
  "src/NodeAuthorities.ts",
  "src/Venue.ts",
  "src/Bootstrap.ts",
  "src/VenueConfig.ts",
  "src/CapacityConfig.ts",
  "src/SiteConfig.ts",
  "src/SecretSetting.ts",
  "src/SettingTexts.ts",
  "src/SignerConfig.ts"
])

/** The modules by which code outside the writer knows the reads, the submission of commands and the committed blocks. */
const reads = "src/engine/Reads.ts"
const submit = "src/sequencer/Submit.ts"
const feed = "src/sequencer/Feed.ts"
/** The vocabulary of events. */
const events = "src/engine/EventLog.ts"

/** The definition of candles and how they are built. */
const candles: ReadonlyArray<string> = ["src/readmodel/Candles.ts", "src/readmodel/Timeframes.ts"]

/** The common vocabulary: the domain, and the declarations of operations. */
const vocabulary: ReadonlyArray<string> = ["src/domain/", "src/operations/"]

/** The rules and the interface for verifying owners' passkeys. */
const passkeys: ReadonlyArray<string> = ["src/identity/PasskeyVerifier.ts", "src/identity/PasskeyRules.ts"]

/** The plan of a ledger transaction, and the decoding of its bytes: nothing of a running ledger. */
const prepared: ReadonlyArray<string> = ["src/ledger/Planned.ts", "src/ledger/prepared/"]

/** For each folder of `src` what it may import besides its own files: files, or folders ending in `/`. */
const layers: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  // Given to users: it knows the venue only by its interface, from which it imports types, and loads no server code.
  client: ["src/edge/"],
  // The owner's pages run in a browser: they import the types of the routes, load the reference client, and no server code.
  console: ["src/edge/", "src/client/venue/"],
  operations: ["src/domain/"],
  engine: [...vocabulary],
  journal: [...vocabulary, ...locks, directories],
  sequencer: [...vocabulary, "src/engine/", "src/journal/", threads],
  readmodel: [...vocabulary, events, feed, privateFiles, unusables, directories],
  // It follows the records as they are decided and reads what they changed; it builds candles as the histories do.
  streams: ["src/domain/", feed, reads, events, "src/sequencer/Live.ts", ...candles],
  // What clients missed is read outside the writer's thread, and sent in exactly the stream's format.
  readings: ["src/domain/", "src/engine/", "src/journal/", "src/sequencer/", "src/readmodel/", "src/streams/",
    "src/edge/socket/Payloads.ts", threads],
  ledger: ["src/domain/", ...locks, privateFiles, directories, threads],
  // Trusting the signer must not require trusting the venue: they share vocabulary, rules of proof and the ledger's formats.
  signer: ["src/domain/", ...passkeys, ...prepared, ...locks, directories],
  funds: [
    ...vocabulary,
    reads,
    submit,
    "src/identity/SecureRandom.ts",
    "src/ledger/",
    "src/signer/"
  ],
  // Observes the process, and takes no part in decisions.
  observe: ["src/domain/Unseen.ts"],
  oracle: [...vocabulary, reads, submit],
  sessions: [...vocabulary, reads, submit],
  identity: [...vocabulary, submit, reads, directories],
  edge: [
    ...vocabulary,
    reads,
    "src/sequencer/",
    "src/readmodel/",
    "src/streams/",
    "src/ledger/",
    "src/signer/",
    "src/funds/",
    "src/oracle/",
    "src/identity/"
  ]
}

/** The declarations of commands and outcomes, and the commands' header. */
const declarationsOnly: ReadonlyArray<string> = [
  "src/operations/Operations.ts",
  "src/operations/Header.ts",
  "src/operations/Outcome.ts",
  "src/operations/accounts/",
  "src/operations/funds/",
  "src/operations/markets/",
  "src/operations/orders/",
  "src/operations/venue/"
]

/**
 * Permitted imports for the root folders beside `src`. The naive model knows the vocabulary and what a record is, but nothing of the
 * engine: of the operations it knows their declarations, but not how bodies are digested or commands redacted. The reader of requests knows
 * even less: neither the edge nor how the venue parses and prints numbers and ids.
 */
const roots: ReadonlyArray<readonly [folder: string, allowed: ReadonlyArray<string>]> = [
  ["sim/model/", ["src/domain/", ...declarationsOnly, "src/journal/Record.ts", "sim/"]],
  ["sim/reading/", ["src/domain/Market.ts", "src/domain/Refusal.ts", ...declarationsOnly, "sim/reading/"]],
  ["sim/", ["src/", "sim/"]],
  ["scripts/", ["src/", "sim/", "test/", "scripts/"]],
  ["test/", ["src/", "sim/", "test/", "scripts/"]]
]

/** The permitted imports of a file, or undefined where the architecture has no place for it. */
const allowed = (path: string): ReadonlyArray<string> | undefined => {
  if (!path.startsWith("src/")) return roots.find(([folder]) => path.startsWith(folder))?.[1]
  if (composition.has(path)) return ["src/"]
  if (path in shared) return shared[path]
  const folder = path.split("/")[1]!
  if (folder === "cli") return ["src/"]
  const others = path.split("/").length > 2 ? layers[folder] : undefined
  return others === undefined ? undefined : [`src/${folder}/`, ...others]
}

const permits = (rules: ReadonlyArray<string>, path: string): boolean =>
  rules.some((rule) => rule.endsWith("/") ? path.startsWith(rule) : path === rule)

/** Code that runs in the browser. */
const isPage = (path: string): boolean => path.startsWith("src/console/")

/** Code that the pages may load: their own, and the client that runs in browsers. */
const isForPages = (path: string): boolean => isPage(path) || path.startsWith("src/client/venue/")

/** Code that is given to users. */
const isTakenAway = (path: string): boolean => path.startsWith("src/client/")

/** The entry point is launched and never imported, except by its tests. */
const isEntryPoint = (path: string): boolean => path === "src/main.ts"

/** Code with access to private keys: used only where a signer is created. */
const keyFiles = /^src\/signer\/(?:Ed25519|KeyStore|NodeKeyStore|Records|Signer)\.ts$/
const opensKeys: ReadonlySet<string> = new Set(["src/main.ts", "src/cli/signer.ts"])

const reachesKeys = ({ path }: Source, imported: string, isType: boolean): boolean =>
  keyFiles.test(imported) && !isType && path.startsWith("src/") && !path.startsWith("src/signer/") && !opensKeys.has(path)

const faultOf = (source: Source, imported: Import, rules: ReadonlyArray<string>): string | undefined => {
  if (imported.path === undefined) return packageFault(source.path, imported)
  if (isPage(source.path) && !isForPages(imported.path) && !imported.isType) return `the pages take only types of ${imported.path}`
  if (isTakenAway(source.path) && !isTakenAway(imported.path) && !imported.isType) return `clients take only types of ${imported.path}`
  if (isEntryPoint(imported.path) && source.path.startsWith("src/")) return "nothing in src imports src/main.ts"
  if (reachesKeys(source, imported.path, imported.isType)) return "parties' keys are opened by src/main.ts and src/cli/signer.ts alone"
  return permits(rules, imported.path) ? undefined : `may not import ${imported.path}`
}

/**
 * The packages that code outside the leaves may import, for folders of `src` that have a layer and files at its top: these compute, speak
 * HTTP for a port that the simulator replaces, or are the histories' database. Packages that touch the machine are for leaves.
 */
const packages: Readonly<Record<string, ReadonlyArray<string>>> = {
  engine: [],
  operations: [],
  edge: ["effect", "@effect/platform", "canonicalize", "find-my-way", "marked", "prom-client"],
  ledger: ["effect", "@effect/platform", "@bufbuild/protobuf"],
  readmodel: ["effect", "@effect/sql", "@effect/sql-sqlite-node"],
  signer: ["effect", "@effect/platform", "canonicalize"],
  // The entry point gives the venue its HTTP.
  "main.ts": ["effect", "@effect/platform"]
}

/** Every other one of them. */
const ownPackages: ReadonlyArray<string> = ["effect"]

/** The packages that a file may import; undefined where it may be any: for leaves, tools, pages, and what users take away. */
const permittedPackages = (path: string): ReadonlyArray<string> | undefined => {
  const [root, folder = ""] = path.split("/")
  const hasRule = folder in layers || path in shared || composition.has(path)
  if (root !== "src" || !hasRule || isTakenAway(path) || isPage(path) || (isOfNode(path) && !isPure(path))) return undefined
  return packages[folder] ?? ownPackages
}

/** Code that only computes, whatever its files are called. */
const isPure = (path: string): boolean => ["src/domain/", "src/operations/", "src/engine/"].some((folder) => path.startsWith(folder))

const ordered: ReadonlyArray<string> = ["src/domain/", "src/operations/", "src/engine/", "src/sequencer/", "src/journal/"]
const unorderedModule = /^effect\/(Hash(?:Map|Set))$/
const unorderedNames: ReadonlySet<string> = new Set(["HashMap", "HashSet"])

/** Packages: those that the folder may import, and nothing that replay must repeat iterates by object identity. */
const packageFault = (path: string, { names, specifier }: Import): string | undefined => {
  const name = packageOf(specifier)
  if (name !== undefined && permittedPackages(path)?.includes(name) === false) return `may not import ${specifier}`
  if (!ordered.some((folder) => path.startsWith(folder))) return undefined
  const unordered = specifier === "effect"
    ? names.find((name) => unorderedNames.has(name))
    : unorderedModule.exec(specifier)?.[1]
  return unordered === undefined ? undefined : `${unordered} has no order that replay could repeat`
}

/** Every import that the architecture does not allow. */
export const check = (source: Source): ReadonlyArray<Violation> => {
  const rules = allowed(source.path)
  if (rules === undefined) return [violation(source, 1, "layering", "the architecture has no place for this file")]
  if (isPure(source.path) && isOfNode(source.path)) return [violation(source, 1, "layering", "code that only computes has no leaves")]
  return source.imports.flatMap((imported) => {
    const fault = faultOf(source, imported, rules)
    return fault === undefined ? [] : [violation(source, imported.line, "layering", fault)]
  })
}

const here = "scripts/check/Layering.ts"

/** Who in `src` has which permissions: folders, ending in `/`, and files. Beside `src` one is given for all declarations at once. */
const permissions: ReadonlyArray<readonly [of: string, rules: ReadonlyArray<string>]> = [
  ...Object.entries(shared),
  ...Object.entries(layers).map(([folder, rules]) => [`src/${folder}/`, rules] as const)
]

/** Every permission that nothing uses: a reader would take the two for joined. */
export const idle = (sources: ReadonlyArray<Source>): ReadonlyArray<Violation> => {
  const told = (message: string): Violation => ({ path: here, line: 1, rule: "idle-permission", message })
  const importedBy = (of: string) => sources.filter(({ path }) => permits([of], path)).flatMap(({ imports }) => imports)
  return [
    ...permissions.flatMap(([of, rules]) => {
      const imported = importedBy(of)
      return rules
        .filter((rule) => !imported.some(({ path }) => path !== undefined && permits([rule], path)))
        .map((rule) => told(`${of} may import ${rule}, and does not`))
    }),
    ...Object.entries(packages).flatMap(([folder, names]) => {
      const of = folder.endsWith(".ts") ? `src/${folder}` : `src/${folder}/`
      const imported = new Set(importedBy(of).map(({ specifier }) => packageOf(specifier)))
      return names.filter((name) => !imported.has(name)).map((name) => told(`${of} may import ${name}, and does not`))
    }),
    ...[...composition, ...Object.keys(shared)].filter((file) => !sources.some(({ path }) => path === file)).map((file) =>
      told(`${file} has permissions, and is not there`)
    )
  ]
}
