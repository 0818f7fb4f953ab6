/** Every route of the capability: what an account has, its orders among it. */
import { listOrders } from "../orders/listOrders.js"
import { listAccountLiquidations } from "../markets/listLiquidations.js"
import { getAffiliate, registerAffiliate } from "./affiliate.js"
import { cancelAutoClose, cancelTriggers, getAutoClose, listTriggers, setAutoClose } from "./autoClose.js"
import { addFavorite, removeFavorite } from "./favorites.js"
import { getBalance, getCompatBalance } from "./getBalance.js"
import { getLeverage, setLeverage } from "./leverage.js"
import { listCompatOwnTrades, listFills } from "./listFills.js"
import { listLedger } from "./listLedger.js"
import { listChanges } from "./listChanges.js"
import { listFundingPayments } from "./listFundingPayments.js"
import { listCompatPositions, listPositions } from "./listPositions.js"
import { listPositionHistory } from "./listPositionHistory.js"
import { previewMargin } from "./previewMargin.js"
import { getProfile, setProfile } from "./profile.js"

/** The routes, in the order in which the reference lists those of one chapter. */
export const routes = [
  getBalance,
  listPositions,
  listPositionHistory,
  listOrders,
  listFills,
  listChanges,
  listAccountLiquidations,
  listFundingPayments,
  listLedger,
  getProfile,
  setProfile,
  addFavorite,
  removeFavorite,
  registerAffiliate,
  getAffiliate,
  getLeverage,
  setLeverage,
  previewMargin,
  getAutoClose,
  setAutoClose,
  cancelAutoClose,
  listTriggers,
  cancelTriggers,
  listCompatOwnTrades,
  listCompatPositions,
  getCompatBalance
] as const
