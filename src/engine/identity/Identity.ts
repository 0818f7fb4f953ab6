/** What the state knows of who may act: passkeys, sessions, grants and security events. API keys belong to the accounts. */
import { StepwiseMap } from "../../domain/Stepwise.js"
import { Deadlines } from "../Deadlines.js"
import { bounds, type IdentityBounds } from "./Bounds.js"
import { Grants } from "./Grants.js"
import { KeyUses } from "./KeyUses.js"
import { Passkeys } from "./Passkeys.js"
import { SecurityLog } from "./SecurityLog.js"
import { Sessions } from "./Sessions.js"
import { Tickets } from "./Tickets.js"

export class Identity {
  readonly passkeys = new Passkeys()
  readonly sessions = new Sessions()
  readonly grants: Grants
  readonly security: SecurityLog
  readonly tickets: Tickets
  readonly keyUses = new KeyUses()
  /**
   * When ended keys with a name are forgotten, some time after their end. Demo accounts' keys of earlier versions have no name and
   * are never forgotten.
   */
  readonly keyEnds = new Deadlines((apiKey) => apiKey)
  readonly bounds: IdentityBounds
  /** The name that an agent gave when its key was issued, or the subject that a bot proved to be, by key. */
  readonly clientNames = new StepwiseMap<number, string>()
  /** Keys of the venue's own bots. */
  readonly botKeys = new StepwiseMap<number, true>()

  constructor(given: Partial<IdentityBounds> = {}) {
    this.bounds = { ...bounds, ...given }
    this.grants = new Grants(this.bounds)
    this.tickets = new Tickets(this.bounds)
    this.security = new SecurityLog(this.bounds)
  }
}
