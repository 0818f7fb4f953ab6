/** Who may import whom: the architecture's layering, folder by folder. A folder without a rule is itself a violation. */
import { type Import, type Source, type Violation, violation } from "./Source.js"

/** Which process holds a locked file: asked by whatever keeps a file to itself. */
const holders = "src/NodeLockHolder.ts"

/** What only the process's user may read: known to whoever has SQLite make a file. */
const privateFiles = "src/NodePrivateFile.ts"

/** The threads of the process: known to whatever begins one. */
const threads = "src/NodeThreads.ts"

/** Where the venue is put together: these see everything in `src`. */
const composition: ReadonlySet<string> = new Set([
  "src/main.ts",
  "src/NodeMain.ts",
  holders,
  privateFiles,
  threads,
  "src/Venue.ts",
  "src/Bootstrap.ts",
  "src/VenueConfig.ts",
  "src/SecretSetting.ts",
  "src/SettingTexts.ts",
  "src/SignerConfig.ts"
])

/** What the reads, the way in and the committed blocks are known by outside the writer. */
const reads = "src/engine/Reads.ts"
const wayIn: ReadonlyArray<string> = ["src/sequencer/Submit.ts", "src/sequencer/Inbox.ts"]
const feed = "src/sequencer/Feed.ts"
/** The words of which events are made. */
const events = "src/engine/EventLog.ts"

/** What candles are, and how they are folded. */
const candles: ReadonlyArray<string> = ["src/readmodel/Candles.ts", "src/readmodel/Timeframes.ts"]

/** What everybody speaks: the domain's words, and the operations as they are declared. */
const vocabulary: ReadonlyArray<string> = ["src/domain/", "src/operations/"]

/** What owners prove, whoever verifies it. */
const passkeys: ReadonlyArray<string> = ["src/identity/PasskeyVerifier.ts", "src/identity/PasskeyRules.ts"]

/** What a transaction has to be, and how its bytes are read: nothing of a ledger that runs. */
const prepared: ReadonlyArray<string> = ["src/ledger/Planned.ts", "src/ledger/prepared/"]

/** For each folder of `src` what it may import besides its own files: files, or folders ending in `/`. */
const layers: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  // What users take away with them: it knows the venue by its interface alone, whose types it takes, and loads nothing of the server.
  client: ["src/edge/"],
  // The owner's pages run in a browser: they know the types of the routes, load the reference client, and nothing of the server.
  console: ["src/edge/", "src/client/venue/"],
  operations: ["src/domain/"],
  engine: [...vocabulary],
  journal: [...vocabulary, holders],
  sequencer: [...vocabulary, "src/engine/", "src/journal/", threads],
  readmodel: [...vocabulary, events, feed, privateFiles],
  // It is told of records as they are decided, and reads what they changed; candles it folds as the histories do.
  streams: [...vocabulary, ...wayIn, feed, reads, events, "src/sequencer/Live.ts", ...candles],
  // What clients missed is read elsewhere than beside the writer, and told in the very words of the stream.
  readings: [...vocabulary, "src/engine/", "src/journal/", "src/sequencer/", "src/readmodel/", "src/streams/",
    "src/edge/socket/Payloads.ts", threads],
  ledger: [...vocabulary, ...wayIn, feed, holders, privateFiles, threads],
  // Whoever trusts the signer does not have to trust the venue: it shares with it words, rules of proof and the ledger's forms.
  signer: ["src/domain/", ...passkeys, ...prepared, holders],
  funds: [
    ...vocabulary,
    reads,
    "src/sequencer/Submit.ts",
    "src/identity/SecureRandom.ts",
    "src/ledger/",
    "src/signer/"
  ],
  // What watches the process, and is no part of what it decides.
  observe: [],
  oracle: [...vocabulary, reads, "src/sequencer/Submit.ts"],
  sessions: [...vocabulary, reads, "src/sequencer/Submit.ts"],
  identity: [...vocabulary, "src/sequencer/Submit.ts", feed, reads, "src/readmodel/"],
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

/** The declarations of commands and outcomes, and the header that commands have. */
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
 * What the roots beside `src` may import. The naive model knows the vocabulary and what a record is, nothing of the engine:
 * of the operations their declarations, but neither how bodies are digested nor how commands are redacted. The reading of
 * requests knows even less: neither the edge nor how the venue reads and prints numbers and ids.
 */
const roots: ReadonlyArray<readonly [folder: string, allowed: ReadonlyArray<string>]> = [
  ["sim/model/", ["src/domain/", ...declarationsOnly, "src/journal/Record.ts", "sim/"]],
  ["sim/reading/", ["src/domain/Market.ts", "src/domain/Refusal.ts", ...declarationsOnly, "sim/reading/"]],
  ["sim/", ["src/", "sim/"]],
  ["scripts/", ["src/", "sim/", "test/", "scripts/"]],
  ["test/", ["src/", "sim/", "test/", "scripts/"]]
]

/** What a file may import, or undefined where the architecture has no place for the file. */
const allowed = (path: string): ReadonlyArray<string> | undefined => {
  if (!path.startsWith("src/")) return roots.find(([folder]) => path.startsWith(folder))?.[1]
  if (composition.has(path)) return ["src/"]
  const folder = path.split("/")[1]!
  if (folder === "cli") return ["src/"]
  const others = path.split("/").length > 2 ? layers[folder] : undefined
  return others === undefined ? undefined : [`src/${folder}/`, ...others]
}

const permits = (rules: ReadonlyArray<string>, path: string): boolean =>
  rules.some((rule) => rule.endsWith("/") ? path.startsWith(rule) : path === rule)

/** What runs in the browser. */
const isPage = (path: string): boolean => path.startsWith("src/console/")

/** What the pages may load: themselves, and the client that runs in browsers. */
const isForPages = (path: string): boolean => isPage(path) || path.startsWith("src/client/venue/")

/** What users take away with them. */
const isTakenAway = (path: string): boolean => path.startsWith("src/client/")

/** The entry point is launched, never imported, but by the tests of it. */
const isEntryPoint = (path: string): boolean => path === "src/main.ts"

/** Where private keys are: opened where a signer is made of them, and by nothing else of the venue. */
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

const ordered: ReadonlyArray<string> = ["src/domain/", "src/operations/", "src/engine/", "src/sequencer/", "src/journal/"]
const effectPackage = /^(?:@effect\/|effect(?:$|\/))/
const unorderedModule = /^effect\/(Hash(?:Map|Set))$/
const unorderedNames: ReadonlySet<string> = new Set(["HashMap", "HashSet"])

/** Packages: the engine has no runtime, and nothing that replay must repeat iterates by object identity. */
const packageFault = (path: string, { names, specifier }: Import): string | undefined => {
  if (path.startsWith("src/engine/") && effectPackage.test(specifier)) return `the engine may not import ${specifier}`
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
  return source.imports.flatMap((imported) => {
    const fault = faultOf(source, imported, rules)
    return fault === undefined ? [] : [violation(source, imported.line, "layering", fault)]
  })
}
