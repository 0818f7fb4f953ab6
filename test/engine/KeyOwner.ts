/** An owner at an engine, to whose account agents connect one after the other. */
import { createHash } from "node:crypto"
import { Engine } from "../../src/engine/Engine.js"
import { type Header, internal, Principal } from "../../src/operations/Header.js"
import { type CommandOfKind, type EntryOutcome, type Kind, Operation, withFields } from "../../src/operations/Operations.js"

const remoteAddress = "192.0.2.1"
const sha = (text: string): string => createHash("sha256").update(text).digest("hex")

export class KeyOwner {
  readonly engine = Engine.make({ orders: 16, idempotencyKeys: 16 })
  atEpochMs = 1_700_000_000_000
  #issued = 0

  /** Opens the first account. */
  constructor() {
    const passkey = { credentialId: "AAAA", userHandle: "BBBB", publicKey: "CCCC", signCount: 0, transports: "", displayName: "phone" }
    this.send("OpenOwnerAccount", { operation: Operation.openOwnerAccount }, { ...passkey, tokenSha256: sha("0"), remoteAddress })
  }

  send<K extends Kind>(kind: K, header: Partial<Header>, values: Omit<CommandOfKind<K>, "kind" | keyof Header>): EntryOutcome {
    const command = withFields(kind, { ...internal(Principal.passkey), ...header }, values)
    const refused = this.engine.admit(command, this.atEpochMs)
    if (refused !== undefined) throw new Error(`${kind} was refused: ${refused.refusal}`)
    const outcome = this.engine.apply(command, this.engine.sequence + 1, this.atEpochMs)
    this.engine.state.events.clear()
    return outcome.entries[0]!
  }

  #owned(session: number, operation: number): Partial<Header> {
    return { principal: Principal.session, account: 0, credential: session, operation }
  }

  /** Signs in; returns the session. */
  signIn(): number {
    const tokenSha256 = sha(`token ${this.engine.sequence}`)
    const entry = this.send("SignIn", { operation: Operation.signIn }, { credentialId: "AAAA", signCount: 0, tokenSha256, remoteAddress })
    if (entry._tag !== "SessionOpened") throw new Error("nobody is signed in")
    return entry.session
  }

  /** Lets an agent have a key, which it fetches at once; returns the key's id. */
  connect(session: number, keyLifetimeSeconds = 300): string {
    const number = this.#issued++
    const deviceSha256 = sha(`device ${number}`)
    const asked = { deviceSha256, codeChallenge: "challenge", clientName: "maker", scopes: 3, keyLifetimeSeconds }
    this.send("ApproveAgent", this.#owned(session, Operation.approveAgent), { ...asked, grantMs: 60_000, remoteAddress })
    const keyId = `key_${number}`
    const key = { keyId, displayPrefix: `pk_test_${number}`, secretSha256: sha(keyId) }
    const fetched = { principal: Principal.agent, operation: Operation.exchangeGrant }
    const entry = this.send("ExchangeGrant", fetched, { deviceSha256, ...key, remoteAddress })
    if (entry._tag !== "KeyIssued") throw new Error("no key is issued")
    return keyId
  }

  revoke(session: number, keyId: string): void {
    this.send("RevokeApiKey", this.#owned(session, Operation.revokeApiKey), { keyId, remoteAddress })
  }
}
