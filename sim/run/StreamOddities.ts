/**
 * Misuse of the stream by its clients: frames that are malformed, or name things that do not exist or are subscribed already; other
 * accounts' tickets, tickets with fewer scopes and made-up ones; streams that are left and requested again; and whatever ends a
 * connection. Everything is drawn from a generator of its own. A property checks the answers; the client's own state goes on as if it had
 * sent nothing.
 */
import type { Oddities as Options } from "../faults/Options.js"
import { timeframes } from "../reading/Queries.js"
import type { Answer } from "../properties/Observation.js"
import type { Identity } from "../workload/Calls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Line } from "../world/SimNetwork.js"
import type { Clients } from "./Clients.js"
import type { Names } from "./StreamContents.js"
import type { World } from "./World.js"

/** The connection that is misused. */
export interface OddLine extends Pick<Line, "say" | "sayBinary" | "fallSilent"> {
  readonly isOpen: () => boolean
  /** Streams that have begun on it. */
  readonly begun: () => ReadonlyArray<Names>
  /** The account of its ticket, also after that has expired; undefined before one was accepted. */
  readonly account: () => number | undefined
  /** Subscribes, unless subscribed already: the client keeps the result. */
  readonly follow: (names: Names, id: string) => void
  /** Presents a ticket, or the client's own once more. */
  readonly show: (ticket: string | undefined) => void
}

/** How often a client whose ticket has expired presents another on the same connection. */
const staysShare = 0.5
/** Where connections are requested: mostly at the stream's path. */
export const path = "/streams/v1/ws"
const targets = [path, path, path, path, path, path, path, `${path}?as=odd`, "/streams/v1", `${path}/`, "/streams/v2/ws"]
/** Longest time for which a stream is left, and for which a ticket with fewer scopes is used, ms. */
const mostAwayMs = 1_000
const mostTickets = 8

const weights = { malformed: 6, unnamed: 1, twice: 3, never: 2, away: 4, atOnce: 2, ping: 1, ticket: 3, order: 2, end: 0.7 } as const

/** Frames whose content is refused, without their ids. Malformed and missing tickets are refused like invalid ones. */
const malformed: ReadonlyArray<object> = [
  {},
  { op: "dance" },
  { op: 7 },
  { op: "ping", more: 1 },
  { op: "auth", ticket: "no ticket" },
  { op: "auth" },
  { op: "auth", ticket: null },
  { op: "subscribe", channel: "market.gossip" },
  { op: "subscribe", channel: "market.book" },
  { op: "subscribe", stream: "market.gossip", marketId: "BTC-USDC-PERP" },
  { op: "subscribe", stream: "market.book", channel: "market.book", marketId: "BTC-USDC-PERP" },
  { op: "subscribe", marketId: "BTC-USDC-PERP", fromSequence: 0 },
  { op: "unsubscribe", stream: "market.book", marketId: "BTC-USDC-PERP" },
  { op: "subscribe", channel: "account.orders", marketId: "BTC-USDC-PERP" },
  { op: "subscribe", channel: "market.candles", marketId: "BTC-USDC-PERP" },
  { op: "subscribe", channel: "market.candles", marketId: "BTC-USDC-PERP", timeframe: "7m" },
  { op: "subscribe", channel: "market.trades", marketId: "BTC-USDC-PERP", timeframe: "1m" },
  { op: "subscribe", channel: "market.trades", marketId: "BTC-USDC-PERP", series: "trade" },
  { op: "subscribe", channel: "account.balance", fromSequence: -1 },
  { op: "unsubscribe", channel: "market.book", marketId: "" },
  { op: "place", idempotencyKey: "odd", body: {}, orderId: "ord_1" },
  { op: "place", body: {} },
  { op: "cancel", idempotencyKey: "odd", body: {} },
  { op: "amend", idempotencyKey: "odd", body: {}, orderId: "" },
  { op: "cancel_all", idempotencyKey: 1, body: {} }
]

