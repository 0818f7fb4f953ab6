/**
 * The compiled output and whether it is what the sources come to. Each compilation writes a directory of its own beside the
 * sources, `.dist-...`, and `dist` is a link that is moved to it once it is whole: nothing half written can be run, a compilation that
 * fails leaves what was there, and what runs goes on from the directory that it was started from, which stays as long as it runs.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

/** The link that is run. */
export const link = "dist"

const stampFile = "built-from.json"
const usersFolder = "used-by"
const lockFile = ".dist-lock"
const versionPattern = /^\.dist-([0-9]+)-\w+$/

/** How long one compilation may hold up another, milliseconds: a lock that is older was left behind. */
const longestMs = 600_000

/**
 * @typedef {object} Tree What is compiled: folders whose every file but documents is a source, and files beside them.
 * @property {string} root
 * @property {ReadonlyArray<string>} folders
 * @property {ReadonlyArray<string>} files
 */

/** @typedef {{ readonly path: string, readonly size: number, readonly changedMs: number }} Entry */

/** Every source that is there. @param {Tree} tree @returns {ReadonlyArray<Entry>} */
const entriesOf = ({ files, folders, root }) => {
  /** @type {Array<Entry>} */
  const found = []
  const add = (/** @type {string} */ name) => {
    const stat = fs.statSync(path.join(root, name), { throwIfNoEntry: false })
    if (stat !== undefined) found.push({ path: name, size: stat.size, changedMs: stat.mtimeMs })
  }
  const walk = (/** @type {string} */ folder) => {
    for (const entry of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const name = `${folder}/${entry.name}`
      if (entry.isDirectory()) walk(name)
      else if (!entry.name.endsWith(".md")) add(name)
    }
  }
  for (const folder of folders) if (fs.existsSync(path.join(root, folder))) walk(folder)
  for (const name of files) add(name)
  return found.sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** Names, sizes and times of change: what can be looked at in a moment. @param {ReadonlyArray<Entry>} entries */
const glanceOf = (entries) => {
  const hash = createHash("sha256")
  for (const { changedMs, path: name, size } of entries) hash.update(`${name}\0${size}\0${changedMs}\n`)
  return hash.digest("hex")
}

/** Every source's contents. @param {string} root @param {ReadonlyArray<Entry>} entries @returns {Record<string, string>} */
const contentsOf = (root, entries) =>
  Object.fromEntries(entries.map(({ path: name }) => [
    name,
    createHash("sha256").update(fs.readFileSync(path.join(root, name))).digest("hex").slice(0, 32)
  ]))

/** @typedef {{ readonly glance: string, readonly contents: Record<string, string> }} Stamp */

/** What an output was compiled from; undefined where there is none that was finished. @param {string} folder @returns {Stamp | undefined} */
const stampOf = (folder) => {
  try {
    const { contents, glance } = JSON.parse(fs.readFileSync(path.join(folder, stampFile), "utf8"))
    return typeof glance === "string" && typeof contents === "object" && contents !== null ? { glance, contents } : undefined
  } catch {
    // Not there, or not whole: then it is compiled.
    return undefined
  }
}

/** Written beside and put in place at once. @param {string} folder @param {Stamp} stamp */
const keepStamp = (folder, stamp) => {
  const beside = path.join(folder, `${stampFile}.${process.pid}`)
  fs.writeFileSync(beside, JSON.stringify(stamp))
  fs.renameSync(beside, path.join(folder, stampFile))
}

/** Why the sources have to be compiled, in words; undefined where the output is current. @param {Tree} tree @returns {string | undefined} */
export const reasonToCompile = (tree) => {
  const output = path.join(tree.root, link)
  const stamp = stampOf(output)
  if (stamp === undefined) return "nothing is compiled yet"
  const entries = entriesOf(tree)
  const glance = glanceOf(entries)
  if (glance === stamp.glance) return undefined
  // A checkout touches files whose contents come out as they were.
  const contents = contentsOf(tree.root, entries)
  const changed = Object.keys(contents).find((name) => contents[name] !== stamp.contents[name])
  if (changed !== undefined) return `${changed} is ${changed in stamp.contents ? "newer than the output" : "new"}`
  const removed = Object.keys(stamp.contents).find((name) => !(name in contents))
  if (removed !== undefined) return `${removed} was removed`
  // Whoever may only read runs what is there, and compares contents every time.
  whereWritable(() => keepStamp(output, { glance, contents }))
  return undefined
}

/** Writes to an output, unless whoever runs this may only read it. @param {() => void} write */
const whereWritable = (write) => {
  try {
    write()
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error
  }
}

/** Whether a process is there. @param {number} pid */
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

/** Whoever compiles, where somebody does. @param {string} file @returns {number | undefined} */
const holderOf = (file) => {
  try {
    const isOld = Date.now() - fs.statSync(file).mtimeMs > longestMs
    const pid = Number(fs.readFileSync(file, "utf8"))
    // Between its making and its writing the file is empty: somebody just began.
    return isOld || (pid > 0 && !isAlive(pid)) ? undefined : pid
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

/** Takes the lock, which only spares a second compilation of the same: two at once would not meet. @param {string} file */
const takes = (file) => {
  try {
    fs.writeFileSync(file, String(process.pid), { flag: "wx" })
    return true
  } catch (error) {
    if (error.code === "EEXIST") return false
    throw error
  }
}

/**
 * Has the output current: as it is, as somebody else is about to leave it, or compiled.
 * @param {Tree} tree
 * @param {(folder: string) => Promise<void>} compile writes a whole output into a folder of that name beside the sources, or rejects
 * @param {{ tell: (line: string) => void, rest: () => Promise<void>, force?: boolean }} how what is said to whoever waits, and a short rest
 * @returns {Promise<boolean>} whether it was compiled here
 */
export const ensure = async (tree, compile, { force = false, rest, tell }) => {
  const lock = path.join(tree.root, lockFile)
  let isTold = false
  for (;;) {
    const reason = force ? "asked for" : reasonToCompile(tree)
    if (reason === undefined) return false
    if (takes(lock)) {
      try {
        tell(`compiling (${reason})`)
        await compileInto(tree, compile)
        return true
      } finally {
        fs.rmSync(lock, { force: true })
      }
    }
    const holder = holderOf(lock)
    if (holder === undefined) fs.rmSync(lock, { force: true })
    else {
      if (!isTold) tell(`another compilation is going on (process ${holder}): waiting for it`)
      isTold = true
      await rest()
    }
  }
}

/** @param {Tree} tree @param {(folder: string) => Promise<void>} compile */
const compileInto = async (tree, compile) => {
  // What changes while it is being compiled is noticed the next time.
  const entries = entriesOf(tree)
  const stamp = { glance: glanceOf(entries), contents: contentsOf(tree.root, entries) }
  const folder = fs.mkdtempSync(path.join(tree.root, `.dist-${process.pid}-`))
  const name = path.basename(folder)
  try {
    // Whoever may read the sources may run what they come to.
    fs.chmodSync(folder, 0o755)
    await compile(name)
    keepStamp(folder, stamp)
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const before = currentOf(tree.root)
  moveLink(tree.root, name)
  sweep(tree.root, [name, before])
}

/** The directory that is linked to. @param {string} root @returns {string | undefined} */
const currentOf = (root) => {
  const stat = fs.lstatSync(path.join(root, link), { throwIfNoEntry: false })
  return stat?.isSymbolicLink() ? fs.readlinkSync(path.join(root, link)) : undefined
}

/** Moves the link in one step. @param {string} root @param {string} name */
const moveLink = (root, name) => {
  const place = path.join(root, link)
  if (fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory()) {
    // A directory that another version of this script, or the compiler by itself, has left in its place.
    fs.renameSync(place, path.join(root, `.dist-0-${process.pid.toString(36)}`))
  }
  const beside = path.join(root, `.dist-link-${process.pid}`)
  fs.rmSync(beside, { force: true })
  fs.symlinkSync(name, beside)
  fs.renameSync(beside, place)
}

/**
 * Marks the current output as used by a process, for as long as that runs. Whoever may only read it leaves no mark: then it stays for as
 * long as it is the current one or the one before.
 * @param {string} root @param {number} pid
 */
export const use = (root, pid) => {
  const folder = path.join(fs.realpathSync(path.join(root, link)), usersFolder)
  whereWritable(() => {
    fs.mkdirSync(folder, { recursive: true })
    for (const name of fs.readdirSync(folder)) if (!isAlive(Number(name))) fs.rmSync(path.join(folder, name), { force: true })
    fs.writeFileSync(path.join(folder, String(pid)), "")
  })
}

/** Whether anything runs from an output, or compiles into it. @param {string} folder @param {number} maker */
const isUsed = (folder, maker) => {
  if (!fs.existsSync(path.join(folder, stampFile))) return maker !== process.pid && isAlive(maker)
  const users = path.join(folder, usersFolder)
  return fs.existsSync(users) && fs.readdirSync(users).some((name) => isAlive(Number(name)))
}

/** Removes outputs that nothing runs from. @param {string} root @param {ReadonlyArray<string | undefined>} kept */
const sweep = (root, kept) => {
  for (const name of fs.readdirSync(root)) {
    const found = versionPattern.exec(name)
    if (found === null || kept.includes(name)) continue
    const folder = path.join(root, name)
    const maker = Number(found[1])
    if (maker !== 0 && isUsed(folder, maker)) continue
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
