/**
 * Calls about money on the ledger as drafts: one function per endpoint, from the numbers of the earlier calls to whose answers they refer.
 */
import { Operation } from "../../src/operations/Operations.js"
import { scopeOf } from "../model/NaiveVenue.js"
import type { Draft } from "./Calls.js"
import type { Bearer } from "./OwnerCalls.js"
import type { Proof } from "./SoftwarePasskey.js"
import { factorAt, of } from "./Wallet.js"

/** A deposit, a withdrawal or a change of party, by the call that requested it. */
export interface Asked {
  readonly kind: "deposit" | "withdrawal" | "change"
  readonly call: number
}

const call = (
  { account: _account, accountId: _accountId, ...who }: Bearer,
  endpoint: string,
  method: string,
  target: string,
  body?: object
): Draft => ({
  ...who,
  endpoint,
  method,
  target,
  body: body === undefined ? "" : JSON.stringify(body),
  account: -1,
  accountId: "",
  idempotencyKey: undefined,
  scope: undefined,
  intent: endpoint,
  persistent: false
})

const keyed = (draft: Draft, operation: number, idempotencyKey: string): Draft => ({
  ...draft,
  idempotencyKey,
  scope: scopeOf(-1, operation, idempotencyKey)
})

const pathOf = ({ accountId }: Bearer, { kind }: Pick<Asked, "kind">): string =>
  `/v1/accounts/${accountId}/${kind === "change" ? "ledger-party" : `${kind}s`}`

/** Its id in a body: a change of party needs none, since only the latest counts. */
const named = ({ call: asked, kind }: Asked): object => kind === "change" ? {} : { [`${kind}Id`]: of(asked, `${kind}Id`) }

const endpoints = {
  confirm: { deposit: "confirmDeposit", withdrawal: "confirmWithdrawal", change: "confirmLedgerPartyChange" },
  cancel: { deposit: "cancelDeposit", withdrawal: "cancelWithdrawal", change: "cancelLedgerPartyChange" },
  get: { deposit: "getDeposit", withdrawal: "getWithdrawal", change: "getLedgerParty" }
} as const

const listings = { deposits: "listDeposits", withdrawals: "listWithdrawals", "security-events": "listSecurityEvents" } as const

export const createDeposit = (who: Bearer, key: string, asset: string, amountAtoms: string): Draft =>
  keyed(call(who, "createDeposit", "POST", pathOf(who, { kind: "deposit" }), { asset, amountAtoms }), Operation.requestDeposit, key)

export const createWithdrawal = (who: Bearer, key: string, amountAtoms: string, destinationPartyId: string): Draft =>
  keyed(
    call(who, "createWithdrawal", "POST", pathOf(who, { kind: "withdrawal" }), { asset: "USDC", amountAtoms, destinationPartyId }),
    Operation.requestWithdrawal,
    key
  )

export const changeParty = (who: Bearer, key: string): Draft =>
  keyed(call(who, "changeLedgerParty", "PUT", pathOf(who, { kind: "change" })), Operation.requestPartyChange, key)

/** Continues a transfer, and asks for the approval that is due; `signingStep`: the step that is expected. */
export const initiate = (who: Bearer, asked: Asked, signingStep?: string): Draft =>
  call(who, endpoints.confirm[asked.kind], "POST", `${pathOf(who, asked)}/confirm`, {
    action: "initiate",
    ...named(asked),
    ...(signingStep === undefined ? {} : { signingStep })
  })

/** Answers the approval request that an initiating call received. */
export const complete = (who: Bearer, asked: Asked, proof: Proof): Draft => ({
  ...call(who, endpoints.confirm[asked.kind], "POST", `${pathOf(who, asked)}/confirm`, {
    action: "complete",
    ...named(asked),
    signingStep: of(proof.asked, "signingStep"),
    challengeIdentifier: of(proof.asked, "challenge.challengeIdentifier"),
    firstFactor: factorAt(0)
  }),
  proofs: [proof]
})

export const cancel = (who: Bearer, asked: Asked): Draft =>
  call(who, endpoints.cancel[asked.kind], "DELETE",
    `${pathOf(who, asked)}${asked.kind === "change" ? "" : `/${of(asked.call, `${asked.kind}Id`)}`}`)

/** By an arbitrary id. */
export const cancelId = (who: Bearer, kind: "deposit" | "withdrawal", number: string): Draft =>
  call(who, endpoints.cancel[kind], "DELETE", `${pathOf(who, { kind })}/${kind === "deposit" ? "dep" : "wdr"}_${number}`)

/** By the id of a transfer of another kind. */
export const cancelNamed = (who: Bearer, kind: "deposit" | "withdrawal", { call: asked, kind: named }: Asked): Draft =>
  call(who, endpoints.cancel[kind], "DELETE", `${pathOf(who, { kind })}/${of(asked, named === "change" ? "partyChangeId" : `${named}Id`)}`)

export const look = (who: Bearer, asked: Asked): Draft =>
  call(who, endpoints.get[asked.kind], "GET",
    `${pathOf(who, asked)}${asked.kind === "change" ? "" : `/${of(asked.call, `${asked.kind}Id`)}`}`)

export const getParty = (who: Bearer): Draft => call(who, "getLedgerParty", "GET", pathOf(who, { kind: "change" }))
/** The treasury's public report. */
export const solvency = (who: Bearer): Draft => ({ ...call(who, "getSolvency", "GET", "/v1/solvency"), token: "", credential: "none" })
/** A page of a list; after the page that a call returned, if one is given. */
export const list = (who: Bearer, what: keyof typeof listings, limit: number, behind?: number): Draft => {
  const cursor = behind === undefined ? "" : `&cursor=${of(behind, "nextCursor")}`
  return call(who, listings[what], "GET", `/v1/accounts/${who.accountId}/${what}?limit=${limit}${cursor}`)
}
/** All changes of an account from its first record on, as far as one answer goes. */
export const changes = (who: Bearer): Draft =>
  call(who, "listChanges", "GET", `/v1/accounts/${who.accountId}/changes?fromSequence=0&limit=500&waitMs=0`)
/** Updates the signer's pinned passkeys to the account's. */
export const beginPins = (who: Bearer): Draft =>
  call(who, "pinPasskeys", "POST", `${pathOf(who, { kind: "change" })}/passkeys`, { action: "initiate" })
export const finishPins = (who: Bearer, proof: Proof): Draft => ({
  ...call(who, "pinPasskeys", "POST", `${pathOf(who, { kind: "change" })}/passkeys`, {
    action: "complete",
    challengeIdentifier: of(proof.asked, "challenge.challengeIdentifier"),
    firstFactor: factorAt(0)
  }),
  proofs: [proof]
})