/** Texts that are JSON without an id that may be one. */
const unnamed = [
  "[]",
  "null",
  "1",
  "\"ping\"",
  "{}",
  "{\"op\":\"ping\"}",
  "{\"op\":\"ping\",\"id\":\"\"}",
  "{\"op\":\"ping\",\"id\":7}",
  "{\"op\":\"ping\",\"id\":\"two words\"}",
  `{"op":"ping","id":"${"x".repeat(65)}"}`,
  "{\"op\":\"ping\",\"id\":\"a\",\"id\":\"a\"}",
  "{\"op\":\"ping\",\"id\":\"\u00e4\"}"
]

/** Names of orders that are not valid Unicode, so that they cannot be part of a path. */
const noUnicode = ["\ud800", "ord_1\udc00", "\udfff\ud800"]
const noUnicodeShare = 0.05

/** How often a client pesters, for how long, and with how much at once. */
const pesteringShare = 0.2
const pesteringTurns = 20
const pesteringMs = 520
const pesteringAtOnce = 40
/** Maximum length of a frame's id. */
const longestId = 64

const notJson = ["", "{", "ping", "{'op':'ping'}", "{\"op\":\"ping\",}", "\u0000"]

/** Orders that are refused for every sender. */
const vain: ReadonlyArray<object> = [
  { op: "place", body: {} },
  { op: "place", body: null },
  { op: "place_batch", body: { orders: [] } },
  { op: "amend", orderId: "ord_none", body: {} },
  { op: "cancel", orderId: "ord_none", body: { more: 1 } },
  { op: "cancel_batch", body: [] },
  { op: "cancel_all", body: { marketId: 7 } },
  { op: "cancel_all_after", body: {} }
]

export class StreamOddities {
  #ids = 0
  #tickets = 0
  readonly #noUnicode: SimRandom
  readonly #pestering: SimRandom

  constructor(
    readonly name: string,
    readonly world: World,
    readonly clients: Clients,
    readonly random: SimRandom,
    readonly options: Options,
    /** Whether it may request tickets of its own: not where keys have request limits. */
    readonly mayMint: boolean
  ) {
    this.#noUnicode = random.split("no Unicode")
    this.#pestering = random.split("pestering")
  }

  /** The path of the next connection. */
  target(): string {
    return this.clients.open ? this.random.pick(targets) : path
  }

  /** Whether a client whose ticket has expired continues with another on the same connection. */
  stays(): boolean {
    return this.clients.open && this.random.chance(staysShare)
  }

  /** Whether an answer is to something that was done here. */
  isOwn(id: unknown): boolean {
    return typeof id === "string" && id.startsWith("odd")
  }

  nextId(): string {
    return `odd-${++this.#ids}`
  }

  /** How long a stream is left, ms. */
  awayMs(): number {
    return this.random.next() * mostAwayMs
  }

  /** Whether it is resumed where the client left it. */
  resumes(): boolean {
    return this.random.chance(0.8)
  }

  /** Misuses the line as long as it is open. */
  begin(line: OddLine): void {
    const next = (): void =>
      void this.world.time.after(this.random.until(this.options.meanPauseMs), () => {
        if (!line.isOpen() || !this.clients.open) return
        if (this.#noUnicode.chance(noUnicodeShare)) this.#nameNoOrder(line)
        this.#act(line)
        next()
      })
    next()
    if (this.#pestering.chance(pesteringShare)) this.#pester(line, pesteringTurns)
  }

  #nameNoOrder(line: OddLine): void {
    const [op, orderId] = [this.#noUnicode.pick(["cancel", "amend"]), this.#noUnicode.pick(noUnicode)]
    this.#say(line, { op, idempotencyKey: "odd", body: {}, orderId })
  }

  /** Requests long answers, as fast as the limits allow, whether or not it reads them. */
  #pester(line: OddLine, turns: number): void {
    this.world.time.after(pesteringMs, () => {
      if (turns === 0 || !line.isOpen() || !this.clients.open) return
      this.clients.witness.count("odd: pestering")
      const frames = Math.min(pesteringAtOnce, Math.floor(this.options.messagesPerSecond / 4))
      for (let index = 0; index < frames; index++) this.#say(line, { op: "ping", id: this.nextId().padEnd(longestId, "-") })
      this.#pester(line, turns - 1)
    })
  }

  #say({ say }: OddLine, frame: object): void {
    say(JSON.stringify({ id: this.nextId(), ...frame }))
  }

