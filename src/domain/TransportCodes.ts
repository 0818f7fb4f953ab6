/** The system's codes in the error of a request over the network, which HTTP clients nest in their own. */

/** The codes of an error and of its causes, from the outside to the inside; each once. */
export const codesOf = (error: unknown): ReadonlyArray<string> => [...new Set(nestedIn(error, 0))]

const nestedIn = (error: unknown, depth: number): ReadonlyArray<string> => {
  if (typeof error !== "object" || error === null || depth > 5) return []
  const { cause, code, errors } = error as { readonly cause?: unknown; readonly code?: unknown; readonly errors?: unknown }
  const within = Array.isArray(errors) ? errors.flatMap((one) => nestedIn(one, depth + 1)) : []
  return [...(typeof code === "string" ? [code] : []), ...within, ...nestedIn(cause, depth + 1)]
}

/** Codes of a server's certificate that is not trusted here: nothing was sent, and nothing will be until one of both sides is changed. */
export const ofCertificates: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID"
])

/** Codes of connections that failed before anything was sent. */
const beforeSending: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  ...ofCertificates
])

/** Whether the codes of an error say that nothing was sent. Several addresses may have been tried: all of them failed in this way. */
export const areUnsent = (codes: ReadonlyArray<string>): boolean => codes.length > 0 && codes.every((code) => beforeSending.has(code))
