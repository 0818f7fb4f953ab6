/**
 * The parts of a signing request that are decided without a passkey: the key, the planned command, and whether the bytes are that command.
 * The plan is derived from the signer's own settings and parties; the venue contributes only the facts.
 */
import canonicalize from "canonicalize"
import { createHash } from "node:crypto"
import * as Planned from "../ledger/Planned.js"
import * as Check from "../ledger/prepared/Check.js"
import { SignerRefused } from "./PartySigner.js"
import type { Account, Key, Treasury } from "./Records.js"
import type { SignRequest } from "./Requests.js"

/** Where the venue acts on the ledger. The treasury's party is left out, since the signer knows it by itself. */
export type Custody = Omit<Planned.Custody, "treasury">

/**
 * How far ahead of the signer's clock a transaction's maximum record time may be, in milliseconds: the venue asks for ten minutes by the
 * ledger's time.
 */
const longestAheadMs = 60 * 60 * 1000

const mismatch = (detail: string): SignerRefused => new SignerRefused({ reason: "prepared_mismatch", detail })
const unknown = (detail: string): SignerRefused => new SignerRefused({ reason: "unknown_key", detail })

/** What is signed, and with which key, once the bytes have been checked. */
export interface Place {
  readonly key: Key
  readonly planned: Planned.PlannedCommand
  /** Digest of the command's effect, hex: the same for every transaction prepared for it. */
  readonly plan: string
}

/** Whether the step fits this kind of transfer, and belongs to this transfer. */
const isOfTransfer = ({ accountId, facts, id, kind }: SignRequest): boolean => {
  switch (facts.step) {
    case "owner_account_acceptance":
      return facts.accountId === accountId && kind === (facts.isChange ? "party_change" : "deposit")
    case "treasury_withdrawal":
      return facts.transferId === id && kind === "withdrawal"
    case "treasury_offer":
    case "owner_offer_acceptance":
    case "treasury_offer_withdrawal":
      return facts.transferId === id && kind === "deposit"
  }
}

/** The key that signs a step: the treasury's for the treasury's steps, otherwise the account's own. */
const keyFor = ({ facts, keyId }: SignRequest, account: Account, treasury: Treasury): Key | SignerRefused => {
  const key = Planned.isOwners(facts.step) ? account.keys.find((each) => each.keyId === keyId) : treasury.key
  if (key === undefined || key.keyId !== keyId) return unknown("the key is not the one that this step is signed with")
  return key.party === undefined ? unknown("the key has no party yet") : key
}

/** Whether the owner named in the facts is the account's own party. The receiver of a withdrawal may be anybody but the treasury. */
const isOwnersParty = (facts: Planned.Facts, account: Account, key: Key): boolean => {
  if (facts.step === "treasury_withdrawal") return true
  return Planned.isOwners(facts.step)
    ? key.party?.partyId === facts.owner
    : account.keys.some(({ party }) => party?.partyId === facts.owner)
}

/** The key and the plan for a request, or the refusal. */
export const place = (
  custody: Custody,
  request: SignRequest,
  account: Account | undefined,
  treasury: Treasury | undefined
): Place | SignerRefused => {
  if (account === undefined || treasury?.key.party === undefined) return unknown("there is no such account, or no treasury yet")
  const key = keyFor(request, account, treasury)
  if (key instanceof SignerRefused) return key
  const { facts } = request
  if (!isOfTransfer(request)) return mismatch("the step is not one of this transfer")
  if (!isOwnersParty(facts, account, key)) return mismatch("the party is not the account's own")
  if (Planned.paysItself(treasury.key.party.partyId, facts)) return mismatch("the treasury would pay itself")
  const planned = Planned.plan({ ...custody, treasury: treasury.key.party.partyId }, facts)
  if (planned.commandId !== request.commandId) return mismatch("the command's id is not that of the transfer and step")
  const does = canonicalize({ accountId: account.accountId, facts, treasury: planned.custody.treasury })!
  return { key, planned, plan: createHash("sha256").update(does).digest("hex") }
}

/** Why the bytes must not be signed as the planned command; undefined where they may. */
export const faultOfBytes = (request: SignRequest, { planned }: Place, atEpochMs: number): SignerRefused | undefined => {
  const { hash, maxRecordTimeEpochMs, preparedTransaction, scheme } = request
  if (maxRecordTimeEpochMs > atEpochMs + longestAheadMs) return mismatch("it could be recorded for too long")
  const checked = Check.check({ preparedTransaction, hash, scheme, maxRecordTimeEpochMs }, planned)
  // The place of the difference is reported, but not what the bytes hold there, which may be anything.
  return checked instanceof Check.Mismatch ? mismatch(`the transaction is not the planned one: ${checked.what}`) : undefined
}
