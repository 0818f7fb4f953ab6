/** A venue runs with the same V8 flags however it is started, so that measurements of one way hold for the others. */
import * as fs from "node:fs"
import { expect, test } from "vitest"

/** The flags in a text before the program that is started, in their order. */
const flagsIn = (text: string): ReadonlyArray<string> => text.match(/--(?:no-)?[a-z0-9]+(?:-[a-z0-9]+)*(?:=[0-9]+)?/g) ?? []

const between = (file: string, begin: string, end: string): string => {
  const text = fs.readFileSync(file, "utf8")
  const from = text.indexOf(begin)
  const to = text.indexOf(end, from)
  expect([file, from >= 0 && to > from]).toEqual([file, true])
  return text.slice(from + begin.length, to)
}

const started = flagsIn(between("package.json", "hugetlb=1 node ", "dist/venue/main.js"))

test("npm start sets some", () => {
  expect(started).toContain("--v8-pool-size=1")
})

test.each<readonly [file: string, begin: string, end: string]>([
  ["Dockerfile", "ENTRYPOINT [\"node\",", "dist/venue/main.js"],
  ["scripts/service/perpetuum.service", "ExecStart=/usr/bin/node ", "/opt/perpetuum/dist"],
  ["scripts/load/VenueProcess.ts", "flags: ReadonlyArray<string> = [", "]"]
])("%s sets the same", (...place) => {
  expect(flagsIn(between(...place))).toEqual(started)
})
