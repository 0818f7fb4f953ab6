/** Scripts say how they are used where their command line is wrong. */
import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"

test.each(["cascade", "crash", "client"])("%s says how it is used", (name) => {
  const { status, stderr } = spawnSync(process.execPath, [`dist/scripts/${name}.js`, "--help"], { encoding: "utf8" })
  expect([status, stderr.split("\n").slice(1)]).toEqual([2, [expect.stringContaining(`usage: ${name} [--`), ""]])
})
