/** What the state knows of who may act: passkeys, sessions, grants, and what was noted of them. Keys are with the accounts. */
import { Grants } from "./Grants.js"
import { Passkeys } from "./Passkeys.js"
import { SecurityLog } from "./SecurityLog.js"
import { Sessions } from "./Sessions.js"

export class Identity {
  readonly passkeys = new Passkeys()
  readonly sessions = new Sessions()
  readonly grants = new Grants()
  readonly security = new SecurityLog()
  /** What agents called themselves when their keys were issued, by key. */
  readonly clientNames = new Map<number, string>()
}
