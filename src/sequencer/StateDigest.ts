/** The identity of a state: a digest that does not depend on how the state is stored. */
import * as crypto from "node:crypto"
import * as Snapshot from "../engine/Snapshot.js"
import type { State } from "../engine/State.js"

/** Characters digested at a time. */
const batch = 1 << 16

/** SHA-256 over a state's canonical form, lowercase hex. Takes seconds for a large one: for steps, tools and the simulator. */
export const stateDigest = (state: State): string => {
  const hash = crypto.createHash("sha256")
  let text = ""
  Snapshot.canonical(state, (line) => {
    text += line + "\n"
    if (text.length >= batch) {
      hash.update(text)
      text = ""
    }
  })
  return hash.update(text).digest("hex")
}
