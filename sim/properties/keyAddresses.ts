/**
 * Safety (I11). Whoever has a key is told once of each place from which it is used: who is let in by it from where it was not known to
 * be used is answered, or let in on the stream, no earlier than that was noted. It is judged in each process for itself, as long as not
 * so much was noted of the account that a venue notes no more for a while, and only once the process has taken something else: one that
 * stops lets in whoever is still there, and takes nothing any more. While one place of a key is being noted another one may wait for its
 * next use.
 */
import type { NaiveKey } from "../model/NaiveIdentity.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import { firstApart, firstOfTickets } from "../workload/Wallet.js"
import { addresses } from "../world/Addresses.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Blocks behind that of a note, with the first of which that is durable the venue surely knows that the note is. */
const surelyTold = 5
/** Notes of an account within a minute that are surely made. */
const surelyNoted = 10

interface State {
  model: NaiveVenue | undefined
  /** Keys by their digests. */
  readonly keys: Map<string, NaiveKey>
  /** Keys with the places that the journal knows of them; and those that this process was about to note. */
  readonly known: Set<string>
  readonly noted: Set<string>
  /** How many this process was about to note of each account. */
  readonly notes: Map<number, number>
  /** How often this process took a call by a key up; none where another one did before, or may have let it in. */
  readonly taken: Map<number, number>
  /** Keys of which something is being noted: how many blocks more may be durable before the process knows that this is. */
  readonly underWay: Map<string, number>
  /** Where the latest block begins. */
  blockAt: number
  /** Uses of this process that it was not about to note. */
  readonly unnoted: Array<string>
  /** Tickets that were shown, by connection and frame. */
  readonly shown: Map<string, string>
}

const useOf = (keyId: string, address: string): string => `${keyId} ${address}`

/** Whoever has used a key is let in: that it is from there is known, or was about to be noted. */
const used = ({ known, noted, notes, underWay, unnoted }: State, { account, clientName, keyId }: NaiveKey, address: string): void => {
  // Of a key without a name nothing is noted.
  if (clientName === undefined) return
  const use = useOf(keyId, address)
  if (known.has(use) || noted.has(use) || underWay.has(keyId) || (notes.get(account) ?? 0) >= surelyNoted) return
  unnoted.push(`${keyId} was used from ${address}, and nobody has noted that`)
}

/** Calls by a key, which has to let them in: about its own account, or its orders and tickets. */
const isByKey = ({ accountId, method, target, token }: Call): boolean =>
  token.startsWith("pk_") && (
    (accountId !== "" && target.startsWith(`/v1/accounts/${accountId}/`))
    || (method === "POST" && /^\/v1\/(?:orders|realtime\/ticket)$/.test(target))
  )

/** Where a call comes from: what owners and their agents ask is numbered apart. */
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
    // It is answered as what it is: no frame.
  }
}

/** Whoever is let in on the stream by a ticket has used the key that it was minted by. */
const letIn = (state: State, { frame: { id }, line }: Seen<"FrameLeft">): void => {
  const ticket = state.shown.get(`${line} ${String(id)}`)
  if (ticket === undefined || state.model === undefined) return
  state.shown.delete(`${line} ${String(id)}`)
  const { keys, tickets } = state.model.identity
  // A ticket's first bytes say of which family it is.
  const family = tickets.families[Number(Buffer.from(ticket, "base64url").readBigUInt64BE(0))]
  const key = family === undefined ? undefined : keys[family.apiKey]
  if (key !== undefined) used(state, key, addresses.streams)
}

/** A block is durable: what came so many before it is known to be. */
const passed = (state: State, { firstSequence }: Seen<"Committed">["block"]): void => {
  if (firstSequence === state.blockAt) return
  state.blockAt = firstSequence
  for (const [keyId, left] of state.underWay) {
    if (left === 1) state.underWay.delete(keyId)
    else state.underWay.set(keyId, left - 1)
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
  if (taken) state.underWay.set(credentialId, Number.POSITIVE_INFINITY)
  state.notes.set(ofAccount, (state.notes.get(ofAccount) ?? 0) + 1)
  return holds
}

const started = (state: State): void => {
  state.noted.clear()
  state.notes.clear()
  state.underWay.clear()
  state.unnoted.length = 0
  state.shown.clear()
  // Their answers may still be on their way, of whichever process.
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
