/**
 * `KeyStore` in a directory: a file for each record, encrypted with a key that scrypt derives from a secret (AES-256-GCM, a new nonce for
 * each write, the record's name authenticated with it). A file is replaced atomically: written beside the old one, synced, renamed, and the
 * directory synced. A wrong secret or an altered file is refused by name, and nothing is overwritten.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as NodeDirectory from "../NodeDirectory.js"
import { assert } from "../domain/Assert.js"
import { anotherProcess, lockSpoiled } from "../LockWords.js"
import * as NodeLock from "../NodeLock.js"
import { holderOf } from "../NodeLockHolder.js"
import { seedBytes } from "./Ed25519.js"
import { KeyStore, StoreFailed, StoreRefused } from "./KeyStore.js"

export interface Options {
  readonly directory: string
  readonly secret: Redacted.Redacted
  /** log2 of scrypt's cost parameter for a new directory. */
  readonly costLog2?: number
  /** The environment whose keys these are, where nothing else holds it. */
  readonly environment?: string
  /** Whether a directory of before 0.8.0, which has none, takes it: nobody means the default by leaving the setting out. */
  readonly isEnvironmentSet?: boolean
}

const format = 1
const magic = Buffer.from("PSK1")
const nonceBytes = 12
const tagBytes = 16
const saltBytes = 16
const keyBytes = 32
/** Costs 128 MiB and some tenths of a second for each guess of a secret. */
const defaultCostLog2 = 17
const blockSize = 8

const headerFile = "header.json"
const lockFile = "lock.db"
const suffix = ".sealed"
const temporary = ".tmp"
/** The name under which the header's check value is encrypted, so that a wrong secret can be told from a damaged record. */
const headerName = "header"

const Header = Schema.parseJson(Schema.Struct({
  format: Schema.Literal(format),
  kdf: Schema.Literal("scrypt"),
  costLog2: Schema.Int.pipe(Schema.between(10, 20)),
  salt: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{22}$/)),
  check: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{40,200}$/)),
  /** Directories of earlier versions, and those within a venue's, have none. */
  environment: Schema.optional(Schema.NonEmptyString)
}))
type Header = typeof Header.Type

const recordName = /^[a-z0-9_]{1,64}$/

/** The derived key. It is computed on Node's thread pool, since it takes long on purpose. */
const derived = (secret: Redacted.Redacted, salt: Uint8Array, costLog2: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const N = 2 ** costLog2
    scrypt(Redacted.value(secret), salt, keyBytes, { N, r: blockSize, p: 1, maxmem: 2 * 128 * N * blockSize }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })

/** Data authenticated together with a record, so that no record can be read as another. */
const boundTo = (name: string): Buffer => Buffer.from(`perpetuum/signer/${format}/${name}`)

const seal = (key: Buffer, name: string, record: string): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(name))
  const sealed = Buffer.concat([cipher.update(record, "utf8"), cipher.final()])
  return Buffer.concat([magic, nonce, sealed, cipher.getAuthTag()])
}

/** The decrypted record; undefined where it was altered or belongs to another name, or the key is wrong. */
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

/** Writes the new content of a file beside it, durably. */
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

const writeHeader = async (directory: string, file: string, header: Header): Promise<void> => {
  await writeBeside(file, Buffer.from(`${Schema.encodeSync(Header)(header)}\n`))
  await replace(directory, file)
}

/** What a later start can write as well: on a full disk a signer starts, and signs once there is room. */
const noted = (writing: Promise<void>): Promise<void> =>
  writing.catch((cause) => {
    if (codeOf(cause) === undefined) throw cause
  })

