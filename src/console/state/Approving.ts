/** A passkey's approval of a ledger step: from the venue's challenge, through the browser, to the venue's route. */
import type { ApprovalChallenge, FirstFactor } from "./Contract.js"
import * as Failure from "./Failure.js"
import type { Result } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { type GoesOn, heard } from "./Turns.js"

/** The browser's time limit for a passkey prompt, in milliseconds. */
const patienceMs = 120_000

const noPasskeyYet: Failure.Failure = {
  message: "No passkey of this account may approve this yet.",
  advice: "A passkey approves no withdrawal in the first 24 hours after it was added: use an older one, or wait.",
  code: undefined,
  requestId: undefined,
  again: false
}

/** Asks for an approval by one of the permitted passkeys, while somebody waits for it. Returns the signed assertion. */
export const approve = async (
  outside: Pick<Outside, "usePasskey">,
  { allowCredentials: { webauthn }, challenge, rpId, userVerification }: ApprovalChallenge,
  goesOn: GoesOn
): Promise<Result<FirstFactor>> => {
  // With an empty list, a browser would offer every passkey.
  if (webauthn.length === 0) return { failure: noPasskeyYet }
  const ceremony = await outside.usePasskey({
    challenge,
    rpId,
    userVerification,
    timeout: patienceMs,
    allowCredentials: webauthn.map(({ id, type }) => ({ id, type }))
  })
  if ("trouble" in ceremony) return { failure: Failure.ofTrouble(ceremony.trouble) }
  const { id, response: { authenticatorData, clientDataJSON, signature } } = ceremony.credential
  return heard(goesOn, {
    value: { kind: "Fido2", credentialAssertion: { credId: id, clientData: clientDataJSON, signature, authenticatorData } }
  })
}
