/** Who may act: kept in a snapshot only where there is anybody, so that a venue of demo accounts has what it always had. */
import { holds, type Part } from "../Part.js"
import type { State } from "../State.js"
import type { Grant } from "./Grants.js"
import type { Passkey } from "./Passkeys.js"
import type { SecurityEvent } from "./SecurityLog.js"
import type { Session } from "./Sessions.js"
import type { TicketFamily } from "./Tickets.js"

interface Dump {
  readonly passkeys: ReadonlyArray<Passkey>
  readonly sessions: ReadonlyArray<Session>
  readonly sessionTotal: number
  readonly grants: ReadonlyArray<Grant>
  readonly security: ReadonlyArray<SecurityEvent>
  readonly clientNames: ReadonlyArray<readonly [number, string]>
  readonly botKeys: ReadonlyArray<number>
  readonly tickets: ReadonlyArray<TicketFamily>
  readonly ticketTotal: number
  readonly lastUsed: ReadonlyArray<readonly [number, number]>
  readonly addresses: ReadonlyArray<readonly [number, ReadonlyArray<string>]>
}

const section = "identity"

const dumpOf = ({ identity }: State): Dump => ({
  passkeys: identity.passkeys.all(),
  sessions: identity.sessions.all(),
  sessionTotal: identity.sessions.total,
  grants: identity.grants.all(),
  security: identity.security.all(),
  clientNames: [...identity.clientNames].sort(([one], [other]) => one - other),
  botKeys: [...identity.botKeys].sort((one, other) => one - other),
  tickets: identity.tickets.all(),
  ticketTotal: identity.tickets.total,
  lastUsed: identity.keyUses.allLastUsed(),
  addresses: identity.keyUses.allAddresses()
})

/**
 * Every account whose owner signs in has been noted to be opened or to sign in, and every key with a name to be issued; tickets
 * and uses there may be of demo keys alone.
 */
const isEmpty = ({ lastUsed, passkeys, security, sessionTotal, ticketTotal }: Dump): boolean =>
  passkeys.length === 0 && security.length === 0 && sessionTotal === 0 && ticketTotal === 0 && lastUsed.length === 0

export const part: Part = {
  encode: (state, into) => {
    const dump = dumpOf(state)
    if (!isEmpty(dump)) into.json(section, dump)
  },
  restore: ({ identity }, from) => {
    if (!from.has(section)) return
    const dump = from.json(section) as Dump
    for (const passkey of dump.passkeys) identity.passkeys.add(passkey)
    for (const session of dump.sessions) identity.sessions.add(session)
    identity.sessions.total = dump.sessionTotal
    for (const grant of dump.grants) identity.grants.add(grant)
    identity.security.restore(dump.security)
    for (const [key, name] of dump.clientNames) identity.clientNames.set(key, name)
    for (const key of dump.botKeys) identity.botKeys.add(key)
    for (const family of dump.tickets) identity.tickets.add(family)
    identity.tickets.total = dump.ticketTotal
    for (const [key, atEpochMs] of dump.lastUsed) identity.keyUses.used(key, atEpochMs)
    for (const [key, addresses] of dump.addresses) identity.keyUses.setAddresses(key, addresses)
  },
  canonical: (state, feed) => {
    const dump = dumpOf(state)
    if (isEmpty(dump)) return
    feed(`sessions ${dump.sessionTotal}`)
    for (const passkey of dump.passkeys) feed(`passkey ${JSON.stringify(passkey)}`)
    for (const session of dump.sessions) feed(`session ${JSON.stringify(session)}`)
    for (const grant of dump.grants) feed(`grant ${JSON.stringify(grant)}`)
    for (const event of dump.security) feed(`security ${JSON.stringify(event)}`)
    for (const [key, name] of dump.clientNames) feed(`client ${key} ${JSON.stringify(name)}`)
    feed(`bots ${dump.botKeys.join(" ")}`)
    feed(`tickets ${dump.ticketTotal}`)
    for (const family of dump.tickets) feed(`family ${JSON.stringify(family)}`)
    for (const [key, atEpochMs] of dump.lastUsed) feed(`used ${key} ${atEpochMs}`)
    for (const [key, addresses] of dump.addresses) feed(`addresses ${key} ${JSON.stringify(addresses)}`)
  },
  firstBroken: ({ accounts, apiKeys, identity }) => {
    for (const { account, credentialId } of identity.passkeys.all()) {
      if (account < 0 || account >= accounts.count) return `passkey ${credentialId} is of account ${account}, which is none`
    }
    for (const { account, credentialId, number } of identity.sessions.all()) {
      if (identity.passkeys.find(credentialId)?.account !== account) return `session ${number} is of a passkey that its account has not`
    }
    for (const { account, apiKey, family } of identity.tickets.all()) {
      if (apiKeys.account(apiKey) !== account) return `ticket family ${family} is of an account that its key is not of`
    }
    return holds()
  }
}
