/** What the properties about who may act require of answers to a key that ends, and which violations they detect. */
import { expect, test } from "vitest"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { authority } from "../../sim/properties/authority.js"
import { identityEqualsModel } from "../../sim/properties/identityEqualsModel.js"
import { keyAddresses } from "../../sim/properties/keyAddresses.js"
import { keyUses } from "../../sim/properties/keyUses.js"
import type { Observation } from "../../sim/properties/Observation.js"
import { type Property, watch } from "../../sim/properties/Property.js"
import * as Identity from "../../sim/reading/Identity.js"
import * as Calls from "../../sim/workload/Calls.js"
import { addresses } from "../../sim/world/Addresses.js"
import { accountId as idOf } from "../../src/domain/Ids.js"
import * as Errors from "../../src/edge/http/Errors.js"
import { type AnyGiven, completeAny } from "../engine/commands.js"

const openedAtEpochMs = 1_700_000_000_000
const lifetimesSeconds = [300, 600] as const
const endsAtEpochMs = openedAtEpochMs + lifetimesSeconds[0] * 1_000
const remoteAddress = ""
const tokenOf = (number: number): string => `pk_development_${number}_secret`

type Clock = readonly [number, number] | undefined

/** An owner whose agents have one key each, with every lifetime, observed by a property together with the causing records. */
class Venue {
  readonly model = new NaiveVenue()
  readonly #watcher
  #calls = 0

  constructor(property: Property<any>) {
    this.#watcher = watch(property)
    const passkey = { credentialId: "AAAA", userHandle: "BBBB", publicKey: "CCCC", signCount: 0, transports: "", displayName: "phone" }
    this.commit({ kind: "OpenOwnerAccount", ...passkey, tokenSha256: Identity.sha256("0", "hex"), remoteAddress })
    for (const [number, keyLifetimeSeconds] of lifetimesSeconds.entries()) {
      const deviceSha256 = Identity.sha256(`device ${number}`, "hex")
      const asked = { deviceSha256, codeChallenge: "challenge", clientName: "maker", scopes: 3, keyLifetimeSeconds, grantMs: 60_000 }
      this.commit({ kind: "ApproveAgent", account: 0, credential: 0, ...asked, remoteAddress })
      const key = {
        keyId: `key_${number}`,
        displayPrefix: `pk_development_${number}`,
        secretSha256: Identity.sha256(tokenOf(number), "hex")
      }
      this.commit({ kind: "ExchangeGrant", deviceSha256, ...key, remoteAddress })
    }
  }

