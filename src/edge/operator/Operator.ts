/** Every route of the capability: journaled, idempotent by `Idempotency-Key`, hidden without an operator token. */
import { cancelByOperator } from "./cancelByOperator.js"
import { haltEngine, resumeEngine } from "./haltEngine.js"
import { openDemoAccounts } from "./openDemoAccounts.js"
import { putMarket } from "./putMarket.js"
import { setIndexPrice } from "./setIndexPrice.js"
import { setMarketStatus } from "./setMarketStatus.js"

/** The routes, in the order in which the reference lists them. */
export const routes = [putMarket, setMarketStatus, setIndexPrice, cancelByOperator, haltEngine, resumeEngine, openDemoAccounts] as const
