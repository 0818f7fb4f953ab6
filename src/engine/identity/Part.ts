/**
 * Who may act. A snapshot contains it only where there is anything to keep, so that snapshots of venues with nothing but demo
 * accounts of earlier versions stay the same.
 */
import { holds, type Part } from "../Part.js"
import type { SectionReader } from "../Sections.js"
import type { State } from "../State.js"
import type { Grant } from "./Grants.js"
import { keepUntil } from "./Keying.js"
import type { Passkey } from "./Passkeys.js"
import type { SecurityDump, SecurityEvent } from "./SecurityLog.js"
import type { Session } from "./Sessions.js"
import type { TicketFamily } from "./Tickets.js"

interface Dump {
  readonly passkeys: ReadonlyArray<Passkey>
  readonly sessions: ReadonlyArray<Session>
  readonly grants: ReadonlyArray<Grant>
  readonly security: ReadonlyArray<SecurityEvent>
  readonly emptied: SecurityDump["emptied"]
  readonly clientNames: ReadonlyArray<readonly [number, string]>
  readonly botKeys: ReadonlyArray<number>
  readonly tickets: ReadonlyArray<TicketFamily>
  readonly lastUsed: ReadonlyArray<readonly [number, number]>
  readonly addresses: ReadonlyArray<readonly [number, ReadonlyArray<string>]>
  /** Sessions and ticket families so far. */
  readonly totals: readonly [sessions: number, tickets: number]
}

const dumpOf = ({ identity }: State): Dump => {
  const { emptied, events } = identity.security.dump()
  return {
    passkeys: identity.passkeys.all(),
    sessions: identity.sessions.all(),
    grants: identity.grants.all(),
    security: events,
    emptied,
    clientNames: [...identity.clientNames].sort(([one], [other]) => one - other),
    botKeys: [...identity.botKeys.keys()].sort((one, other) => one - other),
    tickets: identity.tickets.all(),
    lastUsed: identity.keyUses.allLastUsed(),
    addresses: identity.keyUses.allAddresses(),
    totals: [identity.sessions.total, identity.tickets.total]
  }
}

/**
 * Whether there is nothing to keep. Every owner's account and every named key has left a security event; only tickets and uses can
 * belong to keys without a name, so these are looked at as well.
 */
const isEmpty = ({ emptied, lastUsed, passkeys, security, totals: [sessions, tickets] }: Dump): boolean =>
  passkeys.length === 0 && security.length === 0 && emptied.length === 0 && sessions === 0 && tickets === 0 && lastUsed.length === 0

/** Entries of one section: long lists are split, since a string has a greatest length. */
const entriesAtOnce = 4_096

const sectionOf = (name: string, index: number): string => `identity.${name}.${index}`

const readList = (from: SectionReader, name: string): ReadonlyArray<unknown> => {
  const parts: Array<ReadonlyArray<unknown>> = []
  while (from.has(sectionOf(name, parts.length))) parts.push(from.json(sectionOf(name, parts.length)) as ReadonlyArray<unknown>)
  return parts.flat()
}

export const part: Part = {
  encode: (state, into) => {
    const dump = dumpOf(state)
    if (isEmpty(dump)) return
    for (const [name, list] of Object.entries(dump) as ReadonlyArray<[string, ReadonlyArray<unknown>]>) {
      for (let at = 0, index = 0; at < list.length; at += entriesAtOnce, index++) {
        into.json(sectionOf(name, index), list.slice(at, at + entriesAtOnce))
      }
    }
  },
  restore: (state, from) => {
    const { identity } = state
    const list = <K extends keyof Dump>(name: K): Dump[K] => readList(from, name) as unknown as Dump[K]
    for (const passkey of list("passkeys")) identity.passkeys.add(passkey)
    for (const session of list("sessions")) identity.sessions.add(session)
    for (const grant of list("grants")) identity.grants.add(grant)
    identity.security.restore({ events: list("security"), emptied: list("emptied") })
    for (const [key, name] of list("clientNames")) {
      identity.clientNames.set(key, name)
      keepUntil(state, key)
    }
    for (const key of list("botKeys")) identity.botKeys.set(key, true)
    for (const family of list("tickets")) identity.tickets.add(family)
    for (const [key, atEpochMs] of list("lastUsed")) identity.keyUses.used(key, atEpochMs)
    for (const [key, addresses] of list("addresses")) identity.keyUses.setAddresses(key, addresses)
    const [sessions, tickets] = list("totals")
    if (sessions !== undefined) identity.sessions.total = sessions
    if (tickets !== undefined) identity.tickets.total = tickets
  },
  canonical: (state, feed) => {
    const dump = dumpOf(state)
    if (isEmpty(dump)) return
    feed(`sessions ${dump.totals[0]}`)
    for (const passkey of dump.passkeys) feed(`passkey ${JSON.stringify(passkey)}`)
    for (const session of dump.sessions) feed(`session ${JSON.stringify(session)}`)
    for (const grant of dump.grants) feed(`grant ${JSON.stringify(grant)}`)
    for (const event of dump.security) feed(`security ${JSON.stringify(event)}`)
    for (const [account, next] of dump.emptied) feed(`emptied ${account} ${next}`)
    for (const [key, name] of dump.clientNames) feed(`client ${key} ${JSON.stringify(name)}`)
    feed(`bots ${dump.botKeys.join(" ")}`)
    feed(`tickets ${dump.totals[1]}`)
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
      if (apiKeys.has(apiKey) && apiKeys.account(apiKey) !== account)
        return `ticket family ${family} is of an account that its key is not of`
    }
    for (const key of identity.clientNames.keys()) if (!apiKeys.has(key)) return `key ${key} has a name and is forgotten`
    return holds()
  }
}
