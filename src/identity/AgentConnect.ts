/**
 * Agents that wait for an owner's decision, found by the user code that the owner types, or by the digest of the device code with which the
 * agent polls. They exist only in this process: after a restart the agent has to begin again. What an owner has approved is in the journal.
 * The user code is computed from the digest with a key that only this venue has, so that an approval of an earlier process is found by it.
 */
import { createHmac } from "node:crypto"
import type * as Context from "effect/Context"
import type { Reached } from "../domain/Branches.js"
import { none } from "../domain/None.js"
import * as ApiKeys from "./ApiKeys.js"
import { FairPlaces } from "../domain/FairPlaces.js"
import { isOpen } from "../domain/Lasting.js"
import { codeLetters } from "../domain/Letters.js"
import { ofAccounts } from "./RateLimits.js"
import type { SecureRandom } from "./SecureRandom.js"

/** How long an agent may wait, in milliseconds. */
export const waitMs = 10 * 60 * 1000
/** The shortest time between an agent's polls, in seconds. */
export const pollSeconds = 5
/** Most agents that wait at one time: beyond that, the network that holds most of them loses its oldest. */
const mostWaiting = 16_384
/**
 * Most agents that wait from one remote address: beyond that, the address loses its oldest. An approval that an owner has given to an agent
 * lost so is in the journal: its key can still be fetched, and still be denied.
 */
export const mostOfAddress = 16
/**
 * Most agents of one account that are known apart from those that wait: beyond that, the account loses its oldest. It is as many as may
 * have keys that act.
 */
const mostOfAccount = 64

const groupLength = 4
/** Bytes at and above this are drawn again, so that all letters are equally likely. */
const fairBytes = 256 - 256 % codeLetters.length

/** A user code as it is shown: two groups of letters. */
export const userCodePattern = new RegExp(`^[${codeLetters}]{${groupLength}}-[${codeLetters}]{${groupLength}}$`)

/** An agent's request. */
export interface Asked {
  readonly clientName: string
  readonly scopes: number
  readonly keyLifetimeSeconds: number
  /** S256 of a verifier that only the agent knows, base64url. */
  readonly codeChallenge: string
}

export interface Waiting extends Asked {
  readonly userCode: string
  readonly deviceSha256: string
  readonly requestedAtEpochMs: number
  readonly expiresAtEpochMs: number
  /** When it was last polled; 0 if never. */
  polledAtEpochMs: number
  /**
   * `deciding`: the owner has approved, but that is not journaled yet. `fetching`: the agent is fetching the key it was granted, and that
   * is not journaled yet.
   */
  state: "pending" | "deciding" | "approved" | "fetching" | "fetched" | "denied"
  /** The account whose owner has approved; -1 before. */
  account: number
  /** When the owner approved; 0 before. */
  approvedAtEpochMs: number
  /** The id of the fetched key; empty before. */
  keyId: string
}

/** What an owner has approved and the agent has not fetched, as the journal has it. */
interface Granted extends Asked {
  readonly deviceSha256: string
  readonly account: number
  readonly approvedAtEpochMs: number
  readonly expiresAtEpochMs: number
}

/** The result of a poll, apart from what only the journal knows. */
export type Poll = "pending" | "too_fast" | "denied" | "approved" | "unknown"

/** Most wrong user codes for an account within a minute, over all its sessions. */
const mostWrongCodes = 10

/** The purpose of the derived key: the same secret yields other keys for other purposes. */
const purpose = "agent-user-code/v1"

export class AgentConnect {
  private readonly key: Buffer
  private readonly byUserCode = new Map<string, Waiting>()
  private readonly byDevice = new Map<string, Waiting>()
  /** Those that wait, by their addresses. */
  private readonly places: FairPlaces<Waiting>
  /**
   * Those of which a decision of their owner is all that is left to tell, by the owner's account: their own addresses take no place from
   * them. Each costs an owner's decision, so that nobody fills these places but with accounts of his own, and then loses his first.
   */
  private readonly owned = new FairPlaces<Waiting>(mostWaiting, mostOfAccount)
  /** Per account: its wrong codes, and the wrong code that locked it for a minute. */
  private readonly wrong = ofAccounts(mostWrongCodes)
  private readonly locks = ofAccounts(1)

