/** Scripts say how they are used where their command line is wrong. */
import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"

test.each(["cascade", "crash", "client"])("%s says how it is used", (name) => {
  const { status, stderr } = spawnSync(process.execPath, [`dist/scripts/${name}.js`, "--help"], { encoding: "utf8" })
  expect([status, stderr.split("\n").slice(1)]).toEqual([2, [expect.stringContaining(`usage: ${name} [--`), ""]])
})

/** Runs a program of the simulator to its end, which has to come at once. */
const refused = (name: string, ...words: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [`dist/sim/${name}.js`, ...words], { encoding: "utf8", timeout: 20_000 })
  const lines = stderr.trimEnd().split("\n")
  return { status, stdout, usage: lines[0], last: lines.at(-1), lines: lines.length }
}

test.each<readonly [name: string, words: ReadonlyArray<string>, last: string]>([
  ["mutants", ["--onyl", "key-forgotten"], "Unknown option '--onyl'"],
  ["mutants", ["key-forgotten"], "Unexpected argument 'key-forgotten'"],
  ["mutants", ["--only", "key-forgotten,nope"], "there is no mutant nope"],
  ["mutants", ["--only", ","], "--only takes the name of a mutant"],
  ["mutants", ["--only", "key-forgotten", "--seeds", "abc"], "--seeds takes a whole number from 1, and not abc"],
  ["mutants", ["--only", "key-forgotten", "--steps", "0"], "--steps takes a whole number from 1, and not 0"],
  ["planted", ["--frobnicate"], "Unknown option '--frobnicate'"],
  ["planted", ["--only", "nope"], "there is no mutant nope"]
])("%s starts nothing with %j, and says what is wrong", (name, words, last) => {
  expect(refused(name, ...words)).toMatchObject({
    status: 64,
    stdout: "",
    usage: expect.stringContaining(`usage: npm run ${name} -- [--`),
    last: expect.stringContaining(last)
  })
})

test("the simulator says last what is wrong, after no more than a screen", () => {
  const { lines, ...said } = refused("main", "--foo")
  expect(said).toMatchObject({ status: 64, stdout: "", usage: "usage: npm run sim -- [options]", last: "unknown option --foo" })
  expect(lines).toBeLessThan(40)
})
