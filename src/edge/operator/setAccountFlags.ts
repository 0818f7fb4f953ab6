/** `PUT /v1/operator/accounts/{accountId}/flags`: what an operator says of an account, and whether it may trade. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { flagBit, type FlagName, flagNames } from "../../operations/accounts/SetAccountFlags.js"
import { Operation } from "../../operations/Operations.js"
import * as Example from "../http/Example.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { accountNamed } from "./Named.js"
import { command } from "./Sent.js"

const FlagsBody = Schema.Struct({
  bot: Fields.optional(Schema.Boolean),
  load_harness: Fields.optional(Schema.Boolean),
  disabled: Fields.optional(Schema.Boolean).annotations({
    description: "A disabled account places nothing but what is reduce-only. What it has open stays, and it may cancel."
  })
}).annotations({ identifier: "AccountFlagsBody", description: "Flags that are left out stay as they are." })

export const AccountFlags = Schema.Struct({
  version: Schema.Literal("account-flags/v1"),
  accountId: Fields.Text,
  flags: Schema.Struct({ bot: Schema.Boolean, load_harness: Schema.Boolean, disabled: Schema.Boolean }),
  mayTrade: Schema.Boolean.annotations({
    description: "Whether it may place what is not reduce-only: it is not disabled, and has been credited."
  }),
  idempotencyKey: Schema.String,
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "AccountFlags" })

/** The bits of the flags that the body sets to the given value. */
const bitsOf = (told: typeof FlagsBody.Type, so: boolean): number =>
  flagNames.reduce((bits, name) => told[name] === so ? bits | flagBit(name) : bits, 0)

const isSet = (bits: number, name: FlagName): boolean => (bits & flagBit(name)) !== 0

export const setAccountFlags = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.put("setAccountFlags", "/v1/operator/accounts/:accountId/flags")
    .setPath(Fields.AccountPath)
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(FlagsBody)
    .addSuccess(AccountFlags)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Set and clear an account's flags"),
  example: { target: `/v1/operator/accounts/${Example.accountId}/flags`, body: { disabled: true } },
  handler: (services) => ({ headers, path: { accountId }, payload }) =>
    Effect.gen(function*() {
      const ofAccount = yield* accountNamed(services.state, accountId)
      const values = { ofAccount, set: bitsOf(payload, true), clear: bitsOf(payload, false), tellsOwner: true }
      const setting = command("SetAccountFlags", Operation.setAccountFlags, headers, { accountId, ...payload }, values)
      const { atEpochMs, entries: [entry], sequence } = yield* Submission.submitted(services, setting)
      assert(entry?._tag === "AccountFlagged", "setting flags comes to flags")
      const { flags, mayTrade } = entry
      return {
        version: "account-flags/v1" as const,
        accountId,
        flags: { bot: isSet(flags, "bot"), load_harness: isSet(flags, "load_harness"), disabled: isSet(flags, "disabled") },
        mayTrade: mayTrade === 1,
        idempotencyKey: setting.idempotencyKey,
        sequence,
        decidedAtEpochMs: atEpochMs
      }
    })
})
