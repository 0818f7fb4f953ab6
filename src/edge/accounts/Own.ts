/** The account in a path, which must be the caller's own. Other accounts and unknown ones get the same answer. */
import type * as Effect from "effect/Effect"
import { Refusal } from "../../domain/Refusal.js"
import type { Reads, Trader } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

/** Continues with the caller's account, or fails with the given answer for any other. */
const unless = (foreign: Errors.Failure) =>
<A>(
  state: Reads,
  { account }: Trader,
  accountId: string,
  then: (account: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => state.accountId(account) === accountId ? then(account) : fail(foreign)

/** On routes that the venue has added to the contract: `account_not_found`. */
export const withAccount = unless(Errors.accountNotFound)

/** On the contract's own routes: `invalid_request`. */
export const withContractAccount = unless(Errors.refused(Refusal.keyAccountMismatch))
