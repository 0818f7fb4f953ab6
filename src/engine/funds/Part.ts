/**
 * Money on the ledger. A snapshot contains it only where there is any, so that snapshots of venues without a ledger stay the same.
 */
import type { Part } from "../Part.js"
import type { SectionReader, SectionWriter } from "../Sections.js"
import type { State } from "../State.js"
import { firstBroken } from "./Auditing.js"
import type { Funds, Stop } from "./Funds.js"
import type { Party } from "./Parties.js"
import type { Transfer } from "./Transfer.js"

const totals = ["deposited", "withdrawn", "reserved", "forgottenDeposited", "forgottenWithdrawn"] as const

/** Everything but the lists. */
interface Values {
  readonly offset: number
  readonly recordTimeEpochMs: number
  readonly stop: Stop | null
  /** Absent where it is 0, so that such states have the same digest as before the value existed. */
  readonly acceptedAtoms?: number
  readonly alarms: ReadonlyArray<number>
  /** Low and high limbs of each total, by name. */
  readonly totals: Readonly<Record<(typeof totals)[number], readonly [low: number, high: number]>>
}

interface Lists {
  readonly transfers: ReadonlyArray<Transfer>
  readonly ended: ReadonlyArray<number>
  readonly unapproved: ReadonlyArray<number>
  readonly parties: ReadonlyArray<Party>
  readonly waiting: ReadonlyArray<number>
}

const valuesOf = (funds: Funds): Values => ({
  offset: funds.offset,
  recordTimeEpochMs: funds.recordTimeEpochMs,
  stop: funds.stop,
  ...(funds.acceptedAtoms === 0 ? undefined : { acceptedAtoms: funds.acceptedAtoms }),
  alarms: [...funds.alarmCounts],
  totals: Object.fromEntries(totals.map((name) => [name, [funds[name].low, funds[name].high]])) as unknown as Values["totals"]
})

const listsOf = ({ parties, transfers, waiting }: Funds): Lists => ({
  ...transfers.dump(),
  parties: parties.all(),
  waiting: [...waiting]
})

const isEmpty = ({ acceptedAtoms, deposited, offset, parties, stop, transfers, withdrawn }: Funds): boolean =>
  transfers.count === 0 && parties.count === 0 && offset === 0 && stop === null && acceptedAtoms === 0 && deposited.atoms === 0n
  && withdrawn.atoms === 0n

/** Entries of one section: long lists are split, since a string has a greatest length. */
const entriesAtOnce = 1_024

const sectionOf = (name: string, index: number): string => `funds.${name}.${index}`
const valuesSection = "funds.values"

const readList = (from: SectionReader, name: string): ReadonlyArray<unknown> => {
  const parts: Array<ReadonlyArray<unknown>> = []
  while (from.has(sectionOf(name, parts.length))) parts.push(from.json(sectionOf(name, parts.length)) as ReadonlyArray<unknown>)
  return parts.flat()
}

const restore = (funds: Funds, from: SectionReader): void => {
  const list = <K extends keyof Lists>(name: K): Lists[K] => readList(from, name) as unknown as Lists[K]
  const values = from.json(valuesSection) as Values
  funds.offset = values.offset
  funds.recordTimeEpochMs = values.recordTimeEpochMs
  funds.stop = values.stop
  funds.acceptedAtoms = values.acceptedAtoms ?? 0
  values.alarms.forEach((count, alarm) => {
    funds.alarmCounts[alarm] = count
  })
  for (const name of totals) [funds[name].low, funds[name].high] = values.totals[name]
  funds.transfers.restore({ transfers: list("transfers"), ended: list("ended"), unapproved: list("unapproved") })
  for (const party of list("parties")) funds.parties.set(party)
  for (const { account, end, kind, partyId } of list("transfers")) {
    if (kind === "party_change" && end === null && partyId !== "") funds.parties.claim(partyId, account)
  }
  for (const number of list("waiting")) funds.waiting.add(number)
}

const encode = (funds: Funds, into: SectionWriter): void => {
  into.json(valuesSection, valuesOf(funds))
  for (const [name, list] of Object.entries(listsOf(funds)) as ReadonlyArray<[string, ReadonlyArray<unknown>]>) {
    for (let at = 0, index = 0; at < list.length; at += entriesAtOnce, index++) {
      into.json(sectionOf(name, index), list.slice(at, at + entriesAtOnce))
    }
  }
}

export const part: Part = {
  encode: ({ funds }, into) => {
    if (!isEmpty(funds)) encode(funds, into)
  },
  restore: ({ funds }, from) => {
    if (from.has(valuesSection)) restore(funds, from)
  },
  canonical: ({ funds }: State, feed) => {
    if (isEmpty(funds)) return
    const { ended, parties, transfers, unapproved, waiting } = listsOf(funds)
    feed(`funds ${JSON.stringify(valuesOf(funds))}`)
    for (const transfer of transfers) feed(`transfer ${JSON.stringify(transfer)}`)
    for (const party of parties) feed(`party ${JSON.stringify(party)}`)
    feed(`transfers ended ${ended.join(" ")}`)
    feed(`transfers unapproved ${unapproved.join(" ")}`)
    feed(`transfers waiting ${waiting.join(" ")}`)
  },
  firstBroken
}
