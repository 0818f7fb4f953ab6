/** Locates the program's package, from which files beside the code in the repository are read. */
import * as fs from "node:fs"

/** The nearest folder above a file that holds a `package.json`: compiled files lie deeper than their sources. */
export const packageFolder = (file: string): URL => {
  for (let folder = new URL("./", file);;) {
    if (fs.existsSync(new URL("package.json", folder))) return folder
    const above = new URL("../", folder)
    if (above.href === folder.href) throw new Error(`no package.json in any folder above ${file}`)
    folder = above
  }
}
