/** `POST /v1/operator/bot-keys`: a key for one of the venue's own bots, whose platform proves its identity. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { Refusal } from "../../domain/Refusal.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import type { Workload } from "../../identity/WorkloadIdentity.js"
import { botKeyMs } from "../../operations/identity/IssueBotKey.js"
import { scopeNames } from "../../operations/identity/KeyGrant.js"
import { Operation } from "../../operations/Operations.js"
import { record, Scope } from "../identity/ApiKeyRecord.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { accountNamed } from "./Named.js"
import { command, headerOf } from "./Sent.js"

/** The longest token examined, characters. */
const maxTokenLength = 16_384

const BotKeyBody = Schema.Struct({
  token: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(maxTokenLength)).annotations({
    description: "The workload's own identity token: a JWT of the platform that the venue is set up for."
  })
}).annotations({ identifier: "BotKeyBody" })

const BotKey = Schema.Struct({
  version: Schema.Literal("bot-key/v1"),
  apiKey: Fields.Text.annotations({ description: "Told again only for the same request under the same Idempotency-Key." }),
  keyId: Fields.Text,
  accountId: Fields.Text,
  principalKind: Schema.Literal("bot"),
  displayPrefix: Fields.Text,
  scopes: Schema.Array(Scope),
  createdAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
}).annotations({ identifier: "BotKey", description: "A key for seven days. Keys that the bot has had stay what they are." })

const notConfigured = Errors.operationNotAvailable("The venue is set up for no platform whose workloads could have keys.")

/**
 * The workload that a token identifies. A repetition of a decided request contains the same token, which may have expired by now:
 * it is accepted as of its own time, since otherwise a caller whose answer was lost could not obtain the key after a few minutes,
 * and the key would stay active for a week without a holder. Signature, issuer, audience and subject are verified in any case, so
 * that nothing is revealed on the strength of a digest alone; a new key requires a token that is valid now.
 */
const proven = ({ identity: { workloads }, now }: Services, token: string, isDecided: boolean): Effect.Effect<Workload, Errors.Failure> =>
  Effect.catchTags(workloads.verify(token, isDecided ? undefined : now()), {
    NotConfigured: () => fail(notConfigured),
    TokenRejected: ({ reason }) => fail(Errors.workloadTokenRejected(reason)),
    KeysUnavailable: () => fail(Errors.workloadKeysUnavailable)
  })

/** The account's active keys of bots, oldest first. */
const botKeysOf = (services: Services, account: number): ReadonlyArray<string> =>
  services.state.apiKeys(account, Number.POSITIVE_INFINITY)
    .map((key) => record(services, key))
    .filter(({ principalKind, state }) => principalKind === "bot" && state === "active")
    .map(({ keyId }) => keyId)
    .toReversed()

export const issueBotKey = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("issueBotKey", "/v1/operator/bot-keys")
    .setHeaders(Fields.IdempotencyHeaders)
    .setPayload(BotKeyBody)
    .addSuccess(BotKey)
    .addError(Failures.native(Failures.operatorCommand, "Unavailable"))
    .annotate(OpenApi.Summary, "A key for a bot, for its workload's identity token"),
  example: { target: "/v1/operator/bot-keys", body: { token: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtYWtlci0xIn0.c2lnbmF0dXJl" } },
  handler: (services) => ({ headers, payload: { token } }) =>
    Effect.gen(function*() {
      const { environment, identity: { random }, signerSecret, state } = services
      const decided = state.remembered(headerOf(Operation.issueBotKey, headers, { token }), services.now())
      const { accountId, subject } = yield* proven(services, token, decided !== undefined)
      const ofAccount = yield* accountNamed(state, accountId)
      const derived = (keyId: string) => ApiKeys.deriveBotKey(signerSecret, environment, keyId, subject)
      const drawn = derived(ApiKeys.newKeyId(random.bytes)).fields
      const issuing = command("IssueBotKey", Operation.issueBotKey, headers, { token }, { ofAccount, ...drawn, subject })
      // An earlier decision is answered from memory and not submitted again: if the key were forgotten meanwhile, an expired token
      // would obtain a new one.
      const coming = decided === undefined ? Submission.submitted(services, issuing) : Submission.toldAgain(decided)
      const { atEpochMs, entries: [entry], sequence } = yield* Effect.mapError(coming, (failure) =>
        failure.description.guard === "key_limit" ? { ...failure, ...Errors.keyLimitOfBots(botKeysOf(services, ofAccount)) } : failure)
      assert(entry?._tag === "KeyIssued", "issuing a bot's key comes to a key")
      // For a repeated request this is the key of the first.
      const key = state.apiKey(entry.apiKey)
      if (key === undefined) return yield* fail(Errors.refused(Refusal.keyNotFound))
      const { displayPrefix, keyId } = key
      return {
        version: "bot-key/v1" as const,
        apiKey: derived(keyId).text,
        keyId,
        accountId: state.accountId(entry.account),
        principalKind: "bot" as const,
        displayPrefix,
        scopes: scopeNames,
        createdAtEpochMs: atEpochMs,
        expiresAtEpochMs: atEpochMs + botKeyMs,
        sequence
      }
    })
})
