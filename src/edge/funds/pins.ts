/**
 * The passkeys whose approvals the signer accepts: `POST /v1/accounts/{accountId}/ledger-party/passkeys`. The signer pins an
 * account's passkeys when it creates the account's first key, and changes them only on an approval by a pinned one, one change at a
 * time.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import type { Question } from "../../funds/Approvals.js"
import type { PinsQuestion } from "../../funds/Funds.js"
import { approvedBefore, counterOf } from "../../funds/Unsigned.js"
import { pinsChallenge } from "../../signer/Approval.js"
import { type AccountKeys, type Assertion, mostPasskeys } from "../../signer/Requests.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Factor from "./Factor.js"

const Body = Schema.Union(
  Schema.Struct({ action: Schema.Literal("initiate") }).annotations({ identifier: "PinsInitiation" }),
  Schema.Struct({ action: Schema.Literal("complete"), challengeIdentifier: Fields.Name, firstFactor: Factor.FirstFactor }).annotations({
    identifier: "PinsCompletion"
  })
).annotations({ identifier: "PinsBody" })

const Pins = Schema.Struct({
  version: Schema.Literal("external-ledger-party-passkeys/v1"),
  accountId: Fields.Text,
  status: Schema.Literal("current", "approval_required").annotations({
    description: "`current`: the passkeys that approve on the ledger are the account's."
  }),
  change: Fields.optional(Schema.Literal("add", "remove")),
  credentialId: Fields.optional(Fields.Text).annotations({ description: "The passkey that is to be added or removed." }),
  challenge: Fields.optional(Factor.Challenge)
}).annotations({ identifier: "LedgerPartyPasskeys" })

/**
 * The next change that brings the pinned passkeys closer to the account's; undefined where they are the same. Missing ones are
 * added first, so that there is one more to approve with; where no more can be pinned, a superfluous one is removed first.
 */
const dueOf = ({ state }: Services, account: number, { accountId, credentialIds, revision }: AccountKeys): PinsQuestion | undefined => {
  const own = state.passkeys(account)
  const missing = own.find(({ credentialId }) => !credentialIds.includes(credentialId))
  const left = credentialIds.find((each) => own.every(({ credentialId }) => credentialId !== each))
  if (missing !== undefined && (left === undefined || credentialIds.length < mostPasskeys)) {
    const { credentialId, publicKey } = missing
    return { accountId, change: "add", passkey: { credentialId, publicKey }, revision }
  }
  // For a removal the signer only looks at the id; the venue no longer has the public key.
  return left === undefined ? undefined : { accountId, change: "remove", passkey: { credentialId: left, publicKey: "none" }, revision }
}

