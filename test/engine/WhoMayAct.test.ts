/**
 * Who may act: a credential that was just opened may, whatever clock the request met, and no approval outlives the session that made it.
 */
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { type Command, Operation, withFields } from "../../src/operations/Operations.js"

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

const bySession = (operation: Operation, { account, credential }: { readonly account: number; readonly credential: number }) =>
  ({ ...internal(Principal.passkey), principal: Principal.session, account, credential, operation }) as const

test("a session lasts twelve hours from its record on, to the millisecond, also where records are ahead of the clock", () => {
  const engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
  engine.apply(opening, 1, startEpochMs)
  const session = engine.findSession("a".repeat(64))!
  expect(session.expiresAtEpochMs).toBe(startEpochMs + 12 * hourMs)
  const signOut = withFields("EndSession", bySession(Operation.endSession, session), { remoteAddress, isElsewhere: false })
  expect(engine.admit(signOut, session.expiresAtEpochMs - 1)).toBeUndefined()
  expect(engine.admit(signOut, session.expiresAtEpochMs)?.refusal).toBe(Refusal.sessionEnded)
})

// How long before the session's end an agent is approved, within its ten minutes, and when it fetches the key; both in milliseconds.
test.each([
  [600_000, -1, Refusal.none],
  [60_000, -1, Refusal.none],
  [60_000, 0, Refusal.grantOver],
  [1, 0, Refusal.grantOver],
  [660_000, -60_001, Refusal.none],
  [660_000, -60_000, Refusal.grantOver]
])("what is approved %i ms before the end of its session is fetched %i ms behind it: refusal %i", (beforeMs, behindMs, refusal) => {
  const engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
  engine.apply(opening, 1, startEpochMs)
  const session = engine.findSession("a".repeat(64))!
  const asked = { deviceSha256: "b".repeat(64), codeChallenge: "c", clientName: "maker", scopes: 3, keyLifetimeSeconds: 300 }
  const approval = withFields("ApproveAgent", bySession(Operation.approveAgent, session), { ...asked, grantMs: 600_000, remoteAddress })
  engine.apply(approval, 2, session.expiresAtEpochMs - beforeMs)
  const key = { keyId: "key_1", displayPrefix: "pk_test_1", secretSha256: "d".repeat(64) }
  const fetched = withFields("ExchangeGrant", {
    ...internal(Principal.passkey),
    principal: Principal.agent,
    operation: Operation.exchangeGrant
  }, { deviceSha256: asked.deviceSha256, ...key, remoteAddress })
  expect(engine.admit(fetched, session.expiresAtEpochMs + behindMs)?.refusal ?? Refusal.none).toBe(refusal)
})

// In rules 7 an approval lasted as long as its agent's wait, regardless of the session.
test.each([[0, "over"], [13 * 3_600_000, "forgotten"]])("an approval of rules 7 ends with its session too: %i ms on, that is %s",
  (laterMs) => {
    const engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
    engine.apply(opening, 1, startEpochMs)
    const session = engine.findSession("a".repeat(64))!
    const deviceSha256 = "b".repeat(64)
    const asked = { deviceSha256, codeChallenge: "c", clientName: "maker", scopes: 3, keyLifetimeSeconds: 300 }
    const approval = withFields("ApproveAgent", bySession(Operation.approveAgent, session), { ...asked, grantMs: 600_000, remoteAddress })
    engine.apply(approval, 2, session.expiresAtEpochMs - 1_000)
    Object.assign(engine.state.identity.grants.find(deviceSha256)!, { expiresAtEpochMs: session.expiresAtEpochMs + 14 * 3_600_000 })
    const atEpochMs = session.expiresAtEpochMs + laterMs
    if (laterMs > 0) engine.apply({ ...opening, credentialId: "other", userHandle: "other", tokenSha256: "e".repeat(64) }, 3, atEpochMs)
    expect(engine.state.identity.sessions.find(session.number) === undefined).toBe(laterMs > 0)
    const key = { keyId: "key_1", displayPrefix: "pk_test_1", secretSha256: "d".repeat(64) }
    const fetched = withFields("ExchangeGrant", {
      ...internal(Principal.passkey),
      principal: Principal.agent,
      operation: Operation.exchangeGrant
    }, { deviceSha256, ...key, remoteAddress })
    expect(engine.admit(fetched, atEpochMs)?.refusal).toBe(Refusal.grantOver)
  })

// When an account with 32 sessions signs in again, and whether its oldest is ended to make room: after twelve hours it has expired.
test.each([[2, true], [12, false]])("a sign-in at %i h that makes one too many ends a session for room: %s", (hours, ends) => {
  const engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
  const send = (command: Command, atEpochMs: number) => engine.apply(command, engine.sequence + 1, atEpochMs)
  const token = (number: number): string => number.toString(16).padStart(64, "0")
  // By then more sessions of others have expired than one sign-in forgets.
  for (let other = 1; other <= 9; other++) {
    send({ ...opening, credentialId: `other${other}`, userHandle: `other${other}`, tokenSha256: token(other) }, startEpochMs)
  }
  send(opening, startEpochMs)
  const { account } = engine.findSession("a".repeat(64))!
  const signIn = (number: number, atEpochMs: number) =>
    send(withFields("SignIn", { ...internal(Principal.passkey), operation: Operation.signIn }, {
      credentialId: "AAAA",
      signCount: 0,
      tokenSha256: token(100 + number),
      remoteAddress
    }), atEpochMs)
  for (let number = 1; number < 32; number++) signIn(number, startEpochMs + hourMs)
  signIn(32, startEpochMs + hours * hourMs)
  expect(engine.securityEvents(account, Infinity, 99).some(({ kind }) => kind === "session_ended")).toBe(ends)
  expect(engine.findSession("a".repeat(64))).toBeUndefined()
})
