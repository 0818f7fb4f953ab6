/**
 * Safety (bounds). The inbox accepts a command exactly while there is room for its kind: a placement only while the room reserved for
 * reductions, cancels and the operator is untouched, anything else until it is full. Risk-reducing commands come first, but not before
 * earlier commands of their own account, and not for ever; within each queue the order is that of arrival. A command that ends a key, a
 * session or a ticket waits for no placement of anybody's. Computed here from the commands that went in and came out.
 */
import type { Command } from "../../src/operations/Operations.js"
import type { Bounds } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

interface Waiting {
  readonly command: Command
  /** Whether it waits in the queue of placements: it is one, or follows one of its account. */
  readonly behind: boolean
  /** Whether it ends a credential. */
  readonly ends: boolean
}

interface State {
  bounds: Bounds["inbox"]
  /** Commands that went in and have not come out, oldest first. */
  waiting: Array<Waiting>
  /** How many other commands were taken since one of the waiting placements was. */
  inARow: number
}

/** Most risk-reducing commands taken in a row while placements wait. */
const mostInARow = 15

/**
 * Whether a command waits with the placements: placements that may add risk, amendments, and commands other than trading, except those
 * that end a credential, request a transfer, pay a withdrawal, or report what the ledger has done.
 */
export const mayAddRisk = (command: Command): boolean => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.some((entry) => !entry.reduceOnly)
    case "AmendOrder":
    case "ArmConnection":
    case "SetDisplayHandle":
    case "SetLeverage":
    case "OpenOwnerAccount":
    case "AddPasskey":
    case "ProvePasskey":
    case "ApproveAgent":
    case "ExchangeGrant":
    case "NoteSecurity":
    case "NoteKeyUses":
    case "MintTicket":
    case "RotateTicket":
    case "SetFavorite":
    case "RegisterAffiliate":
    case "BindParty":
    case "NoteLedgerOffset":
      return true
    case "ApproveStep":
    case "PrepareStep":
    case "BeginSubmission":
      return command.step !== "treasury_withdrawal"
    default:
      return false
  }
}

/** Commands that end a key, a session or a ticket. */
export const ending: ReadonlySet<string> = new Set(["RevokeApiKey", "RevokeKeyByOperator", "EndSession", "EndTickets", "RemovePasskey"])

/** Why this command was out of turn; undefined where it was not. */
const outOfTurn = ({ inARow, waiting }: State, taken: Waiting): string | undefined => {
  const name = taken.command.kind
  const before = waiting.find((other) => other.behind === taken.behind)!
  if (before !== taken) return `a ${name} was taken before a ${before.command.kind} that had waited longer`
  const other = waiting.find(({ behind }) => behind !== taken.behind)
  if (other === undefined) return undefined
  const end = waiting.find(({ ends }) => ends)
  if (end !== undefined) return taken.behind ? `a ${name} was taken while a ${end.command.kind} waited` : undefined
  if (taken.behind) return inARow < mostInARow ? `a ${name} was taken while a ${other.command.kind} waited` : undefined
  return inARow < mostInARow ? undefined : `a ${name} was taken after ${inARow} others in a row, and a ${other.command.kind} waited`
}

export const inbox: Property<State> = {
  name: "inbox-takes-in-order-and-keeps-its-share",
  invariant: "bounds",
  kind: "safety",
  initial: () => ({ bounds: { capacity: 0, reserved: 0 }, waiting: [], inARow: 0 }),
  observe: (state, seen) => {
    if (seen._tag === "Started") {
      state.bounds = seen.bounds.inbox
      state.waiting = []
      state.inARow = 0
    }
    const { waiting } = state
    if (seen._tag === "Offered") {
      const { bounds: { capacity, reserved } } = state
      const { command } = seen
      const most = mayAddRisk(command) ? capacity - reserved : capacity
      if (seen.taken !== waiting.length < most) {
        return broken(`a ${command.kind} was ${seen.taken ? "taken in" : "refused"} while ${waiting.length} waited: ${most} may`)
      }
      const own = command.account >= 0 && waiting.some((other) => other.behind && other.command.account === command.account)
      const ends = ending.has(command.kind)
      if (seen.taken) waiting.push({ command, behind: !ends && (own || mayAddRisk(command)), ends })
    }
    if (seen._tag === "Taken") {
      // The writer makes the first marks of a market that is back by ticks of its own, and nothing else.
      if (!seen.waited) return seen.command.kind === "MarkTick" ? holds : broken(`the writer made a ${seen.command.kind} itself`)
      const taken = waiting.find(({ command }) => command === seen.command)
      if (taken === undefined) return broken(`a ${seen.command.kind} was decided that does not wait`)
      const why = outOfTurn(state, taken)
      if (why !== undefined) return broken(why)
      state.inARow = taken.behind || !waiting.some(({ behind }) => behind) ? 0 : state.inARow + 1
      waiting.splice(waiting.indexOf(taken), 1)
    }
    return holds
  }
}
