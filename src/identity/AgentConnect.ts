/**
 * Agents that wait for an owner's decision: by the code that the owner types, and by the digest of the code that the agent
 * polls with. They are in this process only: with a new start they are over, and the agent begins anew. What an owner has
 * approved is in the journal.
 */
import type * as Context from "effect/Context"
import type { Reached } from "../domain/Marks.js"
import { none } from "../domain/None.js"
import * as ApiKeys from "./ApiKeys.js"
import { FairPlaces } from "./FairPlaces.js"
import { isOpen } from "../domain/Lasting.js"
import { minuteMs, Windows } from "./RateLimits.js"
import type { SecureRandom } from "./SecureRandom.js"

/** How long an agent may wait. */
export const waitMs = 10 * 60 * 1000
/** How long an agent waits between two polls at least. */
export const pollSeconds = 5
/** Agents that may wait at one time: with one more, the network that holds most of them loses its oldest. */
const mostWaiting = 16_384
/**
 * And of one remote address: with another one its own oldest waits no more. What its owner has approved by then is in the journal
 * and is fetched all the same.
 */
export const mostOfAddress = 16

/** Letters and digits that are not mistaken for each other, and make no words. */
const alphabet = "BCDFGHJKLMNPQRSTVWXZ23456789"
const groupLength = 4
/** Bytes at and above this are drawn again, so that all letters are equally likely. */
const fairBytes = 256 - 256 % alphabet.length

/** A user code as it is shown: two groups of four. */
export const userCodePattern = /^[BCDFGHJKLMNPQRSTVWXZ2-9]{4}-[BCDFGHJKLMNPQRSTVWXZ2-9]{4}$/

/** What an agent asks for. */
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
  /** When it was last polled; 0 before. */
  polledAtEpochMs: number
  /**
   * `deciding`: the owner has approved, and it is not journaled yet. `fetching`: the agent asks for the key that it was let have, and that
   * is not journaled yet.
   */
  state: "pending" | "deciding" | "approved" | "fetching" | "fetched" | "denied"
  /** The account whose owner has approved; -1 before. */
  account: number
  /** When that was decided; 0 before. */
  approvedAtEpochMs: number
  /** The id of the key that was fetched; empty before. */
  keyId: string
}

/** What a poll comes to, but for what the journal knows of. */
export type Poll = "pending" | "too_fast" | "denied" | "approved" | "unknown"

/** Wrong user codes of an account within a minute, at most: whichever of its sessions typed them, and whoever signs in anew. */
const mostWrongCodes = 10
/** Accounts whose wrong codes are counted each for itself at one time; more than these share some counts. */
const counted = 16_384
const shared = 256

export class AgentConnect {
  private readonly byUserCode = new Map<string, Waiting>()
  private readonly byDevice = new Map<string, Waiting>()
  private readonly places: FairPlaces<Waiting>
  /** By account: its wrong codes, and the one that locked it, from which on it is locked for a minute. */
  private readonly wrong = new Windows(mostWrongCodes, minuteMs, counted, shared)
  private readonly locks = new Windows(1, minuteMs, counted, shared)

  constructor(
    private readonly random: Context.Tag.Service<SecureRandom>,
    ofAddress: number,
    private readonly reached?: Reached
  ) {
    this.places = new FairPlaces(mostWaiting, ofAddress)
  }

  get count(): number {
    return this.byDevice.size
  }

  private letters(): string {
    let letters = ""
    while (letters.length < groupLength) {
      for (const byte of this.random.bytes(groupLength)) {
        if (byte < fairBytes && letters.length < groupLength) letters += alphabet[byte % alphabet.length]!
      }
    }
    return letters
  }

  /** Lets an agent wait that asks from an address, with the device code that is shown to it alone. */
  begin(asked: Asked, address: string, atEpochMs: number): { readonly deviceCode: string; readonly waiting: Waiting } {
    this.forget(atEpochMs)
    let userCode = `${this.letters()}-${this.letters()}`
    while (this.byUserCode.has(userCode)) userCode = `${this.letters()}-${this.letters()}`
    const deviceCode = `dvc_${Buffer.from(this.random.bytes(32)).toString("base64url")}`
    const waiting: Waiting = {
      ...asked,
      userCode,
      deviceSha256: ApiKeys.digest(deviceCode),
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
      this.remove(left)
    })
    this.byUserCode.set(userCode, waiting)
    this.byDevice.set(waiting.deviceSha256, waiting)
    return { deviceCode, waiting }
  }

  /** The agent that an owner may look at and approve: one that waits, or that the owner's own account has approved already. */
  findApprovable(userCode: string, account: number, atEpochMs: number): Waiting | undefined {
    const waiting = this.known(userCode, atEpochMs)
    const isOwn = waiting?.account === account && waiting.state !== "denied"
    return waiting?.state === "pending" || isOwn ? waiting : undefined
  }

  /** The agent that an owner may deny: one that waits, or that the owner's own account has approved. */
  findDeniable(userCode: string, account: number, atEpochMs: number): Waiting | undefined {
    const waiting = this.known(userCode, atEpochMs)
    return waiting?.state === "pending" || waiting?.account === account ? waiting : undefined
  }

  private known(userCode: string, atEpochMs: number): Waiting | undefined {
    const waiting = this.byUserCode.get(userCode)
    return waiting !== undefined && isOpen(waiting.expiresAtEpochMs, waitMs, atEpochMs) ? waiting : undefined
  }

  /** Notes a poll by a device code. Whoever waits is held to the interval, and whoever may fetch a key as well. */
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

  /** The owner of an account has decided; nobody else decides any more. Behind a denial nothing is approved. */
  decide(waiting: Waiting, state: Waiting["state"], account: number, atEpochMs = 0): void {
    if (waiting.state === "denied") return
    waiting.state = state
    waiting.account = state === "pending" ? none : account
    waiting.approvedAtEpochMs = atEpochMs
  }

  /** An agent that was let have a key asks for it by a device code; undefined where another of its requests does already. */
  fetch(deviceSha256: string): Waiting | undefined {
    const waiting = this.byDevice.get(deviceSha256)
    if (waiting?.state !== "approved") return undefined
    waiting.state = "fetching"
    return waiting
  }

  /** What came of that: the key's id, or none. */
  fetched(waiting: Waiting, keyId: string | undefined): void {
    waiting.state = keyId === undefined ? "approved" : "fetched"
    waiting.keyId = keyId ?? ""
  }

  /** An agent was told that the approval it waited by is no more: it asks no more, and nobody approves it again. */
  end(deviceSha256: string): void {
    const waiting = this.byDevice.get(deviceSha256)
    if (waiting?.state !== "approved") return
    this.places.leave(waiting)
    this.remove(waiting)
  }

  /** Whether too many wrong codes were typed for an account. */
  isLocked(account: number, atEpochMs: number): boolean {
    return this.locks.isUsedUp(account, atEpochMs)
  }

  /** Counts a wrong code that was typed for an account; whether it locks the account. */
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
      this.places.leave(waiting)
      this.remove(waiting)
    }
  }

  private remove({ deviceSha256, userCode }: Waiting): void {
    this.byDevice.delete(deviceSha256)
    this.byUserCode.delete(userCode)
  }
}
