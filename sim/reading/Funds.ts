/**
 * Requests about money on the ledger, by the contract: which they are, what they ask for, and which passkey approves. Written from the
 * contract, sharing nothing with the venue's edge, nor with its derivation of command ids.
 */
import { createHash } from "node:crypto"
import * as Bodies from "./Bodies.js"
import { fits, isObject, type Json, name, oneOf, shape } from "./Bodies.js"

export type Kind = "deposit" | "withdrawal" | "party_change"

/** A transfer by its id; a change of party has no id in requests, which mean the latest. */
export interface Named {
  readonly kind: Kind
  readonly id: string | undefined
}

/** The content of a passkey's response. */
export interface AskedProof {
  readonly challengeIdentifier: string
  readonly credentialId: string
  readonly clientData: string
  readonly authenticatorData: string
  readonly signature: string
}

export type Wish =
  | { readonly kind: "request"; readonly of: "deposit"; readonly asset: string; readonly amountAtoms: string }
  | {
    readonly kind: "request"
    readonly of: "withdrawal"
    readonly asset: string
    readonly amountAtoms: string
    readonly destinationPartyId: string
  }
  | { readonly kind: "request"; readonly of: "party_change" }
  | { readonly kind: "cancel"; readonly of: Named }
  | { readonly kind: "initiate"; readonly of: Named; readonly signingStep: string | undefined }
  | { readonly kind: "complete"; readonly of: Named; readonly signingStep: string; readonly proof: AskedProof }
  | { readonly kind: "look"; readonly of: Named }
  | { readonly kind: "list"; readonly of: "deposit" | "withdrawal" }
  | { readonly kind: "beginPins" }
  | { readonly kind: "finishPins"; readonly proof: AskedProof }

export interface Reading {
  /** The account in the path. */
  readonly accountId: string
  /** Undefined: the request is malformed by the contract. */
  readonly wish: Wish | undefined
}

const places = /^\/v1\/accounts\/([^/]+)\/(deposits|withdrawals|ledger-party)(?:\/([^/?]+))?(?:\?(.*))?$/

/** Whether a request is about money on the ledger. */
export const isOfFunds = (target: string): boolean => /^\/v1\/accounts\/[^/]+\/(?:deposits|withdrawals|ledger-party)(?:[/?]|$)/.test(target)

/** The steps that owners approve. */
const signingSteps = oneOf("owner_account_acceptance", "treasury_offer", "owner_offer_acceptance", "treasury_withdrawal")
const party: (value: unknown) => boolean = (value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,185}::1220[0-9a-f]{64}$/.test(value)
const part: (value: unknown) => boolean = (value) => typeof value === "string" && /^[A-Za-z0-9_-]{1,4096}$/.test(value)

const amount = { asset: name, amountAtoms: name }
const bodies = {
  deposit: shape(amount),
  withdrawal: shape({ ...amount, destinationPartyId: party })
}

const assertion = shape({ credId: part, clientData: part, signature: part, authenticatorData: part })
const factor = shape({ kind: oneOf("Fido2"), credentialAssertion: (value) => fits(value, assertion) })
const isFactor = (value: unknown): boolean => fits(value, factor)

/** The member of a body that contains the transfer's id. */
const names = { deposit: { depositId: name }, withdrawal: { withdrawalId: name }, party_change: {} } as const

const proofOf = ({ challengeIdentifier, firstFactor }: Json): AskedProof => {
  const { authenticatorData, clientData, credId, signature } = (firstFactor as Json)["credentialAssertion"] as Json
  return {
    challengeIdentifier: String(challengeIdentifier),
    credentialId: String(credId),
    clientData: String(clientData),
    authenticatorData: String(authenticatorData),
    signature: String(signature)
  }
}

const confirmed = (kind: Kind, body: unknown): Wish | undefined => {
  const initiation = shape({ action: oneOf("initiate"), ...names[kind] }, { signingStep: signingSteps })
  const completion = shape({
    action: oneOf("complete"),
    ...names[kind],
    signingStep: signingSteps,
    challengeIdentifier: name,
    firstFactor: isFactor
  })
  const idIn = (json: Json): string | undefined => kind === "party_change" ? undefined : String(json[`${kind}Id`])
  if (fits(body, initiation)) {
    const signingStep = body["signingStep"]
    return {
      kind: "initiate",
      of: { kind, id: idIn(body) },
      signingStep: signingStep === undefined ? undefined : String(signingStep)
    }
  }
  if (!fits(body, completion)) return undefined
  return { kind: "complete", of: { kind, id: idIn(body) }, signingStep: String(body["signingStep"]), proof: proofOf(body) }
}