const withKeys = <A>(
  { funds, state }: Services,
  account: number,
  then: (keys: AccountKeys) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  Effect.flatMap(
    Effect.mapError(funds.accountKeys(state.accountId(account)), () => Errors.ledgerUnavailable),
    (keys) => keys === undefined ? fail(Errors.refused(Refusal.partyMissing)) : then(keys)
  )

/**
 * Whether a passkey has approved, with a lower counter than the given one, a transfer whose signature has not been requested yet.
 * The signer refuses counters that go backwards: if the pins were changed first, it would refuse that transfer for good. The
 * condition ends when the transfer is signed or its transaction has expired.
 */
const isBehind = ({ now, state }: Services, account: number, credentialId: string, counter: number): boolean =>
  approvedBefore(state, account, credentialId, counter, now()).length > 0

/**
 * Whether a passkey that has not answered yet will have approved such a transfer with a lower counter. A passkey that does not count always
 * reports 0 and is never behind.
 */
const willBeBehind = ({ now, state }: Services, account: number, credentialId: string): boolean =>
  approvedBefore(state, account, credentialId, Infinity, now()).some(({ stepAtHand }) =>
    counterOf(stepAtHand?.approval?.authenticatorData ?? "") > 0
  )

/**
 * Whether a change removes a passkey that has approved a transfer whose signature has not been requested yet. Without the pin the
 * approval would be worth nothing, whether the passkey counts or not.
 */
const removesUnseen = (services: Services, account: number, { change, passkey }: PinsQuestion): boolean =>
  change === "remove" && isBehind(services, account, passkey.credentialId, Infinity)

/** The change that is due, as a challenge to a pinned passkey; `isFirst`: not directly after another change. */
const due = (services: Services, account: number, isFirst: boolean): Effect.Effect<typeof Pins.Type, Errors.Failure> =>
  withKeys<typeof Pins.Type>(services, account, (keys) => {
    const { accountId } = keys
    const asked = dueOf(services, account, keys)
    if (asked === undefined)
      return Effect.succeed({ version: "external-ledger-party-passkeys/v1" as const, accountId, status: "current" as const })
    const isTooEarly = removesUnseen(services, account, asked) || keys.credentialIds.some((each) => willBeBehind(services, account, each))
    if (isFirst && isTooEarly) return fail(Errors.approvalFirst)
    const { change, passkey: { credentialId }, revision } = asked
    const question = services.funds.pins.ask(
      account,
      `${accountId}/${revision}/${change}/${credentialId}`,
      asked,
      (nonce) => pinsChallenge({ ...asked, nonce }),
      services.now()
    )
    if (question === undefined) return fail(Errors.identityBusy)
    return Effect.succeed({
      version: "external-ledger-party-passkeys/v1" as const,
      accountId,
      status: "approval_required" as const,
      change,
      credentialId,
      challenge: Factor.asked(services, question, keys.credentialIds)
    })
  })

/**
 * Has the signer make a change. It alone verifies the assertion, since the pinned passkey may be one that the account no longer
 * has.
 */
const repin = (
  { funds }: Services,
  { about, nonce }: Question<PinsQuestion>,
  assertion: Assertion
): Effect.Effect<void, Errors.Failure> =>
  Effect.mapError(
    funds.repin({ ...about, approval: { nonce, assertion } }),
    (error) =>
      error._tag === "SignerRefused"
        ? Errors.assertionInvalid("The signer does not take it for an approval of this change.")
        : Errors.ledgerUnavailable
  )

export const pinPasskeys = Route.effect({
  tag: "funds",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("pinPasskeys", "/v1/accounts/:accountId/ledger-party/passkeys")
    .setPath(Fields.AccountPath)
    .setPayload(Body)
    .addSuccess(Pins)
    .addError(Failures.native(Failures.ownedWithBody, 404, "Passkeys", "Steps"))
    .annotate(OpenApi.Summary,
      "Have the passkeys that approve on the ledger follow those of the account, one approval by one that does already each"),
  example: { target: `/v1/accounts/${Example.accountId}/ledger-party/passkeys`, body: { action: "initiate" } },
  handler: (services) => ({ path: { accountId }, payload, trader }) =>
    withAccount(services.state, trader, accountId, (account) =>
      Effect.gen(function*() {
        if (payload.action === "initiate") return yield* due(services, account, true)
        const { authenticatorData, clientData: clientDataJSON, credId: credentialId, signature } = payload.firstFactor.credentialAssertion
        // Checked before the challenge is consumed, so that the same answer can be given again.
        const about = services.funds.pins.about(payload.challengeIdentifier)
        const isTooEarly = isBehind(services, account, credentialId, counterOf(authenticatorData))
          || (about?.accountId === accountId && removesUnseen(services, account, about))
        if (isTooEarly) return yield* fail(Errors.approvalFirst)
        const answer = { challengeIdentifier: payload.challengeIdentifier, by: `${accountId}/${credentialId}/${clientDataJSON}` }
        const assertion = { credentialId, clientDataJSON, authenticatorData, signature }
        // A repetition sent before the first answer was decided gets the same result.
        yield* services.funds.pins.answered(answer, services.now(), (question) =>
          question.about.accountId === accountId ? repin(services, question, assertion) : fail(Factor.over), (isAccepted) =>
          isAccepted ? Effect.void : fail(Factor.over), () => false)
        return yield* due(services, account, false)
      }))
})
