/** What the state knows of who may act: passkeys, sessions, grants, and what was noted of them. Keys are with the accounts. */
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
  /** When keys that somebody has by name are forgotten, each so long after its end. Those of earlier programs' demo accounts have none. */
  readonly keyEnds = new Deadlines((apiKey) => apiKey)
  readonly bounds: IdentityBounds
  /** What agents called themselves when their keys were issued, and who bots proved to be, by key. */
  readonly clientNames = new StepwiseMap<number, string>()
  /** Keys that are bots' of the venue's own. */
  readonly botKeys = new StepwiseMap<number, true>()

  constructor(given: Partial<IdentityBounds> = {}) {
    this.bounds = { ...bounds, ...given }
    this.grants = new Grants(this.bounds)
    this.tickets = new Tickets(this.bounds)
    this.security = new SecurityLog(this.bounds)
  }
}
