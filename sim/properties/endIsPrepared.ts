/**
 * Safety (I8). Nothing is written after the journal's end as a process found it before zeros are, over the range that blocks in progress
 * at once may have covered: even where none of them is visible, since they may still come to light. And the file that was prepared for the
 * next segment is there after any crash, under the name that it has until the segment is begun.
 */
import { broken, holds, type Property } from "./Property.js"

/** Most blocks in progress at once. */
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