  constructor(
    signerSecret: string,
    private readonly random: Context.Tag.Service<SecureRandom>,
    ofAddress: number,
    private readonly reached?: Reached
  ) {
    this.key = createHmac("sha256", signerSecret).update(purpose).digest()
    this.places = new FairPlaces(mostWaiting, ofAddress)
  }

  get count(): number {
    return this.byDevice.size
  }

  /** The code that an owner types for a device code's digest. */
  userCodeOf(deviceSha256: string): string {
    let letters = ""
    for (let round = 0; letters.length < 2 * groupLength; round++) {
      for (const byte of createHmac("sha256", this.key).update(`${deviceSha256} ${round}`).digest()) {
        if (byte < fairBytes && letters.length < 2 * groupLength) letters += codeLetters[byte % codeLetters.length]!
      }
    }
    return `${letters.slice(0, groupLength)}-${letters.slice(groupLength)}`
  }

  /** Registers a waiting agent from an address. Only the agent is shown the device code. */
  begin(asked: Asked, address: string, atEpochMs: number): { readonly deviceCode: string; readonly waiting: Waiting } {
    this.forget(atEpochMs)
    let deviceCode: string
    let deviceSha256: string
    let userCode: string
    do {
      deviceCode = `dvc_${Buffer.from(this.random.bytes(32)).toString("base64url")}`
      deviceSha256 = ApiKeys.digest(deviceCode)
      userCode = this.userCodeOf(deviceSha256)
    } while (this.byUserCode.has(userCode))
    const waiting: Waiting = {
      ...asked,
      userCode,
      deviceSha256,
      requestedAtEpochMs: atEpochMs,
      expiresAtEpochMs: atEpochMs + waitMs,
      polledAtEpochMs: 0,
      state: "pending",
      account: none,
      approvedAtEpochMs: 0,
      keyId: ""
    }
    this.places.take(waiting, address, (left, crowd) => {
      if (crowd === "address") this.reached?.("an agent made room for another one of its address")
      this.lose(left)
    })
    this.enter(waiting)
    return { deviceCode, waiting }
  }

  /**
   * The agent of an approval that is in the journal. Where this process does not know it, because it has made room for others or an earlier
   * process took the approval up, it is known from here on as one that was approved; its request began with the approval, as far as can be
   * told. It takes no place from those that wait.
   */
  adopt(granted: Granted): Waiting {
    const { account, approvedAtEpochMs, clientName, codeChallenge, deviceSha256, expiresAtEpochMs, keyLifetimeSeconds, scopes } = granted
    const known = this.byDevice.get(deviceSha256)
    if (known !== undefined) return known
    const waiting: Waiting = {
      clientName,
      scopes,
      keyLifetimeSeconds,
      codeChallenge,
      userCode: this.userCodeOf(deviceSha256),
      deviceSha256,
      requestedAtEpochMs: approvedAtEpochMs,
      expiresAtEpochMs,
      polledAtEpochMs: 0,
      state: "approved",
      account,
      approvedAtEpochMs,
      keyId: ""
    }
    this.enter(waiting)
    this.own(waiting)
    return waiting
  }

  /** Moves an agent to the places of the account whose owner has decided about it. */
  private own(waiting: Waiting): void {
    this.places.leave(waiting)
    this.owned.leave(waiting)
    this.owned.take(waiting, String(waiting.account), (left) => this.lose(left))
  }

  /**
   * Forgets an agent that has lost its place. While a decision is under way it is known without one until the journal has that: otherwise
   * another could be made beside it.
   */
  private lose(left: Waiting): void {
    if (left.state !== "deciding" && left.state !== "fetching") this.remove(left)
  }

  /** Once a decision is no longer under way: an agent that has lost its place meanwhile gets one of its owner's, or is forgotten. */
  private settle(waiting: Waiting): void {
    if (this.places.has(waiting) || this.owned.has(waiting) || this.byDevice.get(waiting.deviceSha256) !== waiting) return
    if (waiting.state === "pending") this.remove(waiting)
    else this.own(waiting)
  }

  private enter(waiting: Waiting): void {
    this.byUserCode.set(waiting.userCode, waiting)
    this.byDevice.set(waiting.deviceSha256, waiting)
  }

