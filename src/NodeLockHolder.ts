/** Which process holds a locked file, as far as the system reveals it: Linux does, for processes that this one may inspect. */
import * as fs from "node:fs"
import * as path from "node:path"

/** What `look` finds; undefined where there is nothing, or it may not be inspected. */
const attempt = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    // Nothing depends on it: it only adds detail to an error that is reported anyway.
    return undefined
  }
}

/** The process that the system lists as holding a lock on a file with this inode. */
const listedHolder = (proc: string, inode: bigint): number | undefined => {
  const lines = attempt(() => fs.readFileSync(path.join(proc, "locks"), "utf8"))?.split("\n") ?? []
  for (const line of lines) {
    const [, pid, held] = /^[0-9]+: +\S+ +\S+ +WRITE +([0-9]+) +[0-9a-f]+:[0-9a-f]+:([0-9]+) /.exec(line) ?? []
    if (pid !== undefined && held === String(inode)) return Number(pid)
  }
  return undefined
}

/** Whether a process has a file open. */
const hasOpen = (proc: string, pid: string, file: string): boolean => {
  const folder = path.join(proc, pid, "fd")
  const open = attempt(() => fs.readdirSync(folder)) ?? []
  return open.some((name) => attempt(() => fs.readlinkSync(path.join(folder, name))) === file)
}

/** Another process that has the file open: only a venue and its tools open its lock. */
const openingProcess = (proc: string, file: string): number | undefined => {
  const pids = (attempt(() => fs.readdirSync(proc)) ?? []).filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)
  const found = pids.find((pid) => hasOpen(proc, pid, file))
  return found === undefined ? undefined : Number(found)
}

const mostCharacters = 120

/** `process 4711, node dist/src/main.js`; undefined where the system does not reveal it. */
export const holderOf = (file: string, proc: string = "/proc"): string | undefined => {
  const stats = attempt(() => fs.statSync(file, { bigint: true }))
  const real = attempt(() => fs.realpathSync(file))
  if (stats === undefined || real === undefined) return undefined
  const pid = listedHolder(proc, stats.ino) ?? openingProcess(proc, real)
  if (pid === undefined || pid === process.pid) return undefined
  const words = attempt(() => fs.readFileSync(path.join(proc, String(pid), "cmdline"), "utf8")) ?? ""
  const command = words.replace(/\p{Cc}+/gu, " ").trim()
  return command === "" ? `process ${pid}` : `process ${pid}, ${command.slice(0, mostCharacters)}`
}
