/** The development ledger's store: snapshots of the state now and then, and every input since the last, in order. */
import type { Input, Kept } from "./State.js"

/** Synchronous: an input is stored before it changes anything, and before anybody learns of it. */
export interface Store {
  /** The stored state with which a ledger starts. */
  readonly recover: () => { readonly kept: Kept | undefined; readonly inputs: ReadonlyArray<Input> }
  /** Stores an input durably. Throws where it cannot; then nothing of it is stored. */
  readonly append: (input: Input) => void
  /** Stores a snapshot, which replaces the inputs that led to it. */
  readonly replace: (kept: Kept) => void
}

/** Stores text in memory, so that what is read back is the same as from a disk. */
export const inMemory = (): Store => {
  let kept: string | undefined
  let inputs: Array<string> = []
  return {
    recover: () => ({
      kept: kept === undefined ? undefined : JSON.parse(kept) as Kept,
      inputs: inputs.map((input) => JSON.parse(input) as Input)
    }),
    append: (input) => {
      inputs.push(JSON.stringify(input))
    },
    replace: (state) => {
      kept = JSON.stringify(state)
      inputs = []
    }
  }
}
