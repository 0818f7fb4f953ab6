/** Shapes that several routes of passkeys share, and samples of what browsers send, for the reference. */
import * as Schema from "effect/Schema"
import * as Fields from "../http/Fields.js"

/** A passkey as a browser is told of it. */
export const CredentialDescriptor = Schema.Struct({
  type: Schema.Literal("public-key"),
  id: Fields.Text,
  transports: Schema.Array(Schema.String)
}).annotations({ identifier: "PasskeyDescriptor" })

const clientData = (type: string): string =>
  Buffer.from(JSON.stringify({ type, challenge: "3q2-7w", origin: "http://localhost:8080", crossOrigin: false })).toString("base64url")

const challengeIdentifier = "chl_9fXJk2Yb0n2m7QwVd5yVhA"
const id = "pmQ2b0dxS3J5a1h0VzRkTQ"

/** A registration as a browser sends it. */
export const registration = {
  challengeIdentifier,
  credential: {
    id,
    rawId: id,
    type: "public-key",
    response: { clientDataJSON: clientData("webauthn.create"), attestationObject: "o2NmbXRkbm9uZQ", transports: ["internal"] },
    clientExtensionResults: {}
  }
}

/** An assertion as a browser sends it. */
export const assertion = {
  challengeIdentifier,
  credential: {
    id,
    rawId: id,
    type: "public-key",
    response: { clientDataJSON: clientData("webauthn.get"), authenticatorData: "SZYN5YgOjGh0NBcPZHZgW4", signature: "MEUCIQDk" },
    clientExtensionResults: {}
  }
}
