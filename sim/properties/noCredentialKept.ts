/**
 * Safety (I11). Credentials exist only with their holders: no session token, device code, verifier or key is in what the venue has on its
 * disk, in its histories or in its log.
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
