/** Who acts for an account, by the credential in a request's `Authorization` header: an API key, or the owner's session. */
import type { Reads, Trader } from "../engine/Reads.js"
import * as ApiKeys from "./ApiKeys.js"
import * as SessionTokens from "./SessionTokens.js"

/** Why a credential may not act. */
export type Rejection = ApiKeys.Rejection | "session_ended"

/** The holder of a header's credential if it may act at this time; otherwise why not. */
export const identify = (
  header: string | undefined,
  reads: Pick<Reads, "findApiKey" | "findSession">,
  tokens: ApiKeys.KnownTokens,
  atEpochMs: number
): Trader | Rejection => {
  const token = header === undefined ? undefined : SessionTokens.tokenOf(header)
  if (token === undefined) return ApiKeys.identify(header, reads, tokens, atEpochMs)
  const session = reads.findSession(ApiKeys.digest(token))
  return session === undefined || session.expiresAtEpochMs <= atEpochMs ? "session_ended" : session
}
