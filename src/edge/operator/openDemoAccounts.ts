/** `POST /v1/operator/demo/accounts`: opens and funds accounts, each with a key, in development only. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { type EntryOutcome, Operation } from "../../operations/Operations.js"
import { noAmount } from "./Amount.js"
import { command } from "./Sent.js"
import * as Units from "../../domain/Units.js"
import { Refusal } from "../../domain/Refusal.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { maxDemoAccounts, maxDemoKeySeconds, minDemoKeySeconds, usualDemoKeySeconds } from "../../operations/accounts/OpenDemoAccounts.js"
import { type KeyGrant, scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"

const DemoAccountsBody = Schema.Struct({
  accounts: Fields.optional(Schema.Int.pipe(Schema.between(1, maxDemoAccounts))).annotations({
    description: "2 when absent."
  }),
  collateral: Fields.optional(Fields.DecimalInput).annotations({ description: "USDC for each; 1000000 when absent." }),
  keyLifetimeSeconds: Fields.optional(Schema.Int.pipe(Schema.between(minDemoKeySeconds, maxDemoKeySeconds))).annotations({
    description: "How long each key will be good: 300 seconds to 365 days; 30 days when absent. The account gets no other one."
  })
}).annotations({ identifier: "DemoAccountsBody" })

export const DemoAccounts = Schema.Struct({
  version: Schema.Literal("demo-accounts/v1"),
  accounts: Schema.Array(Schema.Struct({ accountId: Fields.Text, apiKey: Fields.Text, expiresAtEpochMs: Fields.optional(Fields.EpochMs) }))
    .annotations({
      description: "A request that an earlier program answered is told what it was told then: without `expiresAtEpochMs`."
    }),
  sequence: Fields.Sequence,
  decidedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "DemoAccounts" })

const defaultDemoAccounts = 2
const defaultDemoCollateralAtoms = 1_000_000 * 10 ** Units.moneyScale

const openedBy = (decided: EntryOutcome): number => {
  assert(decided._tag === "AccountOpened", "opening accounts comes to accounts")
  return decided.account
}

const isConflict = ({ description }: Errors.Failure): boolean => description.code === "idempotency_key_conflict"

/** Keys of demo accounts may read and trade. The engine sets their expiry, relative to the time of the record. */
const granted = (fields: ApiKeys.IssuedKey["fields"]): KeyGrant => ({ ...fields, scopes: scopeRead | scopeTrade, expiresAtEpochMs: 0 })

/** The keys that the earliest versions derived from a request's Idempotency-Key, and so always the same. */
const earlier = ({ environment, signerSecret }: Services, idempotencyKey: string, index: number): ApiKeys.IssuedKey =>
  ApiKeys.deriveEarlierDemoKey(signerSecret, environment, idempotencyKey, index)

/** The accounts that a request opened, each with its key; for a repetition those of the first request. */
const opened = (services: Services, idempotencyKey: string, entries: ReadonlyArray<EntryOutcome>) => {
  const { environment, signerSecret, state } = services
  return Effect.forEach(entries, (entry, index) => {
    const account = openedBy(entry)
    // The account's first key, issued with it.
    const key = state.apiKeys(account, Number.POSITIVE_INFINITY).at(-1)
    if (key === undefined) return fail(Errors.refused(Refusal.keyNotFound))
    const { expiresAtEpochMs, keyId, secretSha256 } = key
    const told = (issued: ApiKeys.IssuedKey) => issued.fields.secretSha256 === secretSha256
    const accountId = state.accountId(account)
    const own = ApiKeys.deriveDemoKey(signerSecret, environment, keyId)
    if (told(own)) return Effect.succeed({ accountId, apiKey: own.text, expiresAtEpochMs })
    // An answer of an earlier version is repeated as it was, which requires the signer secret of that time.
    const ofEarlier = earlier(services, idempotencyKey, index)
    return told(ofEarlier) ? Effect.succeed({ accountId, apiKey: ofEarlier.text }) : fail(Errors.refused(Refusal.keyNotFound))
  })
}

export const openDemoAccounts = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("openDemoAccounts", "/v1/operator/demo/accounts")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(DemoAccountsBody)
    .addSuccess(DemoAccounts)
    .addError(Failures.native(Failures.operatorCommand))
    .annotate(OpenApi.Summary, "Development only: open and fund accounts, each with a key"),
  example: { target: "/v1/operator/demo/accounts", body: { accounts: 2, collateral: "100000", keyLifetimeSeconds: 86_400 } },
  handler: (services) => ({ headers, payload }) =>
    Effect.gen(function*() {
      const { environment, identity: { random }, signerSecret } = services
      if (environment !== "development") return yield* fail(Errors.routeNotFound)
      const { accounts = defaultDemoAccounts, collateral, keyLifetimeSeconds = usualDemoKeySeconds } = payload
      const collateralAtoms = collateral === undefined
        ? defaultDemoCollateralAtoms
        : Units.parseDecimal(collateral, Units.moneyScale)
      if (typeof collateralAtoms === "string") {
        return yield* fail(noAmount("collateral", collateralAtoms, "must be USDC with at most 6 decimals"))
      }
      const idempotencyKey = headers["idempotency-key"]
      const keysOf = (issued: (index: number) => ApiKeys.IssuedKey): ReadonlyArray<KeyGrant> =>
        Array.from({ length: accounts }, (_, index) => granted(issued(index).fields))
      // Key ids are random and expiries follow from the time, so that only the number and the lifetime are part of the request.
      // Earlier versions had no lifetime in the request: the default is therefore left out.
      const lasting = keyLifetimeSeconds === usualDemoKeySeconds ? {} : { keyLifetimeSeconds }
      const asked = { accounts, collateralAtoms, ...lasting }
      const submitted = (keys: ReadonlyArray<KeyGrant>) => {
        const values = { collateralAtoms, keys, lifetimeSeconds: keyLifetimeSeconds }
        return Submission.submitted(services, command("OpenDemoAccounts", Operation.openDemoAccounts, headers, asked, values))
      }
      const drawn = keysOf(() => ApiKeys.deriveDemoKey(signerSecret, environment, ApiKeys.newKeyId(random.bytes)))
      // For requests remembered under rules 1, the keys are part of the body.
      const { atEpochMs, entries, sequence } = yield* Effect.catchIf(submitted(drawn), isConflict,
        () => submitted(keysOf((index) => earlier(services, idempotencyKey, index))))
      assert(entries.length === accounts, "every demo account has an outcome")
      return {
        version: "demo-accounts/v1" as const,
        accounts: yield* opened(services, idempotencyKey, entries),
        sequence,
        decidedAtEpochMs: atEpochMs
      }
    })
})
