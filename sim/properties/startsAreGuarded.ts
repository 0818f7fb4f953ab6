/**
 * Safety (I8, I9). What the journal does not vouch for is never served: a start over it is refused with the name of the fault, and leaves
 * every file as it was, or continues from the journal alone. Harmless things are served. Nor is such a journal read beside the writer,
 * followed, or appended to.
 */
import { broken, holds, type Property } from "./Property.js"

export const startsAreGuarded: Property<null> = {
  name: "what-the-journal-does-not-vouch-for-is-never-served",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag === "Probed") {
      return seen.came.includes(seen.must) ? holds : broken(`${seen.what} must have come to "${seen.must}" and came to: ${seen.came}`)
    }
    if (seen._tag !== "Planted") return holds
    const { came, changed, digest, lost, must, proper, what } = seen
    if (must === "serve") {
      if (came !== "serve") return broken(`over ${what} the venue refused to start: ${came}`)
      return digest === proper ? holds : broken(`over ${what} the venue served the state ${digest}, and its journal comes to ${proper}`)
    }
    if (came === "serve") return broken(`over ${what} the venue served, and must have refused by ${must}`)
    if (!came.startsWith(must)) return broken(`over ${what} the venue must have refused by ${must} and ended otherwise: ${came}`)
    if (lost !== undefined && !came.includes(` (sequence ${lost}): `)) {
      return broken(`over ${what}, so that record ${lost} is lost, the venue refused otherwise: ${came}`)
    }
    return changed === undefined ? holds : broken(`over ${what} the venue refused to start and left ${changed} changed`)
  }
}
