/**
 * Safety (I11). An owner is notified once of each address from which a key is used: a request by the key from a new address is answered,
 * or let in on the stream, no earlier than that was noted. Each process is checked by itself, as long as it has not made so many notes for
 * the account that it makes no more for a while, and only once it has taken something else up: a process that stops serves its last
 * clients, and takes up nothing more. While one address of a key is being noted, another waits, and is noted as soon as the process knows
 * that the first one is; where the writer has no room for that, it waits for the key's next use.
 */
import type { NaiveKey } from "../model/NaiveIdentity.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import { firstApart, firstOfTickets } from "../workload/Wallet.js"
import { addresses } from "../world/Addresses.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Once so many blocks after that of a note are durable, the venue certainly knows that the note is. */
const surelyTold = 5
/** The number of notes of an account per minute that are certainly made. */
const surelyNoted = 10

interface State {
  model: NaiveVenue | undefined
  /** Keys by their digests. */
  readonly keys: Map<string, NaiveKey>
  /** Uses of keys from addresses that the journal has; and those that this process was about to note. */
  readonly known: Set<string>
  readonly noted: Set<string>
  /** How many this process was about to note for each account. */
  readonly notes: Map<number, number>
  /** How often this process took a call by a key up; infinite where an earlier process did, or may have let it in. */
  readonly taken: Map<number, number>
  /** Keys with a note in progress: how many more blocks have to be durable until the process certainly knows the note. */
  readonly underWay: Map<string, number>
  /** Addresses from which keys were used while another was being noted, and which wait for that, with the keys' accounts. */
  readonly waiting: Map<string, { readonly account: number; readonly addresses: Set<string> }>
  /** The first sequence of the latest block. */
  blockAt: number
  /** Uses in this process that it was not about to note. */
  readonly unnoted: Array<string>
  /** Presented tickets, by connection and frame. */
  readonly shown: Map<string, string>
}

const useOf = (keyId: string, address: string): string => `${keyId} ${address}`

/** An address of a key should have been noted by now, unless the account has had so many notes that it may have no more for a while. */
const missed = ({ notes, unnoted }: State, account: number, keyId: string, address: string): void => {
  if ((notes.get(account) ?? 0) < surelyNoted) unnoted.push(`${keyId} was used from ${address}, and nobody has noted that`)
}

/** Checks a key's use that was let in: its address is known, or was about to be noted, or waits until another one is. */
const used = (state: State, { account, clientName, keyId }: NaiveKey, address: string): void => {
  const { known, noted, underWay, waiting } = state
  // Keys without a name have no such notes.
  if (clientName === undefined) return
  const use = useOf(keyId, address)
  if (known.has(use) || noted.has(use)) return
  if (!underWay.has(keyId)) return missed(state, account, keyId, address)
  const others = waiting.get(keyId)
  if (others === undefined) waiting.set(keyId, { account, addresses: new Set([address]) })
  else others.addresses.add(address)
}

/** Whether a call certainly uses its key: it is about the key's own account, or its orders and tickets. */
const isByKey = ({ accountId, method, target, token }: Call): boolean =>
  token.startsWith("pk_") && (
    (accountId !== "" && target.startsWith(`/v1/accounts/${accountId}/`))
    || (method === "POST" && /^\/v1\/(?:orders|realtime\/ticket)$/.test(target))
  )

/** The address of a call: those of owners and their agents are numbered separately. */
const placeOf = ({ credential, id }: Call): string =>
  id < firstApart || (id >= firstOfTickets && credential === "trader") ? addresses.traders : addresses.owners

type Seen<T extends Observation["_tag"]> = Extract<Observation, { readonly _tag: T }>

const answered = (state: State, { answer: { status }, call }: Seen<"Answered">): void => {
  if (!isByKey(call)) return
  const isOnce = state.taken.get(call.id) === 1
  state.taken.delete(call.id)
  if (status !== 200 || !isOnce) return
  const key = state.keys.get(Identity.sha256(call.token, "hex"))
  if (key !== undefined) used(state, key, placeOf(call))
}