  commit(given: AnyGiven, atEpochMs = openedAtEpochMs): void {
    const record = { sequence: this.model.sequence + 1, atEpochMs, command: completeAny(given) }
    const decision = this.model.apply(record)
    const block = { epoch: 1, digest: "", firstSequence: record.sequence, count: 1, bytes: 512, misread: undefined }
    expect(this.#watcher.observe({ _tag: "Committed", record, decision, model: this.model, block })).toBe(undefined)
  }

  /** Another process starts. */
  start(): void {
    this.see({ _tag: "Started" } as Observation)
  }

  see(seen: Observation): void {
    expect(this.said(seen)).toBe(undefined)
  }

  said(seen: Observation) {
    return this.#watcher.observe(seen)
  }

  /** The verdict on the answer to a call with a key; `meanwhile` happens during the call. */
  verdict(of: Partial<Calls.Draft>, status: number, body: object, clock: Clock, meanwhile = () => {}) {
    const who = { client: "agent", account: 0, accountId: idOf(this.model.accounts[0]!.born), apiKey: tokenOf(0) }
    const draft: Calls.Draft = { ...Calls.read(who, "", "", "trader"), credential: "issued", ...of }
    const call = { ...draft, id: this.#calls++, reading: { _tag: "other" as const } }
    this.see({ _tag: "Asked", call, attempt: 1 })
    this.see({ _tag: "Handling", call, atEpochMs: clock?.[0] ?? openedAtEpochMs, movedAhead: 0 })
    meanwhile()
    const answered: Observation = {
      _tag: "Answered",
      call,
      attempt: 1,
      answer: { status, headers: {}, text: JSON.stringify(body), json: body },
      memory: undefined,
      sequence: this.model.sequence,
      leftBehind: this.model.sequence,
      atEpochMs: openedAtEpochMs,
      clock,
      model: this.model
    }
    return this.#watcher.observe(answered)
  }
}

/** A key's record with a state. */
const shown = ({ model }: Venue, number: number, state: string) => ({
  keyId: `key_${number}`,
  accountId: idOf(model.accounts[0]!.born),
  principalKind: "agent",
  displayPrefix: `pk_development_${number}`,
  clientName: "maker",
  scopes: ["read", "trade"],
  state,
  createdAtEpochMs: openedAtEpochMs,
  expiresAtEpochMs: openedAtEpochMs + lifetimesSeconds[number]! * 1_000,
  revokedAtEpochMs: null,
  lastUsedAtEpochMs: null
})

const before: Clock = [openedAtEpochMs, openedAtEpochMs + 5]
const around: Clock = [endsAtEpochMs - 5, endsAtEpochMs + 5]
const behind: Clock = [endsAtEpochMs, endsAtEpochMs + 5]

test("a key is told what it was at some moment on the way, whatever the clock did and whatever was recorded meanwhile", () => {
  const unlike = (leaps: boolean) => (state: string, clock: Clock) => {
    const venue = new Venue(identityEqualsModel)
    // Reading one's own key also uses it.
    const key = { ...shown(venue, 0, state), lastUsedAtEpochMs: clock?.[0] ?? openedAtEpochMs }
    const body = { version: "api-key-current/v1", key, rateLimit: {} }
    const leap = leaps ? () => venue.commit({ kind: "PassTime" }, endsAtEpochMs + 90_000_000) : undefined
    return venue.verdict({ endpoint: "getCurrentApiKey", target: "/v1/api-keys/current" }, 200, body, clock, leap) !== undefined
  }
  const wrongAt = (leaps: boolean) =>
    [before, around, behind, undefined].map((clock) => ["active", "expired", "revoked"].filter((state) => unlike(leaps)(state, clock)))
  expect(wrongAt(false)).toEqual([
    ["expired", "revoked"],
    ["revoked"],
    ["active", "revoked"],
    // The clock was set during the call: the key was read before or after that.
    ["revoked"]
  ])
  // Keys end by the later of the clock and the newest record, and the key was read before or after that record.
  expect(wrongAt(true)).toEqual([["revoked"], ["revoked"], ["active", "revoked"], ["revoked"]])
})

test("keys of an owner are told as they were at one moment, be it between the ends of two", () => {
  const venue = new Venue(identityEqualsModel)
  const target = `/v1/accounts/${idOf(venue.model.accounts[0]!.born)}/api-keys`
  const isLike = (newer: string, older: string, clock: Clock) => {
    const body = { version: "api-key-list/v1", keys: [shown(venue, 1, newer), shown(venue, 0, older)] }
    return venue.verdict({ endpoint: "listApiKeys", target }, 200, body, clock) === undefined
  }
  for (const clock of [undefined, [openedAtEpochMs, openedAtEpochMs + 601_000]] as const) {
    expect(isLike("active", "active", clock)).toBe(true)
    expect(isLike("active", "expired", clock)).toBe(true)
    expect(isLike("expired", "expired", clock)).toBe(true)
    expect(isLike("expired", "active", clock)).toBe(false)
  }
})

test("behind a key's end it is turned away, save where there is no such route, or none by that method", () => {
  const venue = new Venue(authority)
  const place = { endpoint: "createOrder", method: "POST", target: "/v1/orders" }
  const nowhere = { endpoint: "", method: "POST", target: "/v1/nowhere" }
  const patch = { endpoint: "", method: "PATCH", target: "/v1/orders" }
  const isRight = (of: Partial<Calls.Draft>, failure: Errors.Failure) => {
    const { body, status } = Errors.response("native", failure, "req_1", openedAtEpochMs)
    return venue.verdict(of, status, JSON.parse(body) as object, behind) === undefined
  }
  const { keyRejected, methodNotAllowed, payloadTooLarge, routeNotFound } = Errors
  const answers = [keyRejected("expired"), routeNotFound, methodNotAllowed, payloadTooLarge]
  expect([place, nowhere, patch].map((of) => answers.map((failure) => isRight(of, failure)))).toEqual([
    [true, true, false, false],
    [true, true, true, false],
    [true, true, true, false]
  ])
  expect(venue.verdict(patch, 200, {}, behind)).toContain("has no authority any more")
})

test("a key that is let in from where it was never used is noted before its call is answered, in each process until that is durable", () => {
  const note = {
    kind: "NoteSecurity",
    what: "key_used_from_new_address",
    ofAccount: 0,
    credentialId: "key_0",
    remoteAddress: addresses.traders
  } as const
  const offered = (given: AnyGiven) => ({ _tag: "Offered", command: completeAny(given), taken: false }) as const
  const elsewhere = offered({ ...note, remoteAddress: addresses.streams })
  /** The verdict when the process accepts something else, or another process does. */
  const isUnnoted = (meanwhile: (venue: Venue) => void, behind: (venue: Venue) => void = () => {}) => {
    const venue = new Venue(keyAddresses)
    const target = `/v1/accounts/${idOf(venue.model.accounts[0]!.born)}/orders`
    expect(venue.verdict({ target }, 200, {}, undefined, () => meanwhile(venue))).toBe(undefined)
    behind(venue)
    return venue.said(offered({ kind: "PassTime" })) !== undefined
  }
  expect([
    isUnnoted(() => {}),
    isUnnoted((venue) => venue.see(elsewhere)),
    isUnnoted((venue) => venue.see({ ...elsewhere, taken: true })),
    isUnnoted((venue) => venue.see(offered(note))),
    isUnnoted((venue) => venue.commit(note)),
    isUnnoted((venue) => venue.start()),
    isUnnoted(() => {}, (venue) => venue.start())
  ]).toEqual([true, true, false, false, false, false, false])
  /** A note of another address, in progress as the key was used, is known to the process after these blocks. */
  const passed = (venue: Venue): void => {
    venue.commit({ ...note, remoteAddress: addresses.streams })
    for (let block = 0; block < 5; block++) venue.commit({ kind: "PassTime" })
  }
  const underWay = (venue: Venue): void => venue.see({ ...elsewhere, taken: true })
  expect([
    isUnnoted(underWay, passed),
    isUnnoted(underWay, (venue) => {
      venue.see({ ...offered(note), taken: true })
      passed(venue)
    }),
    // The writer has no room for the note.
    isUnnoted(underWay, (venue) => {
      venue.see(offered({ ...note, remoteAddress: addresses.owners }))
      passed(venue)
    }),
    isUnnoted(underWay, (venue) => {
      venue.start()
      passed(venue)
    })
  ]).toEqual([true, false, false, false])
})

test("whose key is good no more is told why: revoked where it was, expired behind its time alone", () => {
  const place = { endpoint: "createOrder", method: "POST", target: "/v1/orders" }
  const revoke = (venue: Venue) =>
    venue.commit({ kind: "RevokeApiKey", account: 0, credential: 0, keyId: "key_0", remoteAddress }, openedAtEpochMs + 1)
  const isWrong = (reason: "unknown" | "expired" | "revoked", clock: Clock, isRevoked: boolean, meanwhile: (venue: Venue) => void) => {
    const venue = new Venue(authority)
    if (isRevoked) revoke(venue)
    const { body, status } = Errors.response("native", Errors.keyRejected(reason), "req_1", openedAtEpochMs)
    return venue.verdict(place, status, JSON.parse(body) as object, clock, () => meanwhile(venue)) !== undefined
  }
  const wrong = (clock: Clock, isRevoked: boolean, meanwhile: (venue: Venue) => void = () => {}) =>
    (["unknown", "expired", "revoked"] as const).filter((reason) => isWrong(reason, clock, isRevoked, meanwhile))
  expect([
    wrong(before, false),
    wrong(behind, false),
    wrong(around, false),
    wrong(before, true),
    wrong(behind, true),
    wrong(before, false, revoke),
    wrong(around, false, revoke)
  ]).toEqual([["unknown", "expired", "revoked"], ["revoked"], ["revoked"], ["expired"], ["expired"], ["expired"], []])
})

test("uses of keys that have a name are journaled before a process ends that was asked to", () => {
  const command = completeAny({ kind: "NoteKeyUses", uses: [{ apiKey: 0, usedAtEpochMs: 1 }] })
  /** A note is sent to the writer: whether it found room in the inbox, and whether a turn has taken it since, with this answer at once. */
  const note = (venue: Venue, isOffered: boolean, answered?: object | "not yet"): void => {
    venue.see({ _tag: "Offered", command, taken: isOffered })
    if (isOffered && answered !== "not yet") venue.see({ _tag: "Taken", command, answered } as Observation)
  }
  const end = { _tag: "Ended", asked: true, failure: undefined, diskFailed: false } as Observation
  /** The verdict at the end of a run, after a use of a key that was answered with a status. */
  const isLost = (status: number, behind: (venue: Venue) => void, { meanwhile = () => {}, ended = end, isCalm = true }: {
    readonly meanwhile?: (venue: Venue) => void
    readonly ended?: Observation
    readonly isCalm?: boolean
  } = {}) => {
    const venue = new Venue(keyUses)
    if (isCalm) {
      venue.see({ _tag: "Healed", atEpochMs: openedAtEpochMs })
      venue.see({ _tag: "Watched", atEpochMs: openedAtEpochMs + 8_000, clockEpochMs: openedAtEpochMs, isWriting: false })
    }
    const target = `/v1/accounts/${idOf(venue.model.accounts[0]!.born)}/orders`
    expect(venue.verdict({ target }, status, {}, before, () => meanwhile(venue))).toBe(undefined)
    behind(venue)
    return venue.said(ended) !== undefined
  }
  const nothing = () => {}
  expect([
    isLost(200, nothing),
    isLost(401, nothing),
    isLost(200, (venue) => note(venue, true)),
    isLost(200, nothing, { meanwhile: (venue) => note(venue, true) }),
    isLost(200, (venue) => note(venue, false)),
    isLost(200, (venue) => note(venue, true, "not yet")),
    isLost(200, (venue) => note(venue, true, {})),
    isLost(200, (venue) => venue.start()),
    isLost(200, nothing, { isCalm: false }),
    isLost(200, nothing, { ended: { ...end, asked: false } as Observation }),
    isLost(200, nothing, { ended: { ...end, diskFailed: true } as Observation })
  ]).toEqual([true, false, false, false, true, true, true, false, false, false, false])
})

test("a read that waited names nothing from the end of its key on, unless anyone may read it", () => {
  const isWrong = (target: string, latest: (endedBy: number) => object) => {
    const venue = new Venue(authority)
    const revoke = { kind: "RevokeApiKey", account: 0, credential: 0, keyId: "key_0", remoteAddress } as const
    const body = latest(venue.model.sequence + 1)
    return venue.verdict({ target, credential: "trader" }, 200, body, before, () => venue.commit(revoke, openedAtEpochMs + 1)) !== undefined
  }
  const orders = (lastSequence: number) => ({ orders: [{ orderId: "ord_1", lastSequence }] })
  expect([
    isWrong("/v1/accounts/acc_1/orders", (endedBy) => orders(endedBy - 1)),
    isWrong("/v1/accounts/acc_1/orders", orders),
    isWrong("/v1/accounts/acc_1/positions/history", (endedBy) => ({ episodes: [], freshness: { journalSequence: endedBy + 1 } })),
    isWrong("/v1/accounts/acc_1/security-events", (endedBy) => ({ events: [{ sequence: endedBy }] })),
    isWrong("/v1/markets/ABC-USDC-PERP/stats", (endedBy) => ({ journalSequence: endedBy }))
  ]).toEqual([false, true, true, true, false])
})
