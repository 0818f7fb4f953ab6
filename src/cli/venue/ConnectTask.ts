/** `venue connect`, from its parsed command line to its exit code. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { randomBytes } from "node:crypto"
import { defaultKeyFile } from "../../client/ccxt/NodeKeyFile.js"
import { Scopes } from "../../edge/identity/ApiKeyRecord.js"
import { Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import { noAnswerCode, refusedCode } from "./Against.js"
import * as Connect from "./Connect.js"
import * as Http from "./Http.js"
import type * as Options from "./Options.js"

const isScopes = Schema.is(Scopes)

/** Asks an account's owner for an API key, and stores it in a file. */
export const connect = (parsed: Options.Of<typeof Options.connect>) =>
  Effect.gen(function*() {
    const scopes = parsed.scopes.split(",")
    if (!isScopes(scopes)) return yield* usage(`--scopes takes read, trade or read,trade, and not ${parsed.scopes}`)
    if (parsed.lifetime < 300 || parsed.lifetime > 604_800) return yield* usage("--lifetime is from 300 to 604800 seconds")
    yield* Http.keepSecret(parsed.url, parsed.overHttp, "the key")
    const keyFile = Option.getOrElse(parsed.keyFile, () => defaultKeyFile())
    const asked = {
      url: parsed.url,
      name: parsed.name,
      scopes,
      keyLifetimeSeconds: parsed.lifetime,
      keyFile,
      codeVerifier: randomBytes(32).toString("base64url")
    }
    const kept = yield* Connect.connect(asked, (lines) => Console.log(lines.join("\n"))).pipe(
      Effect.provide(Http.layer),
      Effect.catchTags({
        Denied: ({ text }) => new Ended({ code: refusedCode, text: `refused: ${text}` }),
        NoVenue: ({ text }) => new Ended({ code: noAnswerCode, text }),
        NoFile: ({ text }) => usage(text)
      })
    )
    yield* Console.log(
      `${kept.keyId} of ${kept.accountId} (${kept.scopes.join(", ")}) until ${Format.time(kept.expiresAtEpochMs)}, kept in ${keyFile}`
    )
  })
