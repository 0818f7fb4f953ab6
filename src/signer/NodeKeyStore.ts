/**
 * `KeyStore` in a directory: a file for each record, sealed with a key that scrypt makes of a secret (AES-256-GCM, another nonce for
 * each write, the record's name bound to it). A file is replaced whole: written beside, synced, renamed, the directory synced.
 * A secret that is not the directory's, and a file that was changed, are refused by name, and nothing is written over them.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { assert } from "../domain/Assert.js"
import { holderOf } from "../NodeLockHolder.js"
import { seedBytes } from "./Ed25519.js"
import { KeyStore, StoreFailed, StoreRefused } from "./KeyStore.js"

export interface Options {
  readonly directory: string
  readonly secret: Redacted.Redacted
  /** log2 of scrypt's cost, for a directory that is new. */
  readonly costLog2?: number
}

const format = 1
const magic = Buffer.from("PSK1")
const nonceBytes = 12
const tagBytes = 16
const saltBytes = 16
const keyBytes = 32
/** 128 MiB and some tenths of a second for each guess of a secret. */
const defaultCostLog2 = 17
const blockSize = 8

const headerFile = "header.json"
const lockFile = "lock.db"
const suffix = ".sealed"
const temporary = ".tmp"
/** What the header seals, so that a wrong secret is told from a damaged record. */
const headerName = "header"

const Header = Schema.parseJson(Schema.Struct({
  format: Schema.Literal(format),
  kdf: Schema.Literal("scrypt"),
  costLog2: Schema.Int.pipe(Schema.between(10, 20)),
  salt: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{22}$/)),
  check: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{40,200}$/))
}))
type Header = typeof Header.Type

const recordName = /^[a-z0-9_]{1,64}$/

/** Reckoned by the system's own threads: it takes a while, on purpose. */
const derived = (secret: Redacted.Redacted, salt: Uint8Array, costLog2: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const N = 2 ** costLog2
    scrypt(Redacted.value(secret), salt, keyBytes, { N, r: blockSize, p: 1, maxmem: 2 * 128 * N * blockSize }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })

/** What is sealed together with a record, so that one is never read as another. */
const boundTo = (name: string): Buffer => Buffer.from(`perpetuum/signer/${format}/${name}`)

const seal = (key: Buffer, name: string, record: string): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(name))
  const sealed = Buffer.concat([cipher.update(record, "utf8"), cipher.final()])
  return Buffer.concat([magic, nonce, sealed, cipher.getAuthTag()])
}

/** What was sealed; undefined where it was changed, is another's, or the key is another one. */
const unseal = (key: Buffer, name: string, file: Buffer): string | undefined => {
  const nonceEnd = magic.length + nonceBytes
  if (file.length < nonceEnd + tagBytes || !file.subarray(0, magic.length).equals(magic)) return undefined
  const decipher = createDecipheriv("aes-256-gcm", key, file.subarray(magic.length, nonceEnd), { authTagLength: tagBytes })
    .setAAD(boundTo(name))
    .setAuthTag(file.subarray(file.length - tagBytes))
  try {
    return Buffer.concat([decipher.update(file.subarray(nonceEnd, file.length - tagBytes)), decipher.final()]).toString("utf8")
  } catch {
    return undefined
  }
}

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined

