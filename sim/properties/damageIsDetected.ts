/**
 * Safety (I8). A bit that flips at rest anywhere in the journal, in its blocks or in the zeros after them, is found at the next start and
 * never served, and the refusal says where and from which record on; so is a write that went astray and was reported as done.
 */
import { broken, holds, type Property } from "./Property.js"

/** Whether a refusal names the segment and the first unreadable record: an operator who cuts the journal there loses nothing else. */
const namesLost = (refusal: string, path: string, lost: number): boolean => {
  const [, named, sequence] = /^JournalCorrupt: (\S+) is corrupt at offset [0-9]+ \(sequence ([0-9]+)\)/.exec(refusal) ?? []
  return named === path && Number(sequence) === lost
}

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
    if (!/Corrupt|corrupt/.test(seen.refusal)) return broken(`${what} and the venue ended otherwise: ${seen.refusal}`)
    return seen._tag === "Flipped" && !namesLost(seen.refusal, seen.path, seen.lost)
      ? broken(`${what}, so that record ${seen.lost} is lost, and the venue says: ${seen.refusal}`)
      : holds
  }
}
