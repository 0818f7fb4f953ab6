/** When sources are compiled, and that only a complete output can be run. */
import { spawn, spawnSync } from "node:child_process"
import nodeFs, * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeEach, describe, expect, test } from "vitest"

interface Tree {
  readonly root: string
  readonly folders: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
}

interface Output {
  readonly ensure: (
    tree: Tree,
    compile: (folder: string) => Promise<void>,
    how: { readonly tell: (line: string) => void; readonly rest: () => Promise<void>; readonly force?: boolean }
  ) => Promise<boolean>
  readonly reasonToCompile: (tree: Tree) => string | undefined
  readonly use: (root: string, pid: number) => void
}

// It runs before anything is compiled, so it is plain JavaScript.
const { ensure, reasonToCompile, use } = await import(pathToFileURL(path.resolve("scripts/build/Output.mjs")).href) as Output

describe("compiling", () => {
  const made: Array<string> = []
  afterAll(() => {
    for (const folder of made) fs.rmSync(folder, { recursive: true, force: true })
  })

  let root = ""
  const tree = (): Tree => ({ root, folders: ["src"], files: ["tsconfig.json", "package-lock.json"] })
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(root, name), text)
  const output = (): string => fs.readFileSync(path.join(root, "dist/out.txt"), "utf8")
  const versions = (): ReadonlyArray<string> => fs.readdirSync(root).filter((name) => /^\.dist-[0-9]+-/.test(name))

  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), "venue-build-"))
    made.push(root)
    fs.mkdirSync(path.join(root, "src/inner"), { recursive: true })
    write("src/a.ts", "a")
    write("src/inner/b.ts", "b")
    write("tsconfig.json", "{}")
    write("package-lock.json", "{}")
  })

  /** "Compiles" all sources into one text. */
  const compile = async (folder: string): Promise<void> => {
    const texts = ["src/a.ts", "src/inner/b.ts"].filter((name) => fs.existsSync(path.join(root, name)))
    write(`${folder}/out.txt`, texts.map((name) => fs.readFileSync(path.join(root, name), "utf8")).join("+"))
  }

  const built = (how: { readonly compile?: typeof compile; readonly rest?: () => Promise<void>; readonly force?: boolean } = {}) => {
    const told: Array<string> = []
    const rest = how.rest ?? (() => Promise.reject(new Error("nobody else compiles")))
    const done = ensure(tree(), how.compile ?? compile, { tell: (line) => void told.push(line), rest, force: how.force ?? false })
    return done.then((isCompiled) => ({ isCompiled, told }))
  }

  describe("sources are compiled", () => {
    test("where nothing is compiled yet, and not again", async () => {
      expect(await built()).toEqual({ isCompiled: true, told: ["compiling (nothing is compiled yet)"] })
      expect(output()).toBe("a+b")
      expect(await built()).toEqual({ isCompiled: false, told: [] })
      expect((await built({ force: true })).isCompiled).toBe(true)
    })

    test.each<readonly [string, () => void, string]>([
      ["changed", () => write("src/inner/b.ts", "c"), "src/inner/b.ts is newer than the output"],
      ["new", () => write("src/c.ts", ""), "src/c.ts is new"],
      ["removed", () => fs.rmSync(path.join(root, "src/a.ts")), "src/a.ts was removed"],
      ["the compiler's settings", () => write("tsconfig.json", "{ }"), "tsconfig.json is newer than the output"],
      ["the packages", () => write("package-lock.json", "{ }"), "package-lock.json is newer than the output"]
    ])("where one is %s", async (_, change, reason) => {
      await built()
      change()
      expect(reasonToCompile(tree())).toBe(reason)
      expect((await built()).told).toEqual([`compiling (${reason})`])
      expect(reasonToCompile(tree())).toBeUndefined()
    })

    test("where one changed while it was being compiled", async () => {
      await built({
        compile: async (folder) => {
          await compile(folder)
          write("src/a.ts", "later")
        }
      })
      expect(reasonToCompile(tree())).toBe("src/a.ts is newer than the output")
    })

    test("and not where a file was only touched, or is a document", async () => {
      await built()
      fs.utimesSync(path.join(root, "src/a.ts"), 1, 1)
      write("src/README.md", "words")
      expect(reasonToCompile(tree())).toBeUndefined()
      expect((await built()).isCompiled).toBe(false)
    })
  })

  describe("an output", () => {
    test("that does not come about leaves the one before", async () => {
      await built()
      write("src/a.ts", "wrong")
      const broken = async (folder: string): Promise<void> => {
        write(`${folder}/out.txt`, "half")
        throw new Error("does not compile")
      }
      await expect(built({ compile: broken })).rejects.toThrow("does not compile")
      expect(output()).toBe("a+b")
      expect(versions()).toHaveLength(1)
      expect((await built()).isCompiled).toBe(true)
    })

    test("is never seen in part: the one before is there until the next is whole", async () => {
      await built()
      write("src/a.ts", "next")
      const seen: Array<string> = []
      await built({
        compile: async (folder) => {
          await compile(folder)
          seen.push(output())
        }
      })
      expect([...seen, output()]).toEqual(["a+b", "next+b"])
    })

    test("takes the place of a directory that was there before", async () => {
      fs.mkdirSync(path.join(root, "dist"))
      write("dist/out.txt", "of the compiler alone")
      expect((await built()).isCompiled).toBe(true)
      expect(output()).toBe("a+b")
      expect(versions()).toHaveLength(1)
    })

    test("stays while something runs from it", async () => {
      await built()
      const first = fs.realpathSync(path.join(root, "dist"))
      const user = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])
      use(root, user.pid!)
      await built({ force: true })
      await built({ force: true })
      await built({ force: true })
      expect(fs.existsSync(first)).toBe(true)
      const ended = new Promise((resolve) => user.on("exit", resolve))
      user.kill()
      await ended
      await built({ force: true })
      expect(fs.existsSync(first)).toBe(false)
      expect(versions()).toHaveLength(2)
    })
  })

  test("whoever may only read an output runs from it, and leaves no mark", async () => {
    await built()
    const { mkdirSync } = nodeFs
    nodeFs.mkdirSync = () => {
      throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" })
    }
    syncBuiltinESMExports()
    try {
      use(root, process.pid)
    } finally {
      nodeFs.mkdirSync = mkdirSync
      syncBuiltinESMExports()
    }
    expect(fs.existsSync(path.join(root, "dist/used-by"))).toBe(false)
  })

  describe("two compilations", () => {
    test("become one: the second waits for the first, and finds its output", async () => {
      let isAsked = (): void => {}
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve
      })
      const first = built({
        compile: async (folder) => {
          await asked
          await compile(folder)
        }
      })
      const second = built({
        rest: async () => isAsked()
      })
      expect((await first).isCompiled).toBe(true)
      expect(await second).toEqual({
        isCompiled: false,
        told: [`another compilation is going on (process ${process.pid}): waiting for it`]
      })
    })

    test("do not wait for one that died", async () => {
      const { pid } = spawnSync(process.execPath, ["-e", ""])
      write(".dist-lock", String(pid))
      fs.mkdirSync(path.join(root, `.dist-${pid}-half`))
      expect((await built()).isCompiled).toBe(true)
      expect(versions()).toHaveLength(1)
    })
  })

  test("the command runs a program of the output with its arguments, and says what it does on standard error alone", () => {
    for (const name of ["build.mjs", "build/Output.mjs"]) {
      fs.mkdirSync(path.dirname(path.join(root, "scripts", name)), { recursive: true })
      fs.copyFileSync(path.join("scripts", name), path.join(root, "scripts", name))
    }
    // A stand-in that writes what the compiler and the steps after it would.
    fs.mkdirSync(path.join(root, "node_modules/typescript/bin"), { recursive: true })
    write(
      "node_modules/typescript/bin/tsc",
      `const fs = require("node:fs")
if (fs.readFileSync("src/a.ts", "utf8") === "wrong") process.exit(2)
const at = process.argv.indexOf("--outDir")
if (at > 0) {
  const out = process.argv[at + 1]
  fs.mkdirSync(out + "/scripts"), fs.mkdirSync(out + "/tools")
  for (const name of ["console", "docs", "tools", "compiled"]) fs.writeFileSync(out + "/scripts/" + name + ".js", "")
  fs.writeFileSync(out + "/tools/venue.js", "console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 3")
}`
    )
    const command = (...args: ReadonlyArray<string>) => {
      const { status, stderr, stdout } = spawnSync(process.execPath, [path.join(root, "scripts/build.mjs"), ...args], { encoding: "utf8" })
      return { status, stderr, stdout }
    }
    const first = command("tools/venue.js", "halt", "--key", "a b")
    expect([first.status, first.stdout]).toEqual([3, "[\"halt\",\"--key\",\"a b\"]\n"])
    expect(first.stderr).toContain("compiling (nothing is compiled yet)")
    expect(command("tools/venue.js", "status")).toEqual({ status: 3, stderr: "", stdout: "[\"status\"]\n" })
    write("src/a.ts", "wrong")
    const broken = command("tools/venue.js", "halt")
    expect([broken.status, broken.stdout]).toEqual([1, ""])
    expect(broken.stderr).toContain("not built: ")
    expect(broken.stderr).toContain("what was built before runs by: node dist/tools/venue.js ...")
    write("src/a.ts", "a")
    expect(command()).toMatchObject({ status: 0, stdout: "" })
  })
})
