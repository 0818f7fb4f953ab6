/**
 * The contracts that the venue uses, as the ledger's records: the fields of each template and choice, in order. Their meaning is in the
 * folder's README. A record with other fields, another order or other kinds of values does not match.
 */
import type * as Prepared from "./prepared/PreparedTransaction.js"
import { moneyScale } from "../domain/Units.js"

/** Package names as the ledger lists them; the id determines which package is meant. */
export const packageNames = { custody: "perpetuum-custody", token: "perpetuum-token" } as const

export const moduleNames = { custody: "Perpetuum.Custody", token: "Perpetuum.Token" } as const

export const choices = {
  acceptOffer: "CustodyOffer_Accept",
  withdrawOffer: "CustodyOffer_Withdraw",
  transfer: "Holding_Transfer",
  /** The choice that every template has, with which its signatories archive a contract. */
  archive: "Archive"
} as const

/** `PACKAGE:Module:Entity`. */
export const templateText = ({ entityName, moduleName, packageId }: Prepared.Identifier): string =>
  `${packageId}:${moduleName}:${entityName}`

/** The account contract between the venue and an owner's party. */
export interface VenueAccount {
  readonly treasury: string
  readonly owner: string
  readonly accountId: string
}

/** The treasury's offer to take an amount from an owner into custody. */
export interface CustodyOffer {
  readonly treasury: string
  readonly owner: string
  readonly admin: string
  readonly instrument: string
  readonly amountAtoms: bigint
  /** The deposit's id. */
  readonly reference: string
}

/** A party's holding of an amount of an instrument. */
export interface Holding {
  readonly admin: string
  readonly owner: string
  readonly instrument: string
  readonly amountAtoms: bigint
}

/** An owner transfers a part of its holdings to another party, and keeps the rest. */
export interface Transfer {
  readonly receiver: string
  readonly amountAtoms: bigint
  /** The transfer's id. */
  readonly reference: string
  /** Contract ids of the further holdings spent, beside the one on which the choice is exercised. */
  readonly others: ReadonlyArray<string>
}

/** Decimals of amounts on the ledger: those of Daml's `Decimal`. */
const numericScale = 10
const finer = 10n ** BigInt(numericScale - moneyScale)

/** An amount as the ledger writes it: always with ten decimals. */
export const numericText = (atoms: bigint): string => {
  const digits = (atoms * finer).toString().padStart(numericScale + 1, "0")
  return `${digits.slice(0, -numericScale)}.${digits.slice(-numericScale)}`
}

const numericPattern = /^(0|[1-9][0-9]{0,27})(?:\.([0-9]{1,10}))?$/

/** The whole atoms of an amount on the ledger, and whether they are the exact amount; undefined for a text that is not an amount. */
export const wholeAtomsOf = (text: string): { readonly atoms: bigint; readonly isExact: boolean } | undefined => {
  const match = numericPattern.exec(text)
  if (match === null) return undefined
  const units = BigInt(match[1]! + (match[2] ?? "").padEnd(numericScale, "0"))
  return { atoms: units / finer, isExact: units % finer === 0n }
}

/** The atoms of an amount on the ledger; undefined for a text that is not an amount, or an amount finer than an atom. */
export const atomsOf = (text: string): bigint | undefined => {
  const whole = wholeAtomsOf(text)
  return whole?.isExact === true ? whole.atoms : undefined
}

const party = (value: string): Prepared.Value => ({ case: "party", value })
const text = (value: string): Prepared.Value => ({ case: "text", value })
const numeric = (atoms: bigint): Prepared.Value => ({ case: "numeric", value: numericText(atoms) })
const contracts = (ids: ReadonlyArray<string>): Prepared.Value => ({
  case: "list",
  value: { elements: ids.map((id) => ({ case: "contractId", value: id })) }
})