const pinned = (body: unknown): Wish | undefined => {
  if (fits(body, shape({ action: oneOf("initiate") }))) return { kind: "beginPins" }
  return fits(body, shape({ action: oneOf("complete"), challengeIdentifier: name, firstFactor: isFactor }))
    ? { kind: "finishPins", proof: proofOf(body) }
    : undefined
}

const requested = (kind: Kind, body: unknown): Wish | undefined => {
  if (kind === "party_change") return { kind: "request", of: kind }
  if (!fits(body, bodies[kind])) return undefined
  const [asset, amountAtoms] = [String(body["asset"]), String(body["amountAtoms"])]
  return kind === "deposit"
    ? { kind: "request", of: kind, asset, amountAtoms }
    : { kind: "request", of: kind, asset, amountAtoms, destinationPartyId: String(body["destinationPartyId"]) }
}

const kindOf = { deposits: "deposit", withdrawals: "withdrawal", "ledger-party": "party_change" } as const

const wished = (method: string, kind: Kind, last: string | undefined, body: unknown): Wish | undefined => {
  const isChange = kind === "party_change"
  switch (method) {
    case "POST":
      if (last === "confirm") return confirmed(kind, body)
      if (last === "passkeys" && isChange) return pinned(body)
      return last === undefined && !isChange ? requested(kind, body) : undefined
    case "PUT":
      return last === undefined && isChange ? requested(kind, body) : undefined
    case "DELETE":
      return (last === undefined) === isChange ? { kind: "cancel", of: { kind, id: last } } : undefined
    case "GET":
      if (last !== undefined || isChange) return { kind: "look", of: { kind, id: last } }
      return { kind: "list", of: kind }
    default:
      return undefined
  }
}

/** A request's reading; undefined where it is not about money on the ledger. */
export const read = (method: string, target: string, body: string): Reading | undefined => {
  const [, accountId, place, last, search = ""] = places.exec(target) ?? []
  if (accountId === undefined || place === undefined) return undefined
  const said = body === "" ? undefined : Bodies.parse(body)?.value
  const wish = wished(method, kindOf[place as keyof typeof kindOf], last, said)
  // Only the query of a list is used, for its page.
  const known = wish?.kind === "list" ? ["limit", "cursor"] : []
  const isKnown = [...new URLSearchParams(search).keys()].every((key) => known.includes(key))
  return { accountId, wish: isKnown ? wish : undefined }
}

/** The approving passkey in a request's body; undefined where there is none. */
export const approverIn = (target: string, body: string): string | undefined => {
  if (!isOfFunds(target) || !body.includes("\"firstFactor\"")) return undefined
  const parsed = Bodies.parse(body)?.value
  const found = isObject(parsed) ? parsed["firstFactor"] : undefined
  const said = isObject(found) ? found["credentialAssertion"] : undefined
  const credentialId = isObject(said) ? said["credId"] : undefined
  return typeof credentialId === "string" ? credentialId : undefined
}

/** The challenge in a passkey's client data; undefined where the text is invalid. */
export const challengeIn = (clientData: string): string | undefined => {
  const said = Bodies.parse(Buffer.from(clientData, "base64url").toString("utf8"))?.value
  return isObject(said) && typeof said["challenge"] === "string" ? said["challenge"] : undefined
}

const prefixes: Readonly<Record<Kind, string>> = { deposit: "dep_", withdrawal: "wdr_", party_change: "pch_" }

/** A transfer's id by its number. */
export const idOf = (kind: Kind, number: number): string => prefixes[kind] + number.toString(36)

/** The transfer of an account that a request names; of changes of party it is the latest. */
export const namedBy = <T extends { readonly account: number; readonly kind: Kind; readonly number: number }>(
  transfers: ReadonlyArray<T>,
  account: number,
  { id, kind }: Named
): T | undefined =>
  transfers.findLast((each) => each.account === account && each.kind === kind && (id === undefined || idOf(kind, each.number) === id))

/** The amount as it is journaled, and the stored form of an invalid one. */
export const amountIn = ({ amountAtoms, asset }: { readonly asset: string; readonly amountAtoms: string }) => {
  const atoms = /^[1-9][0-9]*$/.test(amountAtoms) ? BigInt(amountAtoms) : -1n
  const isAmount = atoms > 0n && atoms < 2n ** 53n
  const isAsset = asset === "USDC"
  return {
    asset: isAsset ? "USDC" : "unsupported",
    amountAtoms: isAmount ? Number(atoms) : -1,
    raw: isAmount && isAsset ? "" : JSON.stringify([asset, amountAtoms])
  }
}

/** The id of a step's ledger command. `subject`: the transfer, or the account whose party is to be accepted. */
export const commandIdOf = (environment: string, subject: string, step: string): string =>
  `cmd_${createHash("sha256").update(`venue/ledger-command/v1|${environment}|${subject}|${step}`).digest("hex")}`
