/**
 * Request limits: windows of a fixed length that begin with the first request of a subject and do not roll. Each class of subjects has
 * a table of its own: API keys, owners' sessions, remote addresses without a credential, remote addresses that sign in, the keys of
 * realtime tickets that are rotated or ended, remote addresses that read the metrics, those that open streams, and those whose browsers
 * ask for pages of other sites. Counts live as long as the process.
 *
 * Memory is bounded. A class has a fixed number of windows; while all of them are running, new subjects share common windows by a hash
 * of their network. A shared window has the limit of a single one, so no subject is ever allowed more than its limit; it may be refused
 * earlier, but only while more subjects than that come within one window. Only some addresses of one network have windows of their own
 * and the others share one, so that whoever controls a whole network takes no windows from others.
 */
import * as Counts from "../domain/Counts.js"
import { hourMs, minuteMs } from "../domain/Durations.js"
import { type Environment, isPublic } from "../domain/Environment.js"
import { networkOf } from "../domain/FairPlaces.js"

/** The classes of limited subjects. */
export const classes = ["key", "session", "public", "sign_in", "ticket", "metrics", "stream", "cross_site"] as const
export type Class = (typeof classes)[number]

/** The name of a subject: an API key's index in the engine's table, the digest of a session, or a remote address. */
export type Subject = number | string

export interface Options {
  /** Requests of one API key, or of one owner's session, in a window. Cancels have further ones for themselves: `cancelsBeyond`. */
  readonly perKey: number
  /** Requests of one remote address without a credential, or with one that was refused; and streams that it opens. */
  readonly perAddress: number
  /** Attempts of one remote address to sign in or to connect an agent. */
  readonly signInsPerAddress: number
  /**
   * Accounts opened without a credential within an hour, from all addresses together; in staging and production a network has a
   * sixteenth of them, or 16. Absent: `usualOpeningsPerHour`.
   */
  readonly openingsPerHour?: number
  /** Length of a window, ms. A venue has a minute; only simulations differ. */
  readonly windowMs: number
}

/** At this rate the table of a million accounts is full after six weeks rather than an hour, however many addresses open accounts. */
export const usualOpeningsPerHour = 1_000

export const defaults: Options = { perKey: 600, perAddress: 1_200, signInsPerAddress: 30, windowMs: minuteMs }

/**
 * How often the tickets of one key may be rotated or ended in a window from addresses that have used up their own limit. It is no part of
 * the key's limit: whoever finds an old ticket could use that up, and keep the key from cancelling.
 */
const ticketsPerKey = 60

/**
 * How often an address may read the metrics in a window. It is no part of the address's limit: clients behind a monitor's address would
 * otherwise keep the figures from it, which pages somebody for a healthy venue. It lets in two monitors that ask every second, and keeps
 * everybody else from having the one thread send text that is larger than any other answer.
 */
const metricsPerAddress = 120

/**
 * What part of an address's limit its browsers have for what pages of other sites have them ask. Any page may have them ask, also where it
 * may read no answer, and would otherwise use up what the address's own clients may do. They need little, since what they are for is a
 * link to the venue; and it is added to what somebody who is no browser may ask, by saying that he is one.
 */
const partOfCrossSite = 4

/** The most requests of a key in a window, cancels included, that a staging or production venue lets in. */
export const mostPerKey = 6_000

/**
 * How many cancels of a key are let in in a window when its limit is used up: as many as the limit again, but in staging and production
 * never so many that both together exceed what such a venue may let in.
 */
export const cancelsBeyond = (perKey: number, environment: Environment): number =>
  isPublic(environment) ? Math.min(perKey, Math.max(0, mostPerKey - perKey)) : perKey

/** Limits that nobody reaches, for measuring or stressing the venue itself. */
export const unlimited: Options = { perKey: 1e9, perAddress: 1e9, signInsPerAddress: 1e9, openingsPerHour: 1e9, windowMs: minuteMs }

/** How much of a limit is left, as clients are told. */
export interface View {
  readonly limit: number
  readonly remaining: number
  readonly resetsAtEpochMs: number
}

