/** What the development ledger keeps: a whole state now and then, and every input since, in their order. */
import type { Input, Kept } from "./State.js"

/** Synchronous: an input is kept before it changes anything, and before anybody hears of it. */
export interface Store {
  /** What was kept: what a ledger begins with. */
  readonly recover: () => { readonly kept: Kept | undefined; readonly inputs: ReadonlyArray<Input> }
  /** Keeps an input for good. Throws where it cannot; then nothing is kept of it. */
  readonly append: (input: Input) => void
  /** Keeps a whole state in place of the inputs that came to it. */
  readonly replace: (kept: Kept) => void
}

/** Keeps in memory, as text: what comes back from it is what would come back from a disk. */
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
