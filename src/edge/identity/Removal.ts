/** Removal of a passkey in such a way that the signer keeps accepting approvals by one of the remaining ones. */
import * as Effect from "effect/Effect"
import type { Command } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Submission from "../http/Submission.js"

/**
 * Whether the signer may have created a key for an account and pinned its passkeys: it does so for the first deposit, some time
 * before the account has its party.
 */
const mayHaveKey = (state: Services["state"], account: number): boolean =>
  state.party(account) !== undefined || state.transfersOf(account, "deposit", Number.POSITIVE_INFINITY, 1).length > 0
  || state.forgottenTransfers(account).knownFrom > 0

/**
 * Fails where the signer would accept no remaining passkey, so that the account's money could never be moved again. Passkeys that
 * are being removed are not counted as remaining, and this one is marked as such in the same step.
 */
export const withAnotherPinned = (
  { funds, state }: Services,
  account: number,
  credentialId: string
): Effect.Effect<void, Errors.Failure> => {
  // A deposit requested from here on is decided after the removal.
  if (!mayHaveKey(state, account)) return Effect.void
  return Effect.flatMap(
    Effect.mapError(funds.accountKeys(state.accountId(account)), () => Errors.ledgerUnavailable),
    (keys) => {
      if (funds.pinning.isUnderWay(account, keys !== undefined)) return fail(Errors.ledgerUnavailable)
      const gone = funds.pinning.removals(account)
      // A removal in progress may still be refused: its passkey then remains, and the engine does not keep this one as the last.
      const others = state.passkeys(account).filter((each) => each.credentialId !== credentialId)
      const left = others.filter((each) => !gone.includes(each.credentialId))
      const isLeft = keys === undefined || left.some((each) => keys.credentialIds.includes(each.credentialId))
      if (!isLeft && others.length > 0) return fail(Errors.lastPinnedPasskey)
      funds.pinning.beginRemoval(account, credentialId)
      return Effect.void
    }
  )
}

/** Submits a removal, which is complete once it is decided, even if no caller waits for it any more. */
export const removed = (services: Services, account: number, credentialId: string, removal: Command): Effect.Effect<void, Errors.Failure> =>
  Effect.suspend(() => {
    const end = (): void => services.funds.pinning.endRemoval(account, credentialId)
    let isSent = false
    const submit: Services["submit"] = (command, answer, ticket) => {
      isSent = true
      services.submit(command, (outcome) => {
        // Whoever asked is answered whatever becomes of it.
        try {
          end()
        } finally {
          answer(outcome)
        }
      }, ticket)
    }
    return Effect.ensuring(
      Submission.submitted({ ...services, submit }, removal),
      Effect.sync(() => {
        if (!isSent) end()
      })
    )
  })
