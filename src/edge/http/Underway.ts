/** The call that an Effect is answering, so that code which submits commands for it can report their outcomes to it. */
import * as FiberRef from "effect/FiberRef"
import type { Call } from "./Call.js"

/** Undefined where no call is answered. */
export const call: FiberRef.FiberRef<Call | undefined> = FiberRef.unsafeMake<Call | undefined>(undefined)
