/** Links between the documents lead somewhere: to a file that there is, and to a heading that it has. */
import * as fs from "node:fs"
import * as path from "node:path"
import { expect, test } from "vitest"

/** All documents that people read, without those that are recorded. */
const documents = [
  ...fs.readdirSync(".").filter((name) => name.endsWith(".md")),
  ...["src", "sim", "scripts"].flatMap((folder) =>
    fs.readdirSync(folder, { encoding: "utf8", recursive: true }).filter((name) => name.endsWith(".md")).map((name) =>
      path.join(folder, name)
    )
  )
]

/** A document without its blocks of code, in which a `#` begins a comment. */
const prose = (file: string): string => fs.readFileSync(file, "utf8").replace(/^ *```.*?^ *```/gms, "")

/** The anchors that a reader of the repository's pages can link to. */
const anchors = (file: string): ReadonlySet<string> =>
  new Set(
    [...prose(file).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) =>
      heading!.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").trim().toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")
    )
  )

/** Why a link of a document leads nowhere; undefined if it leads somewhere. */
const broken = (document: string, link: string): string | undefined => {
  const [file, anchor] = link.split("#")
  const target = file === "" ? document : path.join(path.dirname(document), file!)
  if (!fs.existsSync(target)) return `${document}: there is no ${target}`
  return anchor === undefined || !target.endsWith(".md") || anchors(target).has(anchor)
    ? undefined
    : `${document}: ${target} has no #${anchor}`
}

test("every link between documents leads to a file, and to a heading of it", () => {
  const links = documents.flatMap((document) =>
    [...prose(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => [document, link!] as const)
  ).filter(([, link]) => !/^(?:https?|mailto):/.test(link))
  expect(links.length).toBeGreaterThan(150)
  expect(links.map(([document, link]) => broken(document, link)).filter((found) => found !== undefined)).toEqual([])
})
