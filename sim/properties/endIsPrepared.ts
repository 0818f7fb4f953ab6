/**
 * Safety (I8). Nothing is written behind what a process found of the journal before zeros were, over as much as the blocks that were
 * under way at once may have left: also where nothing of them is to be seen, since it may yet come to light. And what found room
 * for the next segment is there after any crash, under the name that it has until it is begun.
 */
import { broken, holds, type Property } from "./Property.js"

/** Blocks that are under way at once, at most. */
const mostUnderWay = 4

interface State {
  maxBlockBytes: number
}

export const endIsPrepared: Property<State> = {
  name: "what-lies-behind-the-journals-end-is-prepared",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ maxBlockBytes: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.maxBlockBytes = seen.bounds.maxBlockBytes
    if (seen._tag === "WentOn") {
      const { path, position, segmentEnd, zeroedTo } = seen
      const due = Math.min(position + mostUnderWay * state.maxBlockBytes, segmentEnd)
      return zeroedTo >= due ? holds : broken(`a block is written at ${position} of ${path}, and zeros were up to ${zeroedTo}, not ${due}`)
    }
    if (seen._tag !== "SegmentNamed" || seen.durableBytes === seen.bytes) return holds
    return broken(`of a segment of ${seen.bytes} bytes that had found room ${seen.durableBytes} would be there after a crash`)
  }
}
