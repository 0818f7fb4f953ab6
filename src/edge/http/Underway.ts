/** The call that an Effect is answering, so that whatever submits commands on its behalf can tell it what they came to. */
import * as FiberRef from "effect/FiberRef"
import type { Call } from "./Call.js"

/** Undefined where no call is answered. */
export const call: FiberRef.FiberRef<Call | undefined> = FiberRef.unsafeMake<Call | undefined>(undefined)
