/** Every route of the capability: health, metrics, the reference and the clock. All but the clock are served before the venue is ready. */
import { getMetrics } from "./getMetrics.js"
import { getHealth, getReadiness } from "./getReadiness.js"
import { getDocs, getOpenApi } from "./getReference.js"
import { getCompatTime } from "./getTime.js"

/** The routes, in the order in which the reference lists those of one chapter. */
export const routes = [getCompatTime, getHealth, getReadiness, getMetrics, getOpenApi, getDocs] as const
