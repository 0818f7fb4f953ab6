/** Parameters of markets in the events of the feed: put by a command, or announced and put into effect later. */
import type { Parameters } from "../../src/domain/Market.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import type { Command } from "../../src/operations/Operations.js"

/** Announced parameters, by market. */
export type Announced = Map<number, Parameters>

/** The parameters that a market has from an event on; undefined where the event changes none. */
export const parametersFrom = (announced: Announced, command: Command, event: DecodedEvent): Parameters | undefined => {
  switch (event.event) {
    case "MarketPut":
      return command.kind === "PutMarket" ? command.parameters : undefined
    case "MarketAnnounced":
      if (event.effectiveAtEpochMs === 0 || command.kind !== "PutMarket") announced.delete(event.market)
      else announced.set(event.market, command.parameters)
      return undefined
    case "MarketTookEffect": {
      const parameters = announced.get(event.market)
      announced.delete(event.market)
      return parameters
    }
    default:
      return undefined
  }
}
