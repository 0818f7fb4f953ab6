/**
 * Safety (I11). What lets somebody act is nowhere but with its holder: no session token, device code, verifier or key stands in what
 * the venue has on its disk, in its histories or in its log.
 */
import { broken, holds, type Property } from "./Property.js"

export const noCredentialKept: Property<null> = {
  name: "no-credential-in-the-journal",
  invariant: "I11",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Searched") return holds
    const [found] = seen.found
    return found === undefined ? holds : broken(`${found.secret} stands in ${found.where}`)
  }
}
