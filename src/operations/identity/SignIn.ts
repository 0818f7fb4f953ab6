/** Signs an owner in by a passkey whose assertion was verified. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { sessionFields, SessionOpened } from "./Credentials.js"

export const SignIn = declare({
  kind: "SignIn",
  code: 27,
  label: "sign-in",
  principals: [Principal.passkey],
  permission: "proof",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "credentialId", names: "passkey" },
  requests: { signIn: { code: 41, lookup: null } },
  fields: {
    credentialId: Field.text("api_key"),
    /** The authenticator's counter in this assertion. */
    signCount: Field.whole("count"),
    ...sessionFields
  },
  // An owner who cannot sign in while orders fill the queue could not revoke the key that sends them.
  share: () => "reduction",
  keeps: "every decision",
  outcome: SessionOpened
})
export type SignIn = CommandOf<typeof SignIn>
