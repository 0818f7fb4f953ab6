/** Markets: parameters, status, prices and 24 h figures. Their books are rebuilt from the orders. */
import * as Market from "../../domain/Market.js"
import * as FundingLog from "../FundingLog.js"
import * as MarkLog from "../MarkLog.js"
import { type MarketDump, MarketState } from "../Markets.js"
import { Minutes } from "../Minutes.js"
import type { Part } from "../Part.js"
import type { State } from "../State.js"
import * as Announced from "./Announced.js"
import * as Delisting from "./Delisting.js"
import * as Sessions from "./Sessions.js"

/** A delisted market is halted at its final price; one that is settled has nothing left. */
const firstBroken = ({ books, markets }: State): string | undefined => {
  for (const { delisting, index, isDelisted, mark, openInterest, status } of markets) {
    if (delisting === null || !isDelisted) continue
    if (status !== "halted" || mark !== delisting.finalPriceAtoms) return `delisted market ${index} is ${status} at mark ${mark}`
    if (delisting.state === "settled" && (openInterest !== 0 || books[index]!.orderCount !== 0)) {
      return `settled market ${index} has ${openInterest} open`
    }
  }
  return undefined
}

export const part: Part = {
  encode: (state, into) => {
    into.json("markets.values", state.markets.map((market) => market.dump()))
    for (const market of state.markets) {
      into.column(`markets.minutes.${market.index}`, market.minutes.dump())
      market.fundings.encode(`markets.fundings.${market.index}`, into)
      market.marks.encode(`markets.marks.${market.index}`, into)
    }
  },
  restore: (state, from) => {
    for (const dump of from.json("markets.values") as ReadonlyArray<MarketDump>) {
      const index = state.markets.length
      const minutes = Minutes.restore(from.floats(`markets.minutes.${index}`))
      const fundings = FundingLog.make(state.capacity.fundingsKept).restore(from.floats(`markets.fundings.${index}`))
      const marks = MarkLog.make(state.capacity.marksKept).restore(from.floats(`markets.marks.${index}`))
      const market = MarketState.restore(index, dump, minutes, fundings, marks)
      state.markets.push(market)
      state.marketById.set(dump.parameters.marketId, index)
      state.marketBySymbol.set(Market.symbol(dump.parameters), index)
    }
    for (const market of state.markets) Sessions.schedule(state, market)
    if (state.markets.some(({ awaitsMark }) => awaitsMark)) state.unawaitedAtEpochMs = 0
    Announced.queue(state)
    Delisting.queue(state)
  },
  canonical: (state, feed) => {
    for (const market of state.markets) {
      // `awaitsMark` is left out: it lasts only until the next tick, its effect is covered by the digests of what is decided
      // meanwhile, and digests made before it was stored do not contain it.
      feed(`market ${JSON.stringify({ ...market.dump(), awaitsMark: undefined })} ${market.minutes.dump().join(" ")}`)
      feed(`fundings ${market.index} ${market.fundings.dump().join(" ")}`)
      feed(`marks ${market.index} ${market.marks.dump().join(" ")}`)
    }
  },
  firstBroken
}
