/** Regressions of who may act that the simulator found: what was just opened acts, whatever clock the request met. */
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { Operation, withFields } from "../../src/operations/Operations.js"

const hourMs = 3_600_000
const startEpochMs = 1_700_000_000_000
const remoteAddress = "10.0.0.1"

const opening = withFields("OpenOwnerAccount", { ...internal(Principal.passkey), operation: Operation.openOwnerAccount }, {
  credentialId: "AAAA",
  userHandle: "BBBB",
  publicKey: "CCCC",
  signCount: 0,
  transports: "internal",
  displayName: "phone",
  tokenSha256: "a".repeat(64),
  remoteAddress
})

test("a session lasts twelve hours from its record on, to the millisecond, also where records are ahead of the clock", () => {
  const engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
  engine.apply(opening, 1, startEpochMs)
  const session = engine.findSession("a".repeat(64))!
  expect(session.expiresAtEpochMs).toBe(startEpochMs + 12 * hourMs)
  const signOut = withFields("EndSession", {
    ...internal(Principal.passkey),
    principal: Principal.session,
    account: session.account,
    credential: session.credential,
    operation: Operation.endSession
  }, { remoteAddress, isElsewhere: false })
  expect(engine.admit(signOut, session.expiresAtEpochMs - 1)).toBeUndefined()
  expect(engine.admit(signOut, session.expiresAtEpochMs)?.refusal).toBe(Refusal.sessionEnded)
})
