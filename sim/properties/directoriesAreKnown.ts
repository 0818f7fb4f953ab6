/**
 * Safety (I8). Whatever is read of a data directory, copied, followed, cut or saved there is exactly what its bytes are: damage is named by
 * its place and the first record that is lost with it, what is said to be durable outlives a power failure, a cut and a copy leave what
 * they say, and nothing else is touched.
 */
import { broken, holds, type Property } from "./Property.js"

export const directoriesAreKnown: Property<null> = {
  name: "directories-are-what-is-said-of-them",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => seen._tag === "Drilled" && seen.fault !== undefined ? broken(`in the drill of ${seen.what}: ${seen.fault}`) : holds
}
