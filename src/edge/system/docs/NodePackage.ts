/** The program's package, from which files beside the code in the repository are read. */
import * as fs from "node:fs"

/** The nearest folder above this file that holds a `package.json`: compiled files lie deeper than their sources. */
const folder = (): URL => {
  for (let searched = new URL("./", import.meta.url);;) {
    if (fs.existsSync(new URL("package.json", searched))) return searched
    const above = new URL("../", searched)
    if (above.href === searched.href) throw new Error(`no package.json in any folder above ${import.meta.url}`)
    searched = above
  }
}

/** The text of a file, by its path from the package's folder. */
export const textOf = (path: string): string => fs.readFileSync(new URL(path, folder()), "utf8")

/** The names in a folder of the package, which ends in `/`; none where there is no such folder. */
export const namesIn = (path: string): ReadonlyArray<string> => {
  const searched = new URL(path, folder())
  return fs.existsSync(searched) ? fs.readdirSync(searched) : []
}