  /** The agent that an owner may see and approve: one that waits, or that this account has approved already. */
  findApprovable(userCode: string, account: number, atEpochMs: number): Waiting | undefined {
    const waiting = this.known(userCode, atEpochMs)
    const isOwn = waiting?.account === account && waiting.state !== "denied"
    return waiting?.state === "pending" || isOwn ? waiting : undefined
  }

  /** The agent that an owner may deny: one that waits, or that this account has approved. */
  findDeniable(userCode: string, account: number, atEpochMs: number): Waiting | undefined {
    const waiting = this.known(userCode, atEpochMs)
    return waiting?.state === "pending" || waiting?.account === account ? waiting : undefined
  }

  private known(userCode: string, atEpochMs: number): Waiting | undefined {
    const waiting = this.byUserCode.get(userCode)
    return waiting !== undefined && isOpen(waiting.expiresAtEpochMs, waitMs, atEpochMs) ? waiting : undefined
  }

  /** Handles a poll with a device code. The polling interval holds for waiting agents and for those that may fetch a key. */
  poll(deviceSha256: string, atEpochMs: number): Poll {
    const waiting = this.byDevice.get(deviceSha256)
    if (waiting === undefined || !isOpen(waiting.expiresAtEpochMs, waitMs, atEpochMs)) return "unknown"
    const { state } = waiting
    const tooFast = waiting.polledAtEpochMs !== 0 && atEpochMs - waiting.polledAtEpochMs < pollSeconds * 1000
    waiting.polledAtEpochMs = atEpochMs
    if (state === "denied") return state
    if (tooFast) return "too_fast"
    return state === "pending" || state === "deciding" ? "pending" : "approved"
  }

  /** Records the decision of an account's owner; other accounts can no longer decide. After a denial nothing is approved. */
  decide(waiting: Waiting, state: Waiting["state"], account: number, atEpochMs = 0): void {
    if (waiting.state === "denied") return
    waiting.state = state
    waiting.account = state === "pending" ? none : account
    waiting.approvedAtEpochMs = atEpochMs
    if (state !== "deciding") this.settle(waiting)
  }

  /** Begins the fetching of a key by an approved agent; undefined where another of its requests is fetching already. */
  fetch(deviceSha256: string): Waiting | undefined {
    const waiting = this.byDevice.get(deviceSha256)
    if (waiting?.state !== "approved") return undefined
    waiting.state = "fetching"
    return waiting
  }

  /**
   * Ends the fetching with the key's id, or without a key. Of an agent that has its key nothing is left in the journal by which its code
   * would be found, so it must not be able to push itself out by asking again: its owner is to learn which key it has.
   */
  fetched(waiting: Waiting, keyId: string | undefined): void {
    waiting.state = keyId === undefined ? "approved" : "fetched"
    waiting.keyId = keyId ?? ""
    if (keyId === undefined) this.settle(waiting)
    else if (this.byDevice.get(waiting.deviceSha256) === waiting) this.own(waiting)
  }

  /** Removes an agent whose approval no longer exists, once it has been told: it need not poll again, and nobody can approve it again. */
  end(deviceSha256: string): void {
    const waiting = this.byDevice.get(deviceSha256)
    if (waiting?.state === "approved") this.remove(waiting)
  }

  /** Whether an account is locked because of too many wrong codes. */
  isLocked(account: number, atEpochMs: number): boolean {
    return this.locks.isUsedUp(account, atEpochMs)
  }

  /** Counts a wrong code for an account. Returns whether it locks the account. */
  noteWrong(account: number, atEpochMs: number): boolean {
    this.wrong.take(account, atEpochMs)
    if (this.wrong.remaining > 0) return false
    this.locks.take(account, atEpochMs)
    this.reached?.("wrong user codes locked an account")
    return true
  }

  private forget(atEpochMs: number): void {
    for (const waiting of this.byDevice.values()) {
      if (isOpen(waiting.expiresAtEpochMs, waitMs, atEpochMs)) return
      this.remove(waiting)
    }
  }

  private remove(waiting: Waiting): void {
    this.byDevice.delete(waiting.deviceSha256)
    this.byUserCode.delete(waiting.userCode)
    this.places.leave(waiting)
    this.owned.leave(waiting)
  }
}
