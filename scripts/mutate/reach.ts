/**
 * Loaded into test processes before anything else: notes each mutant that is reached once, in a file of the process's own. Written at once,
 * since test processes are killed rather than ended.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { globalName, reachFolderName, type Switch } from "./Planting.js"

const folder = process.env[reachFolderName]
if (folder !== undefined) {
  const file = path.join(folder, String(process.pid))
  const reached = new Set<number>()
  const noting: Switch = {
    id: 0,
    at: (id) => {
      if (!reached.has(id)) {
        reached.add(id)
        fs.appendFileSync(file, `${id}\n`)
      }
      return false
    }
  }
  ;(globalThis as unknown as Record<string, Switch>)[globalName] = noting
}