/** Windows of single subjects in a class, and windows that new subjects share while all of those are running. */
const windowsOfClass = 65_536
const sharedWindows = 1_024
/** Addresses of one network have at most one in this many of a class's windows as their own. */
const partsOfNetworks = 64
/** Windows of single subjects for which a class has memory from the start; this doubles as needed. */
const initialWindows = 256

/** The network of which a subject is a part: for anything but an IPv6 address, the subject itself. */
const networkOfSubject = (subject: Subject): Subject => typeof subject === "string" ? networkOf(subject) : subject

/** A number of 32 bits for a subject, the same in every process. FNV-1a. */
const hashOf = (subject: Subject): number => {
  let hash = 0x811c9dc5
  if (typeof subject === "number") {
    for (let rest = subject; rest > 0; rest = Math.floor(rest / 256)) hash = Math.imul(hash ^ (rest & 255), 0x01000193)
  } else for (let at = 0; at < subject.length; at++) hash = Math.imul(hash ^ subject.charCodeAt(at), 0x01000193)
  // The low bits of short names differ little: the high ones are mixed in.
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The windows of one class. Results are left in members, so that a request allocates nothing. */
export class Windows {
  /** What was left after the request that was counted last, and when its window ends. */
  remaining = 0
  resetsAtEpochMs = 0
  /** The number of requests that were refused, and of those that were counted in a shared window. */
  refused = 0
  shared = 0
  /** The place of each subject's window, in the order in which the windows began. */
  private readonly placeOf = new Map<Subject, number>()
  private readonly left: Array<number> = []
  /** The number of own windows by network, for networks of many addresses. */
  private readonly ownOf = new Map<Subject, number>()
  private readonly ownOfNetwork: number
  private untouched = 0
  // By place: shared windows first, then those of single subjects.
  private beganAtEpochMs: Float64Array
  private used: Uint32Array
  /** Requests beyond the limit, which count against the allowance set aside for their kind. */
  private usedBeyond: Uint32Array

  constructor(
    readonly limit: number,
    readonly windowMs: number,
    private readonly size = windowsOfClass,
    private readonly sharedSize = sharedWindows,
    /** How many requests beyond the limit are set aside for cancels. */
    readonly cancelsBeyond = 0
  ) {
    const places = sharedSize + Math.min(size, initialWindows)
    this.ownOfNetwork = Math.ceil(size / partsOfNetworks)
    this.beganAtEpochMs = new Float64Array(places)
    this.used = new Uint32Array(places)
    this.usedBeyond = new Uint32Array(places)
  }

  /** The number of windows kept now. */
  get kept(): number {
    return this.placeOf.size
  }

  /** Counts a request. Returns whether it is allowed; `beyond`: how many requests of its kind are allowed beyond the limit. */
  take(subject: Subject, atEpochMs: number, beyond = 0): boolean {
    const name = this.nameOf(subject)
    const place = this.placeOf.get(name) ?? this.enter(name, atEpochMs)
    if (!this.runs(place, atEpochMs)) this.begin(name, place, atEpochMs)
    this.resetsAtEpochMs = this.beganAtEpochMs[place]! + this.windowMs
    const used = this.used[place]!
    if (used < this.limit) {
      this.used[place] = used + 1
      this.remaining = this.limit - used - 1
      return true
    }
    this.remaining = 0
    if (this.usedBeyond[place]! < beyond) {
      this.usedBeyond[place]!++
      return true
    }
    this.refused++
    return false
  }

  /** Takes back a request that was counted at a time, if its window still runs. */
  giveBack(subject: Subject, countedAtEpochMs: number, atEpochMs: number): void {
    const place = this.foundPlace(subject)
    if (this.isOver(place, atEpochMs) || this.beganAtEpochMs[place]! > countedAtEpochMs || this.used[place] === 0) return
    this.used[place]!--
  }

  /** What is left of a subject's limit, without counting anything. */
  view(subject: Subject, atEpochMs: number): View {
    const place = this.foundPlace(subject)
    const isOver = this.isOver(place, atEpochMs)
    return {
      limit: this.limit,
      remaining: isOver ? this.limit : this.limit - this.used[place]!,
      resetsAtEpochMs: (isOver ? atEpochMs : Math.min(atEpochMs, this.beganAtEpochMs[place]!)) + this.windowMs
    }
  }

  /** Whether a subject has used up its limit. Nothing is counted; where the clock was set back, the window lasts from now. */
  isUsedUp(subject: Subject, atEpochMs: number): boolean {
    const place = this.foundPlace(subject)
    return this.runs(place, atEpochMs) && this.used[place]! >= this.limit
  }

  /** Whether no window is running at a place. */
  private isOver(place: number, atEpochMs: number): boolean {
    return this.used[place] === 0 || atEpochMs - this.beganAtEpochMs[place]! >= this.windowMs
  }

  /** Whether a window is running at a place. Setting the clock back restores nothing: the window goes on, and lasts from now. */
  private runs(place: number, atEpochMs: number): boolean {
    if (this.isOver(place, atEpochMs)) return false
    if (atEpochMs < this.beganAtEpochMs[place]!) this.beganAtEpochMs[place] = atEpochMs
    return true
  }

  private begin(name: Subject, place: number, atEpochMs: number): void {
    this.beganAtEpochMs[place] = atEpochMs
    this.used[place] = 0
    this.usedBeyond[place] = 0
    // Moved behind all others, since those in front end first.
    if (place >= this.sharedSize && this.placeOf.delete(name)) this.placeOf.set(name, place)
  }

  /** The name under which a subject is counted: its own, or its network's if enough other addresses of that have windows of their own. */
  private nameOf(subject: Subject): Subject {
    if (this.placeOf.has(subject)) return subject
    const network = networkOfSubject(subject)
    return (this.ownOf.get(network) ?? 0) < this.ownOfNetwork ? subject : network
  }

  /** The place where a subject is counted, or would be. */
  private foundPlace(subject: Subject): number {
    return this.placeOf.get(this.nameOf(subject)) ?? this.sharedPlace(subject)
  }

  private sharedPlace(subject: Subject): number {
    return hashOf(networkOfSubject(subject)) % this.sharedSize
  }

  /** Changes the number of own windows of a subject's network. */
  private count(subject: Subject, change: number): void {
    const network = networkOfSubject(subject)
    if (network === subject) return
    Counts.change(this.ownOf, network, change)
  }

  private grow(): void {
    const places = this.sharedSize + Math.min(this.size, (this.used.length - this.sharedSize) * 2)
    const beganAtEpochMs = new Float64Array(places)
    const used = new Uint32Array(places)
    const usedBeyond = new Uint32Array(places)
    beganAtEpochMs.set(this.beganAtEpochMs)
    used.set(this.used)
    usedBeyond.set(this.usedBeyond)
    this.beganAtEpochMs = beganAtEpochMs
    this.used = used
    this.usedBeyond = usedBeyond
  }

  /** Finds a place for a name that has none: one of its own while there are any, otherwise a shared one. */
  private enter(name: Subject, atEpochMs: number): number {
    const shared = this.sharedPlace(name)
    this.forgetOldest(atEpochMs)
    const place = this.left.pop() ?? (this.untouched < this.size ? this.sharedSize + this.untouched++ : undefined)
    if (place === undefined) {
      this.shared++
      return shared
    }
    // The subject may have been counted with its network or in a shared window. Its own window continues from that count: otherwise it
    // would have its limit twice in one window.
    const together = this.placeOf.get(networkOfSubject(name))
    this.placeOf.set(name, place)
    this.count(name, 1)
    if (place >= this.used.length) this.grow()
    const before = together === undefined || this.isOver(together, atEpochMs) ? shared : together
    const goesOn = !this.isOver(before, atEpochMs)
    this.beganAtEpochMs[place] = goesOn ? this.beganAtEpochMs[before]! : atEpochMs
    this.used[place] = goesOn ? this.used[before]! : 0
    this.usedBeyond[place] = goesOn ? this.usedBeyond[before]! : 0
    return place
  }

  /** Removes the two oldest windows if they have ended: more than are added, so that the table empties again after a rush. */
  private forgetOldest(atEpochMs: number): void {
    let looked = 0
    for (const [subject, place] of this.placeOf) {
      if (looked++ === 2 || !this.isOver(place, atEpochMs)) return
      this.placeOf.delete(subject)
      this.count(subject, -1)
      this.left.push(place)
    }
  }
}

/** Whole seconds until a window ends, for headers: at least 0, at most a minute. */
export const secondsUntil = (resetsAtEpochMs: number, atEpochMs: number): number =>
  Math.min(60, Math.max(0, Math.ceil((resetsAtEpochMs - atEpochMs) / 1_000)))

/** The windows of every class. */
export type RateLimits = Readonly<Record<Class, Windows>>

export const make = ({ perAddress, perKey, signInsPerAddress, windowMs }: Options, environment: Environment): RateLimits => {
  const ofCredentials = (): Windows => new Windows(perKey, windowMs, windowsOfClass, sharedWindows, cancelsBeyond(perKey, environment))
  return {
    key: ofCredentials(),
    session: ofCredentials(),
    public: new Windows(perAddress, windowMs),
    sign_in: new Windows(signInsPerAddress, windowMs),
    ticket: new Windows(Math.min(perKey, ticketsPerKey), windowMs),
    metrics: new Windows(metricsPerAddress, windowMs),
    stream: new Windows(perAddress, windowMs),
    cross_site: new Windows(Math.ceil(perAddress / partOfCrossSite), windowMs)
  }
}

/** No network opens more than this part of the accounts that may be opened in an hour, unless that would be fewer than the least. */
const partsOfOpenings = 16
/** How many accounts a network may open in an hour in any case. */
const leastOfNetworkPerHour = 16

/** Most accounts that are counted by account in windows of their own; further ones are counted in these shared windows. */
const accountsCounted = 16_384
const accountsShared = 256

/** Windows of a minute that count what happens to each account. */
export const ofAccounts = (most: number): Windows => new Windows(most, minuteMs, accountsCounted, accountsShared)

/** The name under which the openings of the whole venue are counted. */
const venue = "venue"

/**
 * Limits how many accounts are opened without a credential in an hour: in the whole venue, and of each network, so that a single customer
 * with a whole network does not take the hour from everybody else. In development and on a testnet a network may take them all: there
 * many accounts are opened from one place, by tests.
 */
export class Openings {
  private readonly all: Windows
  private readonly ofNetworks: Windows

  constructor({ openingsPerHour = usualOpeningsPerHour }: Pick<Options, "openingsPerHour">, environment: Environment) {
    const part = isPublic(environment) ? Math.max(leastOfNetworkPerHour, Math.ceil(openingsPerHour / partsOfOpenings)) : openingsPerHour
    this.all = new Windows(openingsPerHour, hourMs, 1, 1)
    this.ofNetworks = new Windows(Math.min(part, openingsPerHour), hourMs)
  }

  /** Whole seconds after which an account may be opened from an address, at most a minute; 0: it may be opened now. Nothing is counted. */
  secondsLeft(address: string, atEpochMs: number): number {
    const of = (windows: Windows, subject: Subject): number =>
      windows.isUsedUp(subject, atEpochMs) ? Math.max(1, secondsUntil(windows.view(subject, atEpochMs).resetsAtEpochMs, atEpochMs)) : 0
    return Math.max(of(this.all, venue), of(this.ofNetworks, networkOf(address)))
  }

  /** Counts an account that is opened from an address. Returns whether it may be opened; otherwise nothing is counted. */
  take(address: string, atEpochMs: number): boolean {
    if (this.secondsLeft(address, atEpochMs) > 0) return false
    this.all.take(venue, atEpochMs)
    this.ofNetworks.take(networkOf(address), atEpochMs)
    return true
  }

  /** Takes back an account that was counted at a time and not opened after all. */
  giveBack(address: string, countedAtEpochMs: number, atEpochMs: number): void {
    this.all.giveBack(venue, countedAtEpochMs, atEpochMs)
    this.ofNetworks.giveBack(networkOf(address), countedAtEpochMs, atEpochMs)
  }
}
