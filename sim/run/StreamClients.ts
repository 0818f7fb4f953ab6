/**
 * Clients of the stream: each keeps books, and the orders, positions and money of an account whose ticket it came by, from
 * snapshots and updates alone, and comes back with what it has whenever its connection is gone; and reads the same by REST now
 * and then. They draw from generators of their own: what they do is in no script.
 */
import * as Ids from "../../src/domain/Ids.js"
import { type Streams as Options, unlimited } from "../faults/Options.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Line } from "../world/SimNetwork.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Call, FrameLeft } from "../properties/Observation.js"
import { firstOfStreamReads } from "../workload/Wallet.js"
import type { Clients, SaidOver, Ticketed } from "./Clients.js"
import type { Follower } from "./Follower.js"
import { bookMisread, candlesKept, type Data, listOf, modelled, type Names, textOf, thingsIn } from "./StreamContents.js"
import * as Queries from "../reading/Queries.js"
import { type OddLine, path, StreamOddities } from "./StreamOddities.js"
import { StreamTrading } from "./StreamTrading.js"
import type { Witness } from "./Witness.js"
import type { World } from "./World.js"

const marketChannels = ["market.book", "market.trades", "market.ticker", "market.funding", "market.status"] as const
const accountChannels = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"] as const

/** How long a client that was turned away, or cut off, waits before it tries again. */
const againMs = 200
/** How long it takes a client at most to notice that nothing comes any more. */
const patienceMs = 20_000
/** How often it reads again what it has read before, from somewhere on. */
const againShare = 0.15
/** Of so many updates of a book that follow one another one has a checksum. */
const provedEvery = 100
/** Between two reads of what has changed, on average. */
const meanReadMs = 300

/** What the venue's end knew as a frame left it. */
interface Note {
  /** The last durable record. */
  readonly durable: number
  /** Whether the ticket was over by which it was sent. */
  readonly isLate: boolean
  /** What the stream's state is as of the frame, where the model stands there. */
  readonly expected: string | undefined
  /** Whether the client may have been behind since the stream's frame before, so that this one may be several as one. */
  readonly mayBeMerged: boolean
}

interface Frame extends Omit<FrameLeft, "error"> {
  readonly connectionId?: string
  readonly reason?: string
  readonly error?: { readonly code: string; readonly rejectionGuard?: string; readonly realtimeTicketFailure?: string }
  readonly previousSequence?: number
  readonly sequence?: number
  readonly resumed?: boolean
  readonly expiresAt?: number
  readonly data?: Data
  /** What an order came to. */
  readonly body?: unknown
  /** Of a book's update: what its best levels are then. */
  readonly checksum?: string
}

/** What is told where changes are no longer: from where on they are, and the last record. */
interface Refused {
  readonly rejectionGuard: string
  readonly limit: string
  readonly nearest: string
}

/** Tickets that a client keeps, and how often it shows the oldest of them on a new connection. */
const ticketsKept = 3
const copiedShare = 0.2
/** How often it shows the one before on the same connection, just behind one that it was told. */
const beforeShare = 0.25
/** How often a client subscribes by `stream`, as a `resync` names the channel. */
const streamShare = 0.3

/** What a client has of one stream. */
interface Held {
  /** The last sequence; undefined before anything came. */
  last: number | undefined
  /** Levels, orders, positions or a balance by name. */
  readonly things: Map<string, string>
}

const keyOf = ({ channel, marketId, series, timeframe }: Names): string =>
  [channel, marketId, timeframe, series].filter((part) => part !== undefined).join(":")

const namesOf = (key: string): Names => {
  const [channel, marketId, timeframe, series] = key.split(":")
  return {
    channel: channel!,
    ...(marketId === undefined ? {} : { marketId }),
    ...(timeframe === undefined ? {} : { timeframe }),
    ...(series === undefined ? {} : { series })
  }
}

const timeframes = ["1m", ...Queries.timeframes]