const asParty = (value: Prepared.Value): string | undefined => value.case === "party" ? value.value : undefined
const asText = (value: Prepared.Value): string | undefined => value.case === "text" ? value.value : undefined
const asAtoms = (value: Prepared.Value): bigint | undefined => value.case === "numeric" ? atomsOf(value.value) : undefined
const asContracts = (value: Prepared.Value): ReadonlyArray<string> | undefined => {
  if (value.case !== "list") return undefined
  const ids = value.value.elements.map((element) => element.case === "contractId" ? element.value : undefined)
  return ids.every((id) => id !== undefined) ? ids : undefined
}

/** Writes and reads one field. */
interface Field<A> {
  readonly write: (value: A) => Prepared.Value
  readonly read: (value: Prepared.Value) => A | undefined
}
type Fields<A> = { readonly [K in keyof A]: readonly [label: string, field: Field<A[K]>] }

const parties: Field<string> = { write: party, read: asParty }
const texts: Field<string> = { write: text, read: asText }
const amounts: Field<bigint> = { write: numeric, read: asAtoms }
const ids: Field<ReadonlyArray<string>> = { write: contracts, read: asContracts }

/** A record type of the ledger. */
export interface RecordType<A> {
  /** `id` is the record's type. */
  readonly write: (id: Prepared.Identifier, value: A) => Prepared.Value
  /** Undefined for anything but this record with all its fields. Its type id is not checked here: the caller compares it. */
  readonly read: (value: Prepared.Value) => A | undefined
}

const recordType = <A extends object>(fields: Fields<A>): RecordType<A> => {
  const entries = Object.entries(fields) as Array<[keyof A, Fields<A>[keyof A]]>
  return {
    write: (id, value) => ({
      case: "record",
      value: { id, fields: entries.map(([key, [label, field]]) => ({ label, value: field.write(value[key]) })) }
    }),
    read: (value) => {
      if (value.case !== "record" || value.value.fields.length !== entries.length) return undefined
      const read = entries.map(([key, [label, field]], index) => {
        const found = value.value.fields[index]!
        return [key, found.label === label ? field.read(found.value) : undefined] as const
      })
      return read.every(([, one]) => one !== undefined) ? Object.fromEntries(read) as unknown as A : undefined
    }
  }
}

export const venueAccount = recordType<VenueAccount>({
  treasury: ["treasury", parties],
  owner: ["owner", parties],
  accountId: ["accountId", texts]
})
export const custodyOffer = recordType<CustodyOffer>({
  treasury: ["treasury", parties],
  owner: ["owner", parties],
  admin: ["admin", parties],
  instrument: ["instrument", texts],
  amountAtoms: ["amount", amounts],
  reference: ["reference", texts]
})
export const holding = recordType<Holding>({
  admin: ["admin", parties],
  owner: ["owner", parties],
  instrument: ["instrument", texts],
  amountAtoms: ["amount", amounts]
})
export const offerAcceptance = recordType<{ readonly holdings: ReadonlyArray<string> }>({ holdings: ["holdings", ids] })
export const offerWithdrawal = recordType<object>({})
export const transfer = recordType<Transfer>({
  receiver: ["receiver", parties],
  amountAtoms: ["amount", amounts],
  reference: ["reference", texts],
  others: ["others", ids]
})
export const archive = recordType<object>({})

/** The parties that sign a contract, and those that also see it. */
export interface Stakes {
  readonly signatories: ReadonlyArray<string>
  readonly stakeholders: ReadonlyArray<string>
}

/** Sets of parties are in lexicographic order, without repetition. */
const partySet = (...members: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(members)].sort()

export const stakesOf = {
  venueAccount: ({ owner, treasury }: VenueAccount): Stakes => ({ signatories: [owner], stakeholders: partySet(owner, treasury) }),
  custodyOffer: ({ owner, treasury }: CustodyOffer): Stakes => ({ signatories: [treasury], stakeholders: partySet(owner, treasury) }),
  holding: ({ admin, owner }: Holding): Stakes => ({ signatories: [admin], stakeholders: partySet(admin, owner) })
} as const