  #act(line: OddLine): void {
    const { random } = this
    const begun = line.begun()
    const act = random.weighted(weights)
    this.clients.witness.count(`odd: ${act}`)
    switch (act) {
      case "malformed":
        return this.#say(line, random.pick(malformed))
      case "unnamed":
        return line.say(random.pick(unnamed))
      case "ping":
        return this.#say(line, { op: "ping" })
      case "never":
        return this.#never(line)
      case "ticket":
        return this.#ticket(line)
      case "order":
        return this.#say(line, { idempotencyKey: `${this.name}-odd-${this.#ids}`, ...random.pick(vain) })
      case "atOnce":
        return this.#atOnce(line)
      case "end":
        return this.#end(line)
      default:
        if (begun.length > 0) this.#say(line, { op: act === "twice" ? "subscribe" : "unsubscribe", ...this.#spelled(random.pick(begun)) })
    }
  }

  /** Names of a stream, at times in another spelling: the series "trade" need not be named. */
  #spelled(names: Names): Names {
    const { series, ...others } = names
    return series === "trade" && this.random.chance(0.5) ? others : names
  }

  /** Unsubscribes from something not subscribed, or names something that does not exist. */
  #never(line: OddLine): void {
    const { random } = this
    const marketId = "NONE-USDC-PERP"
    this.#say(line, random.pick([
      { op: "subscribe", channel: "market.book", marketId },
      { op: "subscribe", channel: "market.candles", marketId, timeframe: "1m" },
      { op: "unsubscribe", channel: "market.book", marketId },
      { op: "unsubscribe", channel: "market.candles", marketId, timeframe: "1d", series: "index" }
    ]))
  }

  /** Subscribes, mostly unsubscribes before the stream has begun, and perhaps subscribes again. */
  #atOnce(line: OddLine): void {
    const { clients: { follower: { model } }, random } = this
    const { marketId } = random.pick(model.markets).parameters
    const names = { channel: "market.candles", marketId, timeframe: random.pick(timeframes), series: random.pick(["trade", "index"]) }
    line.follow(names, this.nextId())
    if (random.chance(0.7)) this.#say(line, { op: "unsubscribe", ...names })
  }

  /** Presents a ticket that gives it no more rights than it has, or fewer. */
  #ticket(line: OddLine): void {
    const { random } = this
    const account = line.account()
    if (account === undefined) return
    const which = random.weighted({ own: 2, madeUp: 1, other: 2, reading: 2 })
    if (which === "own") return line.show(undefined)
    if (which === "madeUp") return line.show(Buffer.from(random.bytes(32)).toString("base64url"))
    const { identities } = this.clients
    const who = which === "reading"
      ? identities.find((one) => one.account === account)
      : random.pick(identities.filter((one) => one.account !== account))
    if (who === undefined) return
    this.#mint(who, which === "reading" ? ["read"] : ["read", "trade"], (ticket) => {
      if (!line.isOpen()) return
      line.show(ticket)
      if (which === "reading") this.world.time.after(this.awayMs(), () => line.isOpen() && line.show(undefined))
    })
  }

  #mint(who: Identity, scopes: ReadonlyArray<string>, told: (ticket: string) => void): void {
    if (!this.mayMint || this.#tickets++ >= mostTickets) return
    const draft = OwnerCalls.mintTicket(OwnerCalls.demoKey(this.name, who), { scopes })
    this.clients.issueUnscripted({ ...draft, persistent: false }, (answer: Answer | undefined) => {
      if (answer?.status === 200) told((answer.json as { readonly ticket: string }).ticket)
    })
  }

  /** Does what ends the connection, or nearly. */
  #end(line: OddLine): void {
    const { options, random } = this
    const how = random.weighted({ notJson: 3, binary: 1, flood: 1, silence: 0.6 })
    if (how === "binary") return line.sayBinary()
    if (how === "silence") return line.fallSilent()
    // A client that has sent little for a while may send five seconds' worth of frames at once.
    const count = how === "notJson" ? random.pick([1, 2, 3, 4]) : 5 * options.messagesPerSecond + random.pick([-1, 1, 1])
    for (let index = 0; index < count; index++) {
      if (how === "notJson") line.say(random.pick(notJson))
      else this.#say(line, { op: "ping" })
    }
  }
}
