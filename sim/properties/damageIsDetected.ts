/**
 * Safety (I8). A bit that flips at rest anywhere in the journal, in its blocks or in the zeros behind them, is
 * found at the next start and never served.
 */
import { broken, holds, type Property } from "./Property.js"

export const damageIsDetected: Property<null> = {
  name: "damage-is-detected",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Flipped") return holds
    const where = `bit ${seen.bit} of byte ${seen.byte} of ${seen.path}`
    if (seen.refusal === undefined) return broken(`${where} was flipped and the venue served`)
    return /Corrupt|corrupt/.test(seen.refusal) ? holds : broken(`${where} was flipped and the venue ended otherwise: ${seen.refusal}`)
  }
}