/** The key for an existing header, if the secret and the environment are those with which it was made. */
const keyOf = async (file: string, { directory, environment, isEnvironmentSet = true, secret }: Options): Promise<Buffer> => {
  const read = Schema.decodeUnknownEither(Header)(fs.readFileSync(file, "utf8"))
  if (Either.isLeft(read)) return refuse(`${file} is damaged, or of a newer version: the keys beside it cannot be opened without it`)
  const { check, costLog2, environment: held, salt } = read.right
  if (held !== undefined && environment !== undefined && held !== environment) {
    return refuse(
      `the keys in ${directory} are of a signer in ${held}, as ${file} says, and VENUE_ENVIRONMENT is ${environment}: set it to ${held}, `
        + `or give this signer a directory of its own. Where the file has it by mistake, "environment" may be corrected in it by hand`,
      "VENUE_ENVIRONMENT"
    )
  }
  const key = await derived(secret, Buffer.from(salt, "base64url"), costLog2)
  if (unseal(key, headerName, Buffer.from(check, "base64url")) === undefined) {
    return refuse(`SIGNER_SECRET is not the one that the keys in ${directory} are sealed with, or ${file} is damaged`, "SIGNER_SECRET")
  }
  if (held === undefined && environment !== undefined && isEnvironmentSet)
    await noted(writeHeader(directory, file, { ...read.right, environment }))
  return key
}

/** The key of a directory. The header is created where there is neither a header nor any encrypted record. */
const open = async (options: Options): Promise<Buffer> => {
  const { costLog2 = defaultCostLog2, directory, environment, secret } = options
  const file = path.join(directory, headerFile)
  if (fs.existsSync(file)) return keyOf(file, options)
  if (fs.readdirSync(directory).some((name) => name.endsWith(suffix))) {
    return refuse(`${file} is missing, and there are keys beside it that cannot be opened without it`)
  }
  const salt = randomBytes(saltBytes)
  const key = await derived(secret, salt, costLog2)
  const check = seal(key, headerName, "perpetuum").toString("base64url")
  await writeHeader(directory, file, { format, kdf: "scrypt", costLog2, salt: salt.toString("base64url"), check, environment })
  return key
}

/** All records in the directory; removes what unfinished writes left. */
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

/**
 * Locks the directory; the kernel releases the lock when the process ends. Two processes would each be unaware of what the other has
 * signed.
 */
const acquire = (directory: string): NodeLock.Taken => {
  const file = path.join(directory, lockFile)
  try {
    return NodeLock.take(file)
  } catch (error) {
    if (NodeLock.isHeld(error)) {
      refuse(`${anotherProcess(holderOf(file))} works on the keys in ${directory}, and only one may: stop it first`)
    }
    if (NodeLock.isSpoiled(error)) refuse(`${file} cannot be locked: ${lockSpoiled}`, "DATA_DIR")
    throw error
  }
}

/** A system error with a file is reported to whoever starts the process; anything else is a bug. */
const refusalOf = (directory: string) => (cause: unknown): StoreRefused => {
  if (cause instanceof StoreRefused) return cause
  const code = codeOf(cause)
  if (code === undefined) throw cause
  return new StoreRefused({ reason: `the keys in ${directory} cannot be opened: ${code}`, code })
}

/** Replaces records; when it no longer knows what the directory holds, it refuses all further writes. */
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

/** The failure for a system error of a write. */
const failureOf = (cause: unknown): StoreFailed => {
  if (cause instanceof StoreFailed) return cause
  const code = codeOf(cause)
  if (code === undefined) throw cause
  return new StoreFailed({ code })
}

/** Creates a directory durably. Its entry is synced in the parent, since without it everything synced below would be lost. */
const makeDirectory = async (directory: string): Promise<void> => {
  const first = NodeDirectory.make(directory)
  if (first === undefined) return
  for (let made = path.resolve(directory); made.length >= path.resolve(first).length; made = path.dirname(made)) {
    await syncDirectory(path.dirname(made))
  }
}

/** A store in a directory, which is created where it is missing and locked for this process. */
export const layer = (options: Options): Layer.Layer<KeyStore, StoreRefused> => {
  const { directory } = options
  const attempt = <A>(evaluate: () => A): Effect.Effect<A, StoreRefused> => Effect.try({ try: evaluate, catch: refusalOf(directory) })
  const attemptPromise = <A>(evaluate: () => Promise<A>): Effect.Effect<A, StoreRefused> =>
    Effect.tryPromise({ try: evaluate, catch: refusalOf(directory) })
  return Layer.scoped(
    KeyStore,
    Effect.gen(function*() {
      yield* attemptPromise(() => makeDirectory(directory))
      yield* Effect.acquireRelease(attempt(() => acquire(directory)), ({ release }) => Effect.sync(release))
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
