/** Every route of the capability: public market data. */
import { getBook, getCompatBook } from "./getBook.js"
import { getMarket, listCompatMarkets, listMarkets } from "./getMarket.js"
import { getCandles, getCompatCandles } from "./getCandles.js"
import { getCompatStats, getCompatTicker, getStats } from "./getStats.js"
import { getLeaderboard } from "./getLeaderboard.js"
import { getInsuranceFund } from "./getInsuranceFund.js"
import { listDeleveragings } from "./listDeleveragings.js"
import { listLiquidations } from "./listLiquidations.js"
import { listFundings } from "./listFundings.js"
import { listMarks } from "./listMarks.js"
import { listCompatTrades, listTrades } from "./listTrades.js"

/** The routes, in the order in which the reference lists those of one chapter. */
export const routes = [
  listMarkets,
  getMarket,
  getBook,
  listTrades,
  getStats,
  getCandles,
  listFundings,
  listMarks,
  listLiquidations,
  listDeleveragings,
  getInsuranceFund,
  getLeaderboard,
  listCompatMarkets,
  getCompatBook,
  getCompatCandles,
  listCompatTrades,
  getCompatStats,
  getCompatTicker
] as const