class Client {
  readonly held = new Map<string, Held>()
  #line: Line | undefined
  #ticket: string | undefined
  /** The one of its own that it has shown last: another may have come for a connection that is gone. */
  #shown: string | undefined
  /** The latest that it came by, oldest first. */
  #tickets: ReadonlyArray<string> = []
  readonly #copied: SimRandom
  readonly #replaced: SimRandom
  readonly #spelling: SimRandom
  #accountId: string | undefined
  #isOver = false
  /** The key that its ticket came by, and how far it has read by it. */
  #key: Pick<Call, "credential" | "token"> | undefined
  #through: number | undefined
  #ids = 0
  #connections = 0
  /** Whether the venue takes it for whom it says it is. */
  #isTrusted = false
  /** When the ticket is over that the venue took. */
  #expiresAtEpochMs = Number.POSITIVE_INFINITY
  /** Whether it has asked for its account's channels on this connection. */
  #hasAsked = false
  /** What it is subscribed to on this connection. */
  readonly #begun = new Set<string>()
  /** What it has said over this connection that its routes answer otherwise, by the frame's id. */
  readonly #saidOver = new Map<string, SaidOver>()
  /** Updates of each book since the last that had its checksum, or all of it, as far as it was heard of on this connection. */
  readonly #unproved = new Map<string, number>()
  /** Frames that asked for candles on this connection and have no answer: those come once the histories have them. */
  readonly #waiting = new Set<string>()
  #isSlow = false
  /**
   * Characters on their way to it; how often there were about as many as make it slow; and of each stream how often before its last frame,
   * and before the last that left at another moment: what leaves at one moment has waited together.
   */
  #onItsWay = 0
  #timesBehind = 0
  readonly #timesBehindOf = new Map<string, { readonly atMs: number; readonly earlier: number; readonly times: number }>()
  /** Whether nothing comes on its connection any more, which it has not noticed yet. */
  #isDead = false
  /** What it trades; undefined where it only looks on. */
  #trading: StreamTrading | undefined
  /** What the venue calls the connection; and whether that is to cancel its orders, once it has been asked to. */
  #connectionId = ""
  #isToCancel = false
  #hasAskedToCancel = false
  /** What it does that no good client does; undefined where that is nothing. And streams that it has let go of for a while. */
  #odd: StreamOddities | undefined
  readonly #away = new Set<string>()
  /** Connects again after a while. */
  #again: () => void = () => {}

  /** `reading`: the generator of what it reads beside the stream. */
  constructor(
    readonly name: string,
    readonly all: StreamClients,
    readonly random: SimRandom,
    readonly reading: SimRandom,
    readonly options: Options
  ) {
    this.#copied = reading.split("copied tickets")
    this.#replaced = reading.split("replaced tickets")
    this.#spelling = reading.split("spelling")
  }

  /** Trades from its next connection on. */
  trade(trading: StreamTrading): void {
    this.#trading = trading
    this.#accountId = trading.who.accountId
    // A key of another account, which came with a ticket before, reads nothing of this one.
    this.#key = undefined
  }

  /** Does odd things from its next connection on. */
  beOdd(odd: StreamOddities): void {
    this.#odd = odd
  }

  /** The account whose ticket it came by; -1 before. */
  get account(): number {
    return this.#accountId === undefined ? -1 : this.all.model.accounts.findIndex(({ born }) => Ids.accountId(born) === this.#accountId)
  }

