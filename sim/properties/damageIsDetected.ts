/**
 * Safety (I8). A bit that flips at rest anywhere in the journal, in its blocks or in the zeros behind them, is
 * found at the next start and never served; so is a write that went astray and was called done.
 */
import { broken, holds, type Property } from "./Property.js"

export const damageIsDetected: Property<null> = {
  name: "damage-is-detected",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Flipped" && seen._tag !== "Misdirected") return holds
    const what = seen._tag === "Flipped"
      ? `bit ${seen.bit} of byte ${seen.byte} of ${seen.path} was flipped`
      : `a write to ${seen.path} went astray`
    if (seen.refusal === undefined) return broken(`${what} and the venue served`)
    return /Corrupt|corrupt/.test(seen.refusal) ? holds : broken(`${what} and the venue ended otherwise: ${seen.refusal}`)
  }
}
