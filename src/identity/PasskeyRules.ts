/**
 * What the venue requires of a passkey's response beyond a valid signature: that it comes from the venue's own pages, outside any other
 * site's frame, and that it concerns the credential that it names. Nothing is ever keyed by a signature's bytes.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** The longest credential id that the protocol allows, bytes. */
const maxCredentialIdBytes = 1_023

/** The longest text in a response, characters: an attestation may contain certificates. */
const maxTextLength = 32_768

const Base64url = Schema.String.pipe(Schema.maxLength(maxTextLength), Schema.pattern(/^[A-Za-z0-9_-]+$/))
const Extensions = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** Ways to reach an authenticator that browsers know; any others in a response are left out. */
export const transports: ReadonlyArray<string> = ["usb", "nfc", "ble", "smart-card", "hybrid", "internal", "cable"]

/** A registration response as the pages' library makes it. Optional members are not read. */
export const RegistrationResponse = Schema.Struct({
  id: Base64url,
  rawId: Base64url,
  type: Schema.Literal("public-key"),
  response: Schema.Struct({
    clientDataJSON: Base64url,
    attestationObject: Base64url,
    transports: Schema.optionalWith(Schema.Array(Schema.String.pipe(Schema.pattern(/^[a-z-]{1,32}$/))).pipe(Schema.maxItems(16)), {
      exact: true
    }),
    authenticatorData: Schema.optionalWith(Base64url, { exact: true }),
    publicKey: Schema.optionalWith(Base64url, { exact: true }),
    publicKeyAlgorithm: Schema.optionalWith(Schema.Number, { exact: true })
  }),
  clientExtensionResults: Extensions,
  authenticatorAttachment: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true })
}).annotations({ identifier: "PasskeyRegistrationResponse" })
export type RegistrationResponse = typeof RegistrationResponse.Type

/** An authentication response; here, too, optional members are not read. */
export const AuthenticationResponse = Schema.Struct({
  id: Base64url,
  rawId: Base64url,
  type: Schema.Literal("public-key"),
  response: Schema.Struct({
    clientDataJSON: Base64url,
    authenticatorData: Base64url,
    signature: Base64url,
    userHandle: Schema.optionalWith(Schema.NullOr(Base64url), { exact: true })
  }),
  clientExtensionResults: Extensions,
  authenticatorAttachment: Schema.optionalWith(Schema.NullOr(Schema.String), { exact: true })
}).annotations({ identifier: "PasskeyAuthenticationResponse" })
export type AuthenticationResponse = typeof AuthenticationResponse.Type

const ClientData = Schema.parseJson(Schema.Struct({
  type: Schema.String,
  challenge: Schema.String,
  origin: Schema.String,
  crossOrigin: Schema.optional(Schema.Unknown),
  topOrigin: Schema.optional(Schema.Unknown)
}))

const decodeClientData = Schema.decodeUnknownEither(ClientData)

/** The challenge stated in client data (base64url); undefined where there is none. */
export const challengeOf = (clientData: string): string | undefined => {
  const decoded = decodeClientData(Buffer.from(clientData, "base64url").toString("utf8"))
  return Either.isRight(decoded) ? decoded.right.challenge : undefined
}

/** What is wrong with a response, regardless of its signature; undefined where nothing is. */
export const fault = (
  { id, rawId, response }: RegistrationResponse | AuthenticationResponse,
  kind: "webauthn.create" | "webauthn.get",
  challenge: string,
  origin: string
): string | undefined => {
  const idBytes = Buffer.from(id, "base64url")
  if (id !== rawId || idBytes.toString("base64url") !== id) return "The response's id is not the credential's."
  if (idBytes.length > maxCredentialIdBytes) return "The credential's id is longer than 1,023 bytes."
  const decoded = decodeClientData(Buffer.from(response.clientDataJSON, "base64url").toString("utf8"))
  if (Either.isLeft(decoded)) return "The client data is not readable."
  const client = decoded.right
  if (client.type !== kind) return "The response is of another ceremony."
  if (client.challenge !== challenge) return "The response answers another challenge."
  if (client.origin !== origin) return "The response was made by another origin."
  if (client.crossOrigin !== undefined && client.crossOrigin !== false) return "The response was made inside another origin's page."
  return client.topOrigin === undefined ? undefined : "The response was made inside another origin's page."
}