  /** Streams that it is given all of now. */
  get live(): ReadonlyArray<readonly [string, Held]> {
    if (this.#line === undefined || this.#isDead) return []
    // Whoever is odd has asked for more than there is room for, or has let go of something: what was asked for in vain is told elsewhere.
    const isGiven = (key: string): boolean => (this.#isTrusted || key.includes(":")) && (this.#odd === undefined || this.#begun.has(key))
    return [...this.held].filter(([key, { last }]) => last !== undefined && isGiven(key))
  }

  /** Comes by a ticket. It stays with its first account. */
  told(ticket: string, accountId: string, { credential, token }: Call): void {
    if (this.#isOver || this.#trading !== undefined || this.#accountId !== undefined && this.#accountId !== accountId) return
    if (this.#accountId === undefined && !this.random.chance(0.3)) return
    this.#accountId = accountId
    // Whose first ticket is rotated knows no key.
    if (token !== "") this.#key = { credential, token }
    const before = this.#tickets.at(-1)
    this.#ticket = ticket
    this.#tickets = [...this.#tickets, ticket].slice(-ticketsKept)
    this.#authenticate()
    if (before !== undefined && before !== ticket && this.#replaced.chance(beforeShare)) this.#show(before, {})
    if (this.#through === undefined) {
      this.#through = this.random.pick([0, this.all.model.sequence])
      this.#readLater()
    }
  }

  #readLater(): void {
    this.all.world.time.after(2 * this.reading.next() * meanReadMs, () => this.#read())
  }

  /** Asks for what has changed, by the key that its ticket came by. */
  #read(): void {
    if (this.#isOver || !this.all.busy()) return
    const { reading } = this
    if (this.#key === undefined) return this.#readLater()
    const accountId = this.#accountId!
    // Whoever has lost what he read goes back to where he had it.
    if (reading.chance(againShare)) this.#through = Math.floor(reading.next() * this.#through!)
    const limit = reading.pick([1, 1, 2, 5, 50, 500])
    const waitMs = reading.pick([0, 0, 300, 2_000])
    this.all.issue({
      client: this.name,
      endpoint: "listChanges",
      method: "GET",
      target: `/v1/accounts/${accountId}/changes?fromSequence=${this.#through}&limit=${limit}&waitMs=${waitMs}`,
      body: "",
      ...this.#key,
      account: this.account,
      accountId,
      idempotencyKey: undefined,
      scope: undefined,
      intent: "read changes",
      persistent: false
    }, (answer) => {
      if (answer?.status === 200) this.#through = (answer.json as { readonly throughSequence: number }).throughSequence
      const guard = answer?.status === 400 ? answer.json as Partial<Refused> : undefined
      if (guard?.rejectionGuard === "sequence_not_retained") {
        this.all.witness.count("changes no longer told")
        // From the oldest that is told on, which may be a later one by then, or from the last.
        this.#through = Number(reading.chance(0.8) ? guard.limit : guard.nearest)
      }
      this.all.witness.count(`changes ${answer?.status ?? "unanswered"}`)
      this.#readLater()
    })
  }

  end(): void {
    this.#isOver = true
    this.#hungUp(false)
    this.#line?.cut()
    this.#line = undefined
  }

  connect(): void {
    if (this.#isOver) return
    const { network, time } = this.all.world
    const connection = ++this.#connections
    const again = (): void => {
      if (connection !== this.#connections || this.#isOver) return
      this.#hungUp(false)
      this.#line = undefined
      time.after(againMs * (0.5 + this.random.next()), () => this.connect())
    }
    this.#isTrusted = false
    this.#isDead = false
    this.#hasAsked = false
    this.#begun.clear()
    this.#waiting.clear()
    this.#saidOver.clear()
    this.#unproved.clear()
    this.#away.clear()
    this.#onItsWay = 0
    this.#timesBehindOf.clear()
    this.#connectionId = ""
    this.#hasAskedToCancel = false
    this.#isToCancel = this.#trading?.isToCancel ?? false
    this.#isSlow = this.all.busy() && this.random.chance(this.options.slowShare)
    const slowMs = this.#isSlow ? 200 * this.random.next() : 0
    const target = this.#odd?.target() ?? path
    const called = `${this.name}/${connection}`
    network.connect<Note>(target, this.random, () => slowMs, {
      leaving: (text, onItsWay) => this.#note(text, called, connection === this.#connections, onItsWay),
      taking: (taken) => {
        const atEpochMs = this.all.clock()
        const { witness } = this.all
        const what = typeof taken === "string" ? { kind: taken, text: "" } : { kind: "text" as const, ...taken }
        witness.see({ _tag: "FrameTaken", line: called, ...what, atEpochMs, elapsedMs: this.all.world.elapsedMs() })
        return () => witness.see({ _tag: "FrameDone", line: called })
      },
      closing: (code) => {
        this.all.witness.count(`the stream ended a connection with ${code}`)
        this.all.witness.see({ _tag: "LineClosed", line: called, code, elapsedMs: this.all.world.elapsedMs() })
      },
      opened: (line) => {
        if (target.split("?")[0] !== path) this.all.witness.see({ _tag: "OpenedElsewhere", target })
        if (this.#isOver || connection !== this.#connections) return line.cut()
        this.#line = line
        this.#opened(line, again)
      },
      refused: again,
      heard: (text, note) => {
        if (connection !== this.#connections) return
        this.#onItsWay -= text.length
        this.#hear(JSON.parse(text), note)
      },
      ended: again
    })
  }

  #opened(line: Line, again: () => void): void {
    this.#again = again
    const { time } = this.all.world
    for (const [key, { last }] of this.held) {
      const names = namesOf(key)
      if (names.marketId !== undefined) this.#say({ op: "subscribe", ...names, ...(last === undefined ? {} : { fromSequence: last }) })
    }
    const [older] = this.#tickets
    // What it had long ago it shows as somebody would who has copied it.
    if (older !== undefined && older !== this.#ticket && this.#copied.chance(copiedShare)) this.#show(older, {})
    this.#authenticate()
    this.#odd?.begin(this.#oddLine(line))
    if (!this.random.chance(this.options.cutShare)) return
    time.after(2 * this.random.next() * this.options.meanLineMs, () => {
      if (this.#line !== line || !this.all.busy()) return
      if (this.random.chance(0.3)) {
        line.die()
        this.#hungUp(true)
        this.#isDead = true
        // It takes a while until it is noticed that nothing comes.
        time.after(patienceMs * this.random.next(), again)
      } else {
        line.cut()
        again()
      }
    })
  }

  /** Takes what it is sent as it comes from now on. */
  calm(): void {
    if (!this.#isSlow) return
    this.#hungUp(false)
    this.#line?.cut()
    this.#line = undefined
    this.connect()
  }

  /** Its connection, for what is odd. */
  #oddLine(line: Line): OddLine {
    return {
      isOpen: () => this.#line === line && !this.#isDead,
      say: (text) => line.say(text),
      sayBinary: () => line.sayBinary(),
      fallSilent: () => line.fallSilent(),
      begun: () => [...this.#begun].map(namesOf),
      account: () => this.#hasAsked ? this.account : undefined,
      show: (ticket) => {
        if (ticket !== undefined) this.#show(ticket, {}, this.#odd!.nextId())
        else if (this.#ticket !== undefined) this.#authenticate()
      },
      follow: (names, id) => {
        const key = keyOf(names)
        if (this.held.has(key)) return
        this.held.set(key, { last: undefined, things: new Map() })
        this.#say({ op: "subscribe", ...names, id })
      }
    }
  }

  /** What came of what was odd: a stream that was let go of is asked for again after a while. */
  #hearOdd(frame: Frame): void {
    const odd = this.#odd!
    if (frame.type === "error" || frame.type === "auth_error")
      this.all.witness.count(`the stream refused what was odd: ${frame.error!.code}`)
    if (frame.type !== "unsubscribed") return
    const key = keyOf(frame as Names)
    const connection = this.#connections
    this.#begun.delete(key)
    this.#away.add(key)
    this.all.world.time.after(odd.awayMs(), () => {
      if (connection !== this.#connections || this.#isOver || !this.#away.delete(key)) return
      const { last } = this.held.get(key)!
      const from = last === undefined || !odd.resumes() ? {} : { fromSequence: last }
      this.#say({ op: "subscribe", ...namesOf(key), ...from })
    })
  }

  #say(frame: object): void {
    if (this.#line === undefined) return
    const said: { readonly id: string; readonly op?: string; readonly channel?: string } = { id: `f${++this.#ids}`, ...frame }
    if (said.channel === "market.candles") this.#waiting.add(said.id)
    this.#line.say(JSON.stringify(this.#spelled(said)))
  }

  /** The same, where it subscribes now and then by the name that a `resync` has. */
  #spelled(frame: { readonly op?: string; readonly channel?: string }): object {
    if (frame.op !== "subscribe" || !this.#spelling.chance(streamShare)) return frame
    const { channel, ...others } = frame
    return { ...others, stream: channel }
  }

  #show(ticket: string, more: object, id = `f${this.#ids + 1}`): void {
    if (this.#line === undefined) return
    this.all.witness.see({ _tag: "Shown", client: this.name, id, ticket })
    this.#say({ op: "auth", ticket, ...more, id })
  }

  #authenticate(): void {
    // Whoever trades waits until it knows what its connection is called.
    if (this.#trading !== undefined && this.#connectionId === "") return
    if (this.#ticket === undefined) {
      const connection = this.#connections
      return this.#trading?.ticket((ticket) => {
        this.#ticket = ticket
        if (connection === this.#connections) this.#authenticate()
      })
    }
    this.#shown = this.#ticket
    this.#show(this.#shown, this.#isToCancel ? { cancelOnDisconnect: true } : {})
    if (!this.#isToCancel || this.#hasAskedToCancel) return
    this.#hasAskedToCancel = true
    this.all.witness.see({ _tag: "Arming", connectionId: this.#connectionId, account: this.account })
  }

  /** Whatever was asked of the connection is over. */
  #hungUp(isSilent: boolean): void {
    if (!this.#hasAskedToCancel) return
    this.#hasAskedToCancel = false
    if (isSilent) this.all.silentSinceMs = this.all.world.elapsedMs()
    const atEpochMs = this.all.world.time.nowEpochMs()
    this.all.witness.see({ _tag: "HungUp", connectionId: this.#connectionId, isSilent, atEpochMs })
  }

  /** Its ticket is good no more: whoever trades comes back with another one. */
  #isOut(): void {
    this.#isTrusted = false
    if (this.#trading === undefined) return
    this.#ticket = undefined
    if (this.#odd?.stays() === true) return this.#authenticate()
    this.#line?.cut()
    this.#again()
  }

  /** Trades as long as the connection is there. */
  #trade(): void {
    const line = this.#line
    const { clients, witness } = this.all
    this.#trading?.begin({
      isOpen: () => this.#line === line && !this.#isDead,
      mayAct: () => this.#isTrusted,
      ticket: () => this.#shown,
      send: (draft, frame) => {
        const said = clients.saidOver(draft)
        const scope = draft.scope!
        witness.see({ _tag: "SaidBy", ticket: this.#shown!, scope })
        if (this.#isToCancel) witness.see({ _tag: "SaidOver", connectionId: this.#connectionId, scope })
        this.#saidOver.set(`f${this.#ids + 1}`, said)
        this.#say(frame)
      }
    })
  }

  /** What is so as a frame leaves: all that is durable by then, and what it should come to. */
  #note(text: string, line: string, isCurrentLine: boolean, onItsWay: number): Note {
    const { follower, model } = this.all
    follower.drain()
    const frame: Frame = JSON.parse(text)
    const [atEpochMs, elapsedMs] = [this.all.clock(), this.all.world.elapsedMs()]
    this.all.witness.see({ _tag: "FrameLeft", line, frame, size: text.length, onItsWay, atEpochMs, elapsedMs })
    if (frame.type === "auth_ok") this.#expiresAtEpochMs = frame.expiresAt!
    if (frame.type === "auth_error") {
      const failure = frame.error!.realtimeTicketFailure ?? ""
      this.all.witness.see({ _tag: "TurnedAway", client: this.name, id: frame.id!, failure })
      if (failure === "rotated") this.all.witness.count("a rotated ticket was shown on a socket")
    }
    const isLate = frame.channel?.startsWith("account.") === true && this.all.clock() >= this.#expiresAtEpochMs
    const isCurrent = frame.channel !== undefined && (frame.type === "update" || frame.type === "snapshot")
    // A snapshot shows what is at the last durable record at least, whatever record has changed it last.
    const stands = isCurrent && frame.type === "update" && frame.sequence === model.sequence
    return {
      durable: model.sequence,
      isLate,
      expected: stands ? modelled(model, frame as Names, this.account) : undefined,
      mayBeMerged: isCurrentLine && this.#mayBeMerged(isCurrent ? keyOf(frame as Names) : undefined, text.length)
    }
  }

  /** Counts a frame as on its way; whether it may be several updates of its stream as one. */
  #mayBeMerged(key: string | undefined, length: number): boolean {
    const times = this.#timesBehind
    const atMs = this.all.world.elapsedMs()
    const last = key === undefined ? undefined : this.#timesBehindOf.get(key)
    const earlier = (last?.atMs === atMs ? last.earlier : last?.times) ?? -1
    if (key !== undefined) this.#timesBehindOf.set(key, { atMs, earlier, times })
    const may = key !== undefined && earlier !== times
    this.#onItsWay += length
    // What still waits in the process makes it slow a little before.
    if (this.#onItsWay >= this.options.behindBytes / 2) this.#timesBehind++
    return may
  }

  #hear(frame: Frame, { durable, expected, isLate, mayBeMerged }: Note): void {
    if (frame.id !== undefined) this.#waiting.delete(frame.id)
    if (frame.type === "hello") {
      this.#connectionId = frame.connectionId!
      if (this.#trading !== undefined) this.#authenticate()
      return
    }
    if (frame.type === "auth_ok") return this.#authenticated(frame.accountId!)
    if (frame.type !== "subscribed" && this.#odd?.isOwn(frame.id) === true) return this.#hearOdd(frame)
    if (frame.type === "auth_error") {
      this.all.witness.count(`the stream let nobody in: ${frame.error!.code}`)
      if (frame.error!.code === "realtime_ticket_rejected") this.#ticket = undefined
      if (this.#trading !== undefined) {
        this.#line?.cut()
        this.#again()
      }
    }
    this.#heardOver(frame, durable)
    if (frame.type === "result") this.all.witness.count("an order over the stream was answered")
    if (frame.type === "error") {
      const { code } = frame.error!
      this.all.witness.count(`the stream refused: ${code}`)
      // Whoever stays on the connection hears of orders that came too late, too.
      if (code === "realtime_ticket_rejected" && (frame.id === undefined || this.#odd === undefined)) this.#isOut()
      // The histories are being opened, or made anew: there are no candles until they are.
      if (code === "dependency_unavailable") this.#askForCandlesLater()
    }
    if (frame.type === "resync") this.#heardOfGap(frame, durable)
    if (frame.type === "subscribed") {
      this.#begun.add(keyOf(frame as Names))
      this.#unproved.delete(keyOf(frame as Names))
      if (frame.resumed === true) this.all.witness.count("resumed")
    }
    if (frame.type !== "snapshot" && frame.type !== "update") return
    const key = keyOf(frame as Names)
    const held = this.held.get(key)!
    const before = held.last
    if (frame.type === "snapshot") held.things.clear()
    for (const [name, value] of thingsIn(frame.channel!, frame.data!)) {
      if (value === "") held.things.delete(name)
      else held.things.set(name, value)
    }
    if (frame.channel === "market.candles" && held.things.size > candlesKept) held.things.delete([...held.things.keys()].sort()[0]!)
    held.last = frame.sequence!
    const owners = listOf(frame.data!).flatMap(({ accountId }) => accountId ?? [])
    this.all.witness.see({
      _tag: "Streamed",
      client: this.name,
      stream: key,
      account: this.account,
      isForeign: owners.some((owner) => owner !== this.#accountId),
      isSnapshot: frame.type === "snapshot",
      mayBeMerged: mayBeMerged && frame.channel === "market.ticker",
      data: frame.channel === "market.book" || frame.channel === "market.candles" ? "" : JSON.stringify(frame.data),
      before,
      previousSequence: frame.previousSequence ?? 0,
      sequence: frame.sequence!,
      durable,
      isLate,
      expected,
      held: expected === undefined ? "" : textOf(held.things),
      misread: frame.channel === "market.book" ? this.#bookMisread(key, frame, held.things) : undefined
    })
  }

  /** Holds nothing any more of a stream that has to be begun anew. */
  #heardOfGap(frame: Frame, durable: number): void {
    const stream = keyOf({ ...frame, channel: frame.stream! })
    const held = this.held.get(stream)!
    const { errorRate, nameErrorRate, noSpaceShare, readErrorRate } = this.all.world.options.disk
    // A file cannot be opened either where the disk says that it is full.
    const mayBeUnread = readErrorRate + nameErrorRate + errorRate * noSpaceShare > 0
    this.all.witness.see({
      _tag: "Resynced",
      client: this.name,
      stream,
      reason: frame.reason!,
      before: held.last,
      durable,
      mayBeUnread
    })
    held.last = undefined
    this.all.witness.count(`resync for ${frame.reason}`)
  }

  /** Has it seen where a frame answers what was traded over the connection. */
  #heardOver(frame: Frame, durable: number): void {
    const said = frame.type === "result" || frame.type === "error" ? this.#saidOver.get(frame.id ?? "") : undefined
    if (said === undefined) return
    this.#saidOver.delete(frame.id!)
    this.all.clients.heardOver(said, frame.type === "result", frame.type === "result" ? frame.body : frame.error, durable)
  }

  /** What of a book's frame is not as its client can reckon: a checksum comes with all of it, and with every so many updates. */
  #bookMisread(key: string, { checksum, data, marketId, sequence, type }: Frame, things: ReadonlyMap<string, string>): string | undefined {
    const isProved = type === "snapshot" || checksum !== undefined
    const unproved = isProved ? 0 : (this.#unproved.get(key) ?? 0) + 1
    this.#unproved.set(key, unproved)
    if (unproved >= provedEvery) return `has had no checksum for ${unproved} updates`
    return bookMisread(this.all.model, { marketId: marketId!, sequence: sequence!, checksum, data: data! }, things)
  }

  #authenticated(accountId: string): void {
    if (accountId !== this.#accountId) throw new Error(`a ticket of ${this.#accountId} let a client speak for ${accountId}`)
    this.#isTrusted = true
    if (this.#hasAsked) return
    this.#hasAsked = true
    this.#trade()
    for (const channel of accountChannels) {
      const last = this.held.get(channel)?.last
      if (!this.held.has(channel)) this.held.set(channel, { last: undefined, things: new Map() })
      this.#say({ op: "subscribe", channel, ...(last === undefined ? {} : { fromSequence: last }) })
    }
  }

  /** Asks for channels of a market. */
  follow(marketId: string): void {
    for (const channel of marketChannels) {
      if (channel !== "market.book" && !this.random.chance(0.4)) continue
      this.#begin({ channel, marketId })
    }
    const { reading } = this
    for (const series of ["trade", "index"]) {
      if (reading.chance(0.6)) this.#begin({ channel: "market.candles", marketId, timeframe: reading.pick(timeframes), series })
    }
  }

  #begin(names: Names): void {
    const key = keyOf(names)
    if (this.held.has(key)) return
    this.held.set(key, { last: undefined, things: new Map() })
    this.#say({ op: "subscribe", ...names })
  }

  /** Asks once more for candles that it was refused. */
  #askForCandlesLater(): void {
    const connection = this.#connections
    this.all.world.time.after(againMs * (1 + this.reading.next()), () => {
      if (connection !== this.#connections || this.#isOver) return
      for (const [key, { last }] of this.held) {
        if (!key.startsWith("market.candles") || this.#begun.has(key)) continue
        this.#say({ op: "subscribe", ...namesOf(key), ...(last === undefined ? {} : { fromSequence: last }) })
      }
    })
  }

  /** Its connection, where the venue has one open. */
  get open(): string | undefined {
    return this.#line === undefined || this.#isDead || this.#connectionId === "" ? undefined : `${this.name}/${this.#connections}`
  }

  /** Whether it is given what it asked for: it is connected, has shown its ticket where it has one, and waits for no candles. */
  get isServed(): boolean {
    return this.#isOver
      || this.#line !== undefined && !this.#isDead && this.#waiting.size === 0 && (this.#isTrusted || this.#ticket === undefined)
  }

  /** What it has, beside what the model says of the same. */
  compared(): ReadonlyArray<{ readonly stream: string; readonly last: number; readonly held: string; readonly expected: string }> {
    return this.live.flatMap(([key, { last, things }]) => {
      const expected = modelled(this.all.model, namesOf(key), this.account)
      return expected === undefined ? [] : [{ stream: key, last: last!, held: textOf(things), expected }]
    })
  }
}

export class StreamClients {
  readonly #clients: ReadonlyArray<Client>

  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly clients: Clients,
    /** What the process's clock reads. */
    readonly clock: () => number
  ) {
    const { options: { streams }, root } = world
    this.issue = clients.issueFrom(firstOfStreamReads)
    this.#clients = Array.from({ length: streams?.clients ?? 0 },
      (_, index) => new Client(`streamer-${index}`, this, root.split(`streamer-${index}`), root.split(`reader-${index}`), streams!))
  }

  get model(): NaiveVenue {
    return this.follower.model
  }

  /** When a connection that was to cancel its orders has died last, which nothing tells the venue: simulated time. */
  silentSinceMs = Number.NEGATIVE_INFINITY

  /** Whether clients are about. */
  readonly busy = (): boolean => this.clients.open
  /** Begins a read. */
  readonly issue: Clients["issue"]

  /** Clients connect, and follow some of the markets that there are. */
  begin(): void {
    const { options: { limits, streams }, root } = this.world
    for (const client of this.#clients) {
      // Where requests are counted, those that come over a connection would be counted as somebody's who is not seen to make them.
      if (streams?.trading !== undefined && (limits ?? unlimited).perKey === unlimited.perKey) {
        const random = root.split(client.name).split("trading")
        client.trade(new StreamTrading(client.name, this.world, this.clients, random, streams.trading))
      }
      if (streams?.odd !== undefined) {
        const random = root.split(client.name).split("odd")
        const mayMint = (limits ?? unlimited).perKey === unlimited.perKey
        client.beOdd(new StreamOddities(client.name, this.world, this.clients, random, streams.odd, mayMint))
      }
      client.connect()
      for (const { parameters } of this.model.markets.slice(0, 2)) client.follow(parameters.marketId)
    }
  }

  /** Somebody was told a ticket. */
  readonly told: Ticketed = (ticket, accountId, call) => {
    for (const client of this.#clients) client.told(ticket, accountId, call)
  }

  /** Nothing is sent any more: everybody must have what there is. */
  compare(): void {
    for (const client of this.#clients) {
      const { open } = client
      if (open !== undefined) this.witness.see({ _tag: "LineRests", line: open, elapsedMs: this.world.elapsedMs() })
      for (const { expected, held, last, stream } of client.compared()) {
        this.witness.see({ _tag: "StreamRests", client: client.name, stream, account: client.account, last, held, expected })
      }
    }
  }

  /** Whether everybody has what there is. */
  get haveAll(): boolean {
    return this.#clients.every((client) => client.isServed && client.compared().every(({ expected, held }) => held === expected))
  }

  /** All faults have stopped. */
  calm(): void {
    for (const client of this.#clients) client.calm()
  }

  end(): void {
    for (const client of this.#clients) client.end()
  }
}
