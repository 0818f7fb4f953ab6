/**
 * Safety. Whenever the venue accepts requests, every market of its markets file exists and has been opened, except one that an operator
 * put, and over the whole journal each is put and opened exactly once, wherever starts were cut off. A market that has been open, or that
 * an operator put, is an operator's: no start changes it.
 */
import type { Command } from "../../src/operations/Operations.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Listed {
  readonly marketId: string
  /** Whether a start put it. */
  readonly isOfFile: boolean
  /** Whether it has ever been open. */
  opened: boolean
}

interface State {
  /** The present process's markets file. */
  file: ReadonlyArray<string>
  /** In the order in which they were put, which is that of their indexes. */
  readonly markets: Array<Listed>
}

/** A start's commands differ from an operator's by their keys. */
const isOfStart = (key: string): boolean => key.startsWith("bootstrap/")

/** Notes an accepted command. */
const fold = (state: State, command: Command): Verdict => {
  if (command.kind === "PutMarket") {
    const { marketId } = command.parameters
    const known = state.markets.find((market) => market.marketId === marketId)
    if (known === undefined) state.markets.push({ marketId, isOfFile: isOfStart(command.idempotencyKey), opened: false })
    // Putting a market again only changes its parameters, for an operator.
    else if (isOfStart(command.idempotencyKey)) return broken(`a start put ${marketId} again`)
    return holds
  }
  if (command.kind !== "SetMarketStatus") return holds
  const market = state.markets[command.market]
  if (market === undefined) return broken(`market ${command.market} moved to ${command.status} and was never put`)
  if (market.opened && isOfStart(command.idempotencyKey))
    return broken(`a start moved ${market.marketId} to ${command.status}, which had been open`)
  if (!market.isOfFile && isOfStart(command.idempotencyKey))
    return broken(`a start moved ${market.marketId} to ${command.status}, which an operator had put`)
  if (command.status === "open") market.opened = true
  return holds
}

const whole = ({ file, markets }: State): Verdict => {
  for (const marketId of file) {
    const market = markets.find((each) => each.marketId === marketId)
    if (market === undefined) return broken(`the venue takes requests and has no market ${marketId}`)
    if (market.isOfFile && !market.opened) return broken(`the venue takes requests and ${marketId} was never opened`)
  }
  return holds
}

export const marketsOfTheFile: Property<State> = {
  name: "markets-of-the-file-are-opened-once",
  invariant: "bootstrap",
  kind: "safety",
  initial: () => ({ file: [], markets: [] }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.file = seen.markets
        return holds
      case "Committed":
        return seen.decision.outcomes.every((outcome) => outcome.refusal === Refusal.none) ? fold(state, seen.record.command) : holds
      case "Ready":
        return whole(state)
      default:
        return holds
    }
  }
}
