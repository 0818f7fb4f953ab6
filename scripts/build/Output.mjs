/**
 * The compiled output, and whether it corresponds to the sources. Each compilation writes a directory of its own beside the sources,
 * `.dist-...`, and the link `dist` is moved to it once it is complete: no incomplete output can be run, a failed compilation leaves the
 * previous output in place, and a running program keeps the directory from which it was started for as long as it runs.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

/** The link through which programs are run. */
export const link = "dist"

const stampFile = "built-from.json"
const usersFolder = "used-by"
const lockFile = ".dist-lock"
const versionPattern = /^\.dist-([0-9]+)-\w+$/

/** How long one compilation may hold up another, in milliseconds: an older lock was left behind by a dead process. */
const longestMs = 600_000

/**
 * @typedef {object} Tree What is compiled: folders in which every file except documents is a source, and further files.
 * @property {string} root
 * @property {ReadonlyArray<string>} folders
 * @property {ReadonlyArray<string>} files
 */

/** @typedef {{ readonly path: string, readonly size: number, readonly changedMs: number }} Entry */

/** Every existing source. @param {Tree} tree @returns {ReadonlyArray<Entry>} */
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

/** Names, sizes and modification times, which can be compared in a moment. @param {ReadonlyArray<Entry>} entries */
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

/** The sources of an output; undefined where there is no complete one. @param {string} folder @returns {Stamp | undefined} */
const stampOf = (folder) => {
  try {
    const { contents, glance } = JSON.parse(fs.readFileSync(path.join(folder, stampFile), "utf8"))
    return typeof glance === "string" && typeof contents === "object" && contents !== null ? { glance, contents } : undefined
  } catch {
    // Missing or incomplete: it has to be compiled.
    return undefined
  }
}

/** Writes a stamp atomically: beside the old one, then renamed. @param {string} folder @param {Stamp} stamp */
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
  // A checkout changes modification times even where the contents stay the same.
  const contents = contentsOf(tree.root, entries)
  const changed = Object.keys(contents).find((name) => contents[name] !== stamp.contents[name])
  if (changed !== undefined) return `${changed} is ${changed in stamp.contents ? "newer than the output" : "new"}`
  const removed = Object.keys(stamp.contents).find((name) => !(name in contents))
  if (removed !== undefined) return `${removed} was removed`
  // A user with read access only can still run the output, but has to compare contents every time.
  whereWritable(() => keepStamp(output, { glance, contents }))
  return undefined
}

/** Writes to an output, unless the user has read access only. @param {() => void} write */
const whereWritable = (write) => {
  try {
    write()
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error
  }
}

/** Whether a process exists. @param {number} pid */
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

/** The process that is compiling, if any. @param {string} file @returns {number | undefined} */
const holderOf = (file) => {
  try {
    const isOld = Date.now() - fs.statSync(file).mtimeMs > longestMs
    const pid = Number(fs.readFileSync(file, "utf8"))
    // The file is empty between its creation and its first write: a process has just begun.
    return isOld || (pid > 0 && !isAlive(pid)) ? undefined : pid
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

/** Takes the lock, which only avoids compiling twice: two concurrent compilations would not interfere. @param {string} file */
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
 * Makes the output current: it may be so already, another process may be compiling it, or it is compiled here.
 * @param {Tree} tree
 * @param {(folder: string) => Promise<void>} compile writes a whole output into a folder of that name beside the sources, or rejects
 * @param {{ tell: (line: string) => void, rest: () => Promise<void>, force?: boolean }} how messages for the user, and a short pause
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
  // Changes during the compilation are noticed the next time.
  const entries = entriesOf(tree)
  const stamp = { glance: glanceOf(entries), contents: contentsOf(tree.root, entries) }
  const folder = fs.mkdtempSync(path.join(tree.root, `.dist-${process.pid}-`))
  const name = path.basename(folder)
  try {
    // Users who may read the sources may run the output.
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

/** The directory to which the link points. @param {string} root @returns {string | undefined} */
const currentOf = (root) => {
  const stat = fs.lstatSync(path.join(root, link), { throwIfNoEntry: false })
  return stat?.isSymbolicLink() ? fs.readlinkSync(path.join(root, link)) : undefined
}

/** Moves the link in one step. @param {string} root @param {string} name */
const moveLink = (root, name) => {
  const place = path.join(root, link)
  if (fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory()) {
    // A directory that another version of this script, or the compiler itself, has left in the link's place.
    fs.renameSync(place, path.join(root, `.dist-0-${process.pid.toString(36)}`))
  }
  const beside = path.join(root, `.dist-link-${process.pid}`)
  fs.rmSync(beside, { force: true })
  fs.symlinkSync(name, beside)
  fs.renameSync(beside, place)
}

/**
 * Marks the current output as used by a process, for as long as that runs. With read access only no mark is left: then the output is
 * kept for as long as it is the current or the previous one.
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

/** Whether a process runs from an output, or compiles into it. @param {string} folder @param {number} maker */
const isUsed = (folder, maker) => {
  if (!fs.existsSync(path.join(folder, stampFile))) return maker !== process.pid && isAlive(maker)
  const users = path.join(folder, usersFolder)
  return fs.existsSync(users) && fs.readdirSync(users).some((name) => isAlive(Number(name)))
}

/** Removes outputs from which nothing runs. @param {string} root @param {ReadonlyArray<string | undefined>} kept */
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
