/** How others may see an account: `GET` and `PUT /v1/accounts/{accountId}/profile`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { handleOf, isChosen } from "../../operations/accounts/SetDisplayHandle.js"
import { Principal } from "../../operations/Header.js"
import { Operation, type Outcome } from "../../operations/Operations.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { quote } from "../http/Json.js"
import * as Route from "../http/Route.js"
import { feeds, plain, shape, text } from "../http/Shapes.js"
import * as Submission from "../http/Submission.js"
import { withAccount } from "./Own.js"

const ProfileBody = Schema.Struct({
  displayHandle: Schema.String.pipe(
    Schema.filter(isChosen, { jsonSchema: { minLength: 3, maxLength: 20, pattern: "^[A-Za-z0-9_-]{3,20}$" } })
  ).annotations({
    description:
      "3 to 20 of A-Z a-z 0-9 _ -. The venue adds a suffix, so that no two accounts are called the same. Everybody may see it, and "
      + "it can be changed but not removed: so it is the owner's to choose, and an API key may do it only for an account that has no "
      + "passkey, like a demo account (otherwise 403 `passkey_required`)."
  })
}).annotations({ identifier: "ProfileBody" })
type ProfileBody = typeof ProfileBody.Type

const profileShape = shape({
  displayHandle: text((value) => typeof value === "string" && isChosen(value) ? undefined : "must be 3 to 20 of A-Z a-z 0-9 _ -")
})

const Handle = Schema.String.annotations({ description: "A pseudonym: what the account chose, a dot, and the venue's suffix." })

const Profile = Schema.Struct({
  version: Schema.Literal("external-account-profile/v1"),
  accountId: Fields.Text,
  displayHandle: Schema.NullOr(Handle).annotations({ description: "Null until one is set." }),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "AccountProfile" })

/** What was set, under the request's own key. */
const ProfileResult = Schema.Struct({
  version: Schema.Literal("external-account-profile-set/v1"),
  accountId: Fields.Text,
  displayHandle: Handle,
  lastSequence: Fields.Sequence,
  idempotencyKey: Schema.String,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "AccountProfileResult" })

const target = `/v1/accounts/${Example.accountId}/profile`

export const getProfile = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getProfile", "/v1/accounts/:accountId/profile")
    .setPath(Fields.AccountPath)
    .addSuccess(Profile)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "How others may see the account"),
  example: { target },
  handler: ({ state }) => ({ trader, path: { accountId } }) =>
    withAccount(state, trader, accountId, (account) => {
      const { displayHandle } = state.account(account)
      return Effect.succeed({
        version: "external-account-profile/v1" as const,
        accountId,
        displayHandle: displayHandle === "" ? null : displayHandle,
        journalSequence: state.sequence
      })
    })
})

export const setProfile = Route.hot({
  tag: "accounts",
  access: "trade",
  budget: "key",
  endpoint: HttpApiEndpoint.put("setProfile", "/v1/accounts/:accountId/profile")
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(ProfileBody)
    .addSuccess(ProfileResult)
    .addError(Failures.native(Failures.command, 404, "Owners"))
    .annotate(
      OpenApi.Summary,
      "Choose the name by which others may see the account; where it has a passkey, with the owner's session alone"
    ),
  example: { target, body: { displayHandle: "patient_maker" } },
  decode: (body) => plain<ProfileBody>(body, profileShape),
  feed: feeds(profileShape),
  run: (call, admitted) => {
    const { accountId, body: { displayHandle: chosen }, idempotencyKey, trader } = admitted
    if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
    const answer = (outcome: Outcome): void =>
      call.succeed(
        `{"version":"external-account-profile-set/v1","accountId":"${accountId}"`
          + `,"displayHandle":"${handleOf(chosen, outcome.sequence)}","lastSequence":${outcome.sequence}`
          + `,"idempotencyKey":${quote(idempotencyKey)},"decidedAtEpochMs":${outcome.atEpochMs}}`
      )
    // An agent that trades could make its owner's name public, for good.
    if (trader.principal === Principal.key && call.services.state.passkeys(trader.account).length > 0) {
      return Submission.failUndecided(call, admitted, Operation.setDisplayHandleV1, Errors.passkeyRequired, answer)
    }
    Submission.submit(call, admitted, { kind: "SetDisplayHandle", operation: Operation.setDisplayHandleV1, chosen }, answer)
  }
})
