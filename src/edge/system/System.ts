/**
 * Every route of the capability: limits, health, metrics, the reference and the clock. All but limits and clock are served before
 * the venue is ready.
 */
import { getLimits } from "./getLimits.js"
import { getMetrics } from "./getMetrics.js"
import { getHealth, getReadiness } from "./getReadiness.js"
import { getDocs, getDocsPage, getOpenApi } from "./getReference.js"
import { getCompatTime } from "./getTime.js"

/** The routes, in the order in which the reference lists those of one chapter. */
export const routes = [getLimits, getCompatTime, getHealth, getReadiness, getMetrics, getOpenApi, getDocs, getDocsPage] as const
