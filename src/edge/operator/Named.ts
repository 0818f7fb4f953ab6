/** The account that an operator's request names: any but the venue's own. */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import type { Reads } from "../../engine/Reads.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

export const accountNamed = (state: Reads, accountId: string): Effect.Effect<number, Errors.Failure> =>
  Effect.suspend(() => {
    const account = accountId === Ids.insuranceFundId ? -1 : state.findAccount(accountId)
    return account < 0 ? fail(Errors.accountUnknown) : Effect.succeed(account)
  })
