/** The reference page contains the stream's protocol and the engine's rules, complete and as markup, from the documents beside the code. */
import * as fs from "node:fs"
import { describe, expect, it } from "vitest"
import * as Rules from "../../src/edge/system/docs/Rules.js"

const shown = Rules.sections().map(({ text }) => text)

const plain = (text: string): string =>
  text.replaceAll(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&amp;", "&")

describe.each([
  ["src/edge/socket/STREAM.md", "stream"],
  ["src/engine/RULES.md", "rules"],
  ["src/engine/INVARIANTS.md", "invariants"],
  ["src/engine/DECISIONS.md", "decisions"]
])("%s", (file, id) => {
  const source = fs.readFileSync(file, "utf8")
  const section = shown.find((text) => text.startsWith(`<h2 id="${id}">`))!

  it("every heading is there, under an id of its own", () => {
    const headings = [...source.matchAll(/^#+ (.*)$/gm)].map((match) => match[1])
    const found = [...section.matchAll(/<h([234]) id="([^"]+)">(.*?)<\/h\1>/g)]
    expect(found.map((match) => match[3])).toEqual(headings)
    expect(new Set(found.map((match) => match[2])).size).toBe(headings.length)
  })

  it("every word is there, and nothing of the markup", () => {
    const words = (text: string) => text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "")
    const linked = source.replaceAll(/\]\([^)]*\)/g, "]").replaceAll(/^\d+\. /gm, "").replaceAll(/^ *\|[-|]*$/gm, "")
    expect(words(plain(section))).toEqual(words(linked))
    expect(plain(section)).not.toMatch(/\*\*|^#|\|---/m)
  })

  it("the navigation leads to it", () => {
    expect(Rules.navigation().text).toContain(`<a href="#${id}">`)
  })
})
