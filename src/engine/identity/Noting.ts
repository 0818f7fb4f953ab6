/** Records security events of an account. */
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { kindCode, type KindName } from "./SecurityLog.js"

export const note = (
  state: State,
  account: number,
  kind: KindName,
  credentialId: string,
  remoteAddress: string,
  detail: string = ""
): void => {
  const { atEpochMs, sequence } = state
  const noted = state.identity.security.add({ account, kind, sequence, atEpochMs, credentialId, remoteAddress, detail })
  // An event that belongs to no account has no subscriber.
  if (account >= 0) state.events.told.note(noted)
  state.events.event2(Event.SecurityNoted, account, kindCode(kind))
}