const shown = (state: State, { line, text }: Seen<"FrameTaken">): void => {
  if (!text.includes("\"auth\"")) return
  try {
    const frame: unknown = JSON.parse(text)
    if (isObject(frame) && frame["op"] === "auth") state.shown.set(`${line} ${String(frame["id"])}`, String(frame["ticket"]))
  } catch {
    // It is answered as malformed.
  }
}

/** A ticket that lets a client in on the stream is a use of the key that it was minted by. */
const letIn = (state: State, { frame: { id }, line }: Seen<"FrameLeft">): void => {
  const ticket = state.shown.get(`${line} ${String(id)}`)
  if (ticket === undefined || state.model === undefined) return
  state.shown.delete(`${line} ${String(id)}`)
  const { keys, tickets } = state.model.identity
  // The family is in a ticket's first bytes.
  const family = tickets.families[Number(Buffer.from(ticket, "base64url").readBigUInt64BE(0))]
  const key = family === undefined ? undefined : keys[family.apiKey]
  if (key !== undefined) used(state, key, addresses.streams)
}

/** A block is durable: notes in progress are one block closer to being known, and then those are due that have waited for them. */
const passed = (state: State, { firstSequence }: Seen<"Committed">["block"]): void => {
  if (firstSequence === state.blockAt) return
  state.blockAt = firstSequence
  for (const [keyId, left] of state.underWay) {
    if (left > 1) {
      state.underWay.set(keyId, left - 1)
      continue
    }
    state.underWay.delete(keyId)
    const others = state.waiting.get(keyId)
    if (others === undefined) continue
    state.waiting.delete(keyId)
    for (const address of others.addresses) missed(state, others.account, keyId, address)
  }
}

const committed = (state: State, { block, model, record: { command } }: Seen<"Committed">): void => {
  state.model = model
  passed(state, block)
  for (const key of model.identity.keys.slice(state.keys.size)) state.keys.set(key.secretSha256, key)
  if (command.kind !== "NoteSecurity" || command.what !== "key_used_from_new_address") return
  state.known.add(useOf(command.credentialId, command.remoteAddress))
  if (state.underWay.has(command.credentialId)) state.underWay.set(command.credentialId, surelyTold)
}

const offered = (state: State, { command, taken }: Seen<"Offered">): Verdict => {
  const [unnoted] = state.unnoted
  if (unnoted !== undefined) return broken(unnoted)
  if (command.kind !== "NoteSecurity" || command.what !== "key_used_from_new_address") return holds
  const { credentialId, ofAccount, remoteAddress } = command
  state.noted.add(useOf(credentialId, remoteAddress))
  state.waiting.get(credentialId)?.addresses.delete(remoteAddress)
  if (taken) state.underWay.set(credentialId, Number.POSITIVE_INFINITY)
  else state.waiting.delete(credentialId)
  state.notes.set(ofAccount, (state.notes.get(ofAccount) ?? 0) + 1)
  return holds
}

const started = (state: State): void => {
  state.noted.clear()
  state.notes.clear()
  state.underWay.clear()
  state.waiting.clear()
  state.unnoted.length = 0
  state.shown.clear()
  // Their answers may still be on their way, from either process.
  for (const id of state.taken.keys()) state.taken.set(id, Number.POSITIVE_INFINITY)
}

export const keyAddresses: Property<State> = {
  name: "owners-are-told-where-keys-are-used",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    model: undefined,
    keys: new Map(),
    known: new Set(),
    noted: new Set(),
    notes: new Map(),
    taken: new Map(),
    underWay: new Map(),
    waiting: new Map(),
    blockAt: 0,
    unnoted: [],
    shown: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        started(state)
        return holds
      case "Handling":
        if (isByKey(seen.call)) state.taken.set(seen.call.id, (state.taken.get(seen.call.id) ?? 0) + 1)
        return holds
      case "Answered":
        answered(state, seen)
        return holds
      case "Offered":
        return offered(state, seen)
      case "FrameTaken":
        shown(state, seen)
        return holds
      case "FrameLeft":
        if (seen.frame.type === "auth_ok") letIn(state, seen)
        return holds
      case "Committed":
        committed(state, seen)
        return holds
      default:
        return holds
    }
  }
}
