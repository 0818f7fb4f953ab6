/** How a passkey is removed, so that the signer always takes approvals by one of those that are left. */
import * as Effect from "effect/Effect"
import type { Command } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Submission from "../http/Submission.js"

/**
 * Whether the signer may have made a key of an account, and pinned its passkeys: it does so for the first deposit, some time before the
 * account has its party.
 */
const mayHaveKey = (state: Services["state"], account: number): boolean =>
  state.party(account) !== undefined || state.transfersOf(account, "deposit", Number.POSITIVE_INFINITY, 1).length > 0
  || state.forgottenTransfers(account).knownFrom > 0

/**
 * Fails where the signer would take approvals by none of the passkeys that are left: the account's money could not be moved any more.
 * Those whose removal is under way are not counted among them, and this one is noted as such in the same step.
 */
export const withAnotherPinned = (
  { funds, state }: Services,
  account: number,
  credentialId: string
): Effect.Effect<void, Errors.Failure> => {
  // A deposit that is asked for from here on is decided behind the removal.
  if (!mayHaveKey(state, account)) return Effect.void
  return Effect.flatMap(
    Effect.mapError(funds.accountKeys(state.accountId(account)), () => Errors.ledgerUnavailable),
    (keys) => {
      if (funds.pinning.isUnderWay(account, keys !== undefined)) return fail(Errors.ledgerUnavailable)
      const gone = funds.pinning.removals(account)
      // A removal that is under way may still be refused: then these are left, and the engine keeps none back as the last one.
      const others = state.passkeys(account).filter((each) => each.credentialId !== credentialId)
      const left = others.filter((each) => !gone.includes(each.credentialId))
      const isLeft = keys === undefined || left.some((each) => keys.credentialIds.includes(each.credentialId))
      if (!isLeft && others.length > 0) return fail(Errors.lastPinnedPasskey)
      funds.pinning.beginRemoval(account, credentialId)
      return Effect.void
    }
  )
}

/** Submits a removal, which is over once it is decided: also where nobody waits for that any more. */
export const removed = (services: Services, account: number, credentialId: string, removal: Command): Effect.Effect<void, Errors.Failure> =>
  Effect.suspend(() => {
    const end = (): void => services.funds.pinning.endRemoval(account, credentialId)
    let isSent = false
    const submit: Services["submit"] = (command, answer, ticket) => {
      isSent = true
      services.submit(command, (outcome) => {
        end()
        answer(outcome)
      }, ticket)
    }
    return Effect.ensuring(
      Submission.submitted({ ...services, submit }, removal),
      Effect.sync(() => {
        if (!isSent) end()
      })
    )
  })