const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await fs.promises.open(directory, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Writes a file beside the one that it is to replace, durably. */
const writeBeside = async (file: string, bytes: Buffer): Promise<void> => {
  const handle = await fs.promises.open(`${file}${temporary}`, "w", 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const replace = async (directory: string, file: string): Promise<void> => {
  await fs.promises.rename(`${file}${temporary}`, file)
  await syncDirectory(directory)
}

const refuse = (reason: string, setting?: string): never => {
  throw new StoreRefused({ reason, setting })
}

/** A header's key, where the secret is the one that it was made with. */
const keyOf = async (file: string, { directory, secret }: Options): Promise<Buffer> => {
  const read = Schema.decodeUnknownEither(Header)(fs.readFileSync(file, "utf8"))
  if (Either.isLeft(read)) return refuse(`${file} is damaged, or of a newer version: the keys beside it cannot be opened without it`)
  const { check, costLog2, salt } = read.right
  const key = await derived(secret, Buffer.from(salt, "base64url"), costLog2)
  return unseal(key, headerName, Buffer.from(check, "base64url")) === undefined
    ? refuse(`SIGNER_SECRET is not the one that the keys in ${directory} are sealed with, or ${file} is damaged`, "SIGNER_SECRET")
    : key
}

/** The key of a directory, whose header is made where there is none and nothing sealed either. */
const open = async (options: Options): Promise<Buffer> => {
  const { costLog2 = defaultCostLog2, directory, secret } = options
  const file = path.join(directory, headerFile)
  if (fs.existsSync(file)) return keyOf(file, options)
  if (fs.readdirSync(directory).some((name) => name.endsWith(suffix))) {
    return refuse(`${file} is missing, and there are keys beside it that cannot be opened without it`)
  }
  const salt = randomBytes(saltBytes)
  const key = await derived(secret, salt, costLog2)
  const check = seal(key, headerName, "perpetuum").toString("base64url")
  const header: Header = { format, kdf: "scrypt", costLog2, salt: salt.toString("base64url"), check }
  await writeBeside(file, Buffer.from(`${Schema.encodeSync(Header)(header)}\n`))
  await replace(directory, file)
  return key
}

/** Every record that is sealed in the directory; what an unfinished write left beside them is removed. */
const readAll = (directory: string, key: Buffer): ReadonlyMap<string, string> => {
  const records = new Map<string, string>()
  for (const file of fs.readdirSync(directory).sort()) {
    if (file.endsWith(temporary)) fs.unlinkSync(path.join(directory, file))
    if (!file.endsWith(suffix)) continue
    const name = file.slice(0, -suffix.length)
    const record = recordName.test(name) ? unseal(key, name, fs.readFileSync(path.join(directory, file))) : undefined
    records.set(name, record ?? refuse(`${path.join(directory, file)} is damaged: it is not what was sealed under this name`))
  }
  return records
}

/** The kernel drops it with the process: two of them would each forget what the other has signed. */
const acquire = (directory: string): SqliteDatabase.Database => {
  const file = path.join(directory, lockFile)
  fs.closeSync(fs.openSync(file, "a", 0o600))
  const database = new SqliteDatabase(file, { timeout: 0 })
  try {
    database.pragma("journal_mode = MEMORY")
    database.exec("BEGIN EXCLUSIVE")
    return database
  } catch (error) {
    database.close()
    if (codeOf(error)?.startsWith("SQLITE_BUSY")) {
      const holder = holderOf(file)
      refuse(
        `another process${holder === undefined ? "" : ` (${holder})`} works on the keys in ${directory}, and only one may: stop it first`
      )
    }
    throw error
  }
}

/** What the system says of a file is said to whoever starts the process; anything else is a bug. */
const refusalOf = (directory: string) => (cause: unknown): StoreRefused => {
  if (cause instanceof StoreRefused) return cause
  const code = codeOf(cause)
  if (code === undefined) throw cause
  return new StoreRefused({ reason: `the keys in ${directory} cannot be opened: ${code}` })
}

/** Replaces records; once it does not know what the directory holds, it writes no more. */
class Writer {
  private isLost = false

  constructor(private readonly directory: string, private readonly key: Buffer) {}

  async write(name: string, record: string): Promise<void> {
    if (this.isLost) throw new StoreFailed({ code: "what was written before may be lost" })
    const file = path.join(this.directory, `${name}${suffix}`)
    await writeBeside(file, seal(this.key, name, record))
    this.isLost = true
    await replace(this.directory, file)
    this.isLost = false
  }
}

/** What the system says of a write. */
const failureOf = (cause: unknown): StoreFailed => {
  if (cause instanceof StoreFailed) return cause
  const code = codeOf(cause)
  if (code === undefined) throw cause
  return new StoreFailed({ code })
}

/** Makes a directory, durably: its name lies in the one above it, and without that name all that was synced below it would be gone. */
const makeDirectory = async (directory: string): Promise<void> => {
  const first = fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path.resolve(directory); made.length >= path.resolve(first).length; made = path.dirname(made)) {
    await syncDirectory(path.dirname(made))
  }
}

/** A store over a directory, which is made if it is not there, and held by this process alone. */
export const layer = (options: Options): Layer.Layer<KeyStore, StoreRefused> => {
  const { directory } = options
  const attempt = <A>(evaluate: () => A): Effect.Effect<A, StoreRefused> => Effect.try({ try: evaluate, catch: refusalOf(directory) })
  const attemptPromise = <A>(evaluate: () => Promise<A>): Effect.Effect<A, StoreRefused> =>
    Effect.tryPromise({ try: evaluate, catch: refusalOf(directory) })
  return Layer.scoped(
    KeyStore,
    Effect.gen(function*() {
      yield* attemptPromise(() => makeDirectory(directory))
      yield* Effect.acquireRelease(attempt(() => acquire(directory)), (database) => Effect.sync(() => database.close()))
      const key = yield* attemptPromise(() => open(options))
      const writer = new Writer(directory, key)
      return {
        load: attempt(() => readAll(directory, key)),
        write: (name, record) => {
          assert(recordName.test(name), "a record's name is a file's")
          return Effect.uninterruptible(Effect.tryPromise({ try: () => writer.write(name, record), catch: failureOf }))
        },
        newSeed: Effect.sync(() => new Uint8Array(randomBytes(seedBytes)))
      }
    })
  )
}
