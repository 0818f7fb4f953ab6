/** The account that a path of the contract's own routes names, which must be the caller's: foreign and unknown ones are answered alike. */
import type * as Effect from "effect/Effect"
import { Refusal } from "../../domain/Refusal.js"
import type { Reads, Trader } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

export const withOwnAccount = <A>(
  state: Reads,
  { account }: Trader,
  accountId: string,
  then: (account: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  state.accountId(account) === accountId ? then(account) : fail(Errors.refused(Refusal.keyAccountMismatch))
