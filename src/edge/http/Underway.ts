/** The call that an Effect is answering, so that code which submits commands for it can report their outcomes to it. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import type { Call } from "./Call.js"
import type * as Errors from "./Errors.js"
import type { NextSlice, Slices } from "./Slices.js"

/** Undefined where no call is answered. */
export const call: FiberRef.FiberRef<Call | undefined> = FiberRef.unsafeMake<Call | undefined>(undefined)

/** Carries out a long read of an account for the call that is being answered: it ends where that call's client has gone. */
export const inTurns = <A>(
  slices: Slices,
  account: number,
  body: (nextSlice: NextSlice) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  Effect.flatMap(FiberRef.get(call), (underway) => slices.read(account, underway?.request.whenGone, body))
