/**
 * Safety (I8). Whatever was reported to a client is in the journal by then and stays there through every crash; nothing that was durable
 * is ever missing or different when the process is back.
 */
import { broken, holds, type Property } from "./Property.js"

interface State {
  /** The last durable record observed. */
  durable: number
  /** The highest record that was reported to any client. */
  told: number
}

export const durability: Property<State> = {
  name: "acknowledged-is-durable",
  invariant: "I8",
  kind: "safety",
  initial: () => ({ durable: 0, told: 0 }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.durable = seen.record.sequence
        return holds
      case "Answered": {
        const { answer, call, memory } = seen
        if (call.scope === undefined || call.endpoint === "" || answer.status !== 200) return holds
        if (memory === undefined)
          return broken(`${call.endpoint} with key ${call.idempotencyKey} was accepted and no record of it is durable`)
        if (memory.sequence > state.told) state.told = memory.sequence
        return holds
      }
      case "Ready":
        if (seen.sequence < state.durable) {
          return broken(`after a restart the venue stands at ${seen.sequence}, ${state.durable} was durable, ${state.told} was told`)
        }
        return holds
      default:
        return holds
    }
  }
}
