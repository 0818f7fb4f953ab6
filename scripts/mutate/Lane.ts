/**
 * A copy of the compiled venue in a temporary folder, where modules are planted and processes run. Everything else of the working copy is
 * linked. One lane runs one process at a time.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as readline from "node:readline"
import { flags } from "../../sim/report/Memory.js"
import type { Module, Site } from "./Sites.js"
import { type Mode, plant } from "./Planting.js"
import type { Message, Task } from "./Task.js"

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The end of its standard output and standard error. */
  readonly last: string
}

/** How many characters of a process's output are kept. */
const keptCharacters = 4_000

/** Heap limit of a mutant in megabytes: one that fills the memory ends without taking the machine down. */
const heapMegabytes = 1_024

/** What is not linked: compiled output is copied, and a lane is not a repository. */
const unlinked: ReadonlySet<string> = new Set(["dist", ".git", "data"])

export class Lane {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "mutate-"))
  private child: ChildProcess | undefined
  private stopped = false
  /** Modules that currently differ from the compiled ones. */
  private readonly planted = new Set<Module>()

  constructor(root: string) {
    for (const name of fs.readdirSync(root)) {
      if (!unlinked.has(name)) fs.symlinkSync(path.join(root, name), path.join(this.folder, name))
    }
    // Vitest looks for its cache beside the packages, through the link, which does no harm.
    const output = fs.realpathSync(path.join(root, "dist"))
    fs.cpSync(output, path.join(this.folder, "dist"), { recursive: true, filter: (from) => !from.endsWith(".map") })
  }

  /** Plants exactly these mutants in the copy. */
  plant(modules: ReadonlyArray<readonly [Module, ReadonlyArray<Site>]>, mode: Mode): void {
    for (const module of this.planted) fs.writeFileSync(path.join(this.folder, module.compiled), module.text)
    this.planted.clear()
    for (const [module, sites] of modules) {
      fs.writeFileSync(path.join(this.folder, module.compiled), plant(module.text, sites, mode))
      this.planted.add(module)
    }
  }

  /** Runs a task of simulator seeds, until it ends or is stopped. */
  run(task: Task, hear: (message: Message) => void): Promise<Ended> {
    const file = path.join(this.folder, "task.json")
    fs.writeFileSync(file, JSON.stringify(task))
    const words = [...flags, `--max-old-space-size=${heapMegabytes}`, "dist/scripts/mutate/runner.js", file]
    return this.execute(words, {}, (line) => hear(JSON.parse(line) as Message))
  }

  /** Runs Node with these arguments in the lane; `hear` receives the lines that it writes to file descriptor 3. */
  execute(
    words: ReadonlyArray<string>,
    env: Readonly<Record<string, string>>,
    hear: (line: string) => void,
    limitMs?: number
  ): Promise<Ended> {
    if (this.stopped) return Promise.resolve({ code: null, signal: "SIGTERM", last: "" })
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, words, {
        cwd: this.folder,
        stdio: ["ignore", "pipe", "pipe", "pipe"],
        env: { ...process.env, ...env },
        // A process group of its own, so that everything it starts ends with it.
        detached: true
      })
      this.child = child
      let last = ""
      const keep = (bytes: Buffer): void => {
        last = (last + bytes.toString("utf8")).slice(-keptCharacters)
      }
      child.stdout!.on("data", keep)
      child.stderr!.on("data", keep)
      readline.createInterface({ input: child.stdio[3] as NodeJS.ReadableStream }).on("line", hear)
      const limit = limitMs === undefined ? undefined : setTimeout(() => this.end(child), limitMs)
      child.on("error", reject)
      child.on("close", (code, signal) => {
        clearTimeout(limit)
        this.child = undefined
        resolve({ code, signal, last })
      })
    })
  }

  /** Ends what is running; nothing runs in this lane from now on. */
  stop(): void {
    this.stopped = true
    if (this.child !== undefined) this.end(this.child)
  }

  get isStopped(): boolean {
    return this.stopped
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true })
  }

  /** Ends a process and those that it started. */
  private end(child: ChildProcess): void {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch (error) {
      // It had ended by itself before the signal.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
    }
  }
}
