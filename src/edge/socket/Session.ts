/**
 * One client's conversation on the stream: the account it acts for, its subscriptions, and the frames on their way to it. An
 * invalid frame is answered and changes nothing; the connection ends only for abuse, for silence, or because the client is too slow
 * for a lossless channel.
 */
import * as Either from "effect/Either"
import { networkOf } from "../../domain/FairPlaces.js"
import * as Market from "../../domain/Market.js"
import { Refusal } from "../../domain/Refusal.js"
import { scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import { candleChannel, type Channel, isAccountChannel } from "../../streams/Channels.js"
import type { Log } from "../../streams/Log.js"
import { Frame } from "../../streams/Frame.js"
import type { Sink } from "../../streams/Subscription.js"
import * as Errors from "../http/Errors.js"
import type { Conversation, Peer, UpgradeRequest } from "../http/Listener.js"
import * as Requests from "../http/Requests.js"
import { marketNotFound } from "../http/MarketNames.js"
import { refusedTicket, scopeMissing } from "../http/TicketRefusals.js"
import { type Authority, authorityOf, endOf, keyOf, wasRevoked } from "./Authority.js"
import * as Frames from "./Frames.js"
import { bounds, type Joining, retentionOf, type Setting } from "./Setting.js"
import { Outbox, type Teller } from "./Outbox.js"
import { Place, type Resumption } from "./Place.js"

const tooSlow = "too slow for a channel that loses nothing"
const takesNothing = "nothing was taken by the client for too long"
const tooMuch = "too much is on its way to the client"
const tooManyOfAddress = "too many frames are sent from the address by connections without a ticket"
const tooManyRefused = "too many frames of the API key are refused"

/** Close codes, by RFC 6455 and this protocol. */
const abuse = 1008
const defect = 1011
const silent = 4000
const tryLater = 1013
const slow = 4008

const orderTooMany = Errors.rateLimited(1)
/** The share of the candle streams of an account or a network frees up as its clients leave some to which nobody else listens. */
const candlesTooMany = Errors.rateLimited(10)
const notOnThis = Errors.invalidRequest("marketId: an account's channels are about all of its markets.")
const neededOnThis = Errors.invalidRequest("marketId: a market's channel needs one.")
const timeframeNeeded = Errors.invalidRequest("timeframe: candles are of one length.")
const onlyOfCandles = Errors.invalidRequest("timeframe, series: are of candles, and of no other channel.")
const subscribedAlready = Errors.invalidRequest("The channel is subscribed to already on this connection.")
const notSubscribed = Errors.invalidRequest("The channel is not subscribed to on this connection.")
const otherAccount = Errors.invalidRequest("ticket: the connection speaks for another account.")
const notBegun = Errors.invalidRequest("The channel was unsubscribed before it began.")
const notText = Errors.invalidRequest("A frame is one JSON object in UTF-8, as text.")

export class Session implements Conversation {
  /** Subscriptions by channel and market, and for candles also by length and series. */
  private readonly places = new Map<string, Place>()
  /** As it is told to the owner of a key, too. */
  readonly address: string
  private readonly isCrossSite: boolean
  /** Subscriptions that have not begun. */
  private readonly opening = new Map<string, Subscribing>()
  /** Subscribe frames that have not been answered. */
  private readonly unanswered = new Map<string, Subscribing>()
  private authority: Authority | undefined = undefined
  /**
   * The account that it has acted for, permanently: after a ticket has expired, that account's paused streams are resumed for no
   * other.
   */
  private account: number | undefined = undefined
  /** The authority by which it is counted among its account's connections, while it acts for the account or its orders end with it. */
  private counted: Joining | undefined = undefined
  /** Ends of authority that the client has not been told of. */
  private untoldEnds = 0
  /** The connection's number if its orders end with it. */
  private armed: number | undefined = undefined
  /** Whether its client was ever promised that: what is placed by a later ticket ends with the connection too. */
  private isPromised = false
  /**
   * The authority by which it acted last, how it ended, and whether it is known to have been revoked; undefined while it acts for the
   * account, and where no ticket was accepted.
   */
  private lapsed: { readonly authority: Authority; readonly ended: Refusal; isRevoked: boolean } | undefined = undefined
  /** The end that the client was warned of last: it is not warned again where another ticket ends at the same time. */
  private warnedOfEpochMs: number | undefined = undefined
  /** Whether frames are held back because the client is slow. */
  private holds = false
  private readonly out = new Outbox()
  /** Characters of snapshots that wait to be durable. */
  private preparing = 0
  /** Bytes of the last snapshot, excluded until the client has had time to receive it; and the seconds since. */
  private snapshotBytes = 0
  private snapshotSeconds = 0
  /** The client's id of the frame being answered. */
  private hearing: string | number | undefined = undefined
  private isClosed = false
  private notJson = 0
  private orders = 0
  /** Thousandths of frames that the client may send, and when that was last computed. */
  private allowedMillis: number
  private allowedAtEpochMs: number
  /** Frames received while the connection was unauthenticated. */
  private anonymousFrames = 0
  /** Pings sent to the client whose pongs have not come. */
  private pinged = 0
  /** Seconds without a sign of the client, counted by ticks, so that setting the clock makes no client look silent or alive. */
  private quietSeconds = 0
  /** How long a client that is behind has received nothing, and how much the connection held at the last check. */
  private stuckSeconds = 0
  private heldBytes = 0

  constructor(
    private readonly setting: Setting,
    private readonly peer: Peer,
    private readonly from: UpgradeRequest,
    private readonly connectionId: string,
    private readonly left: (session: Session) => void
  ) {
    const { environment, room: { messagesPerSecond } } = setting
    this.allowedMillis = 1_000 * messagesPerSecond
    this.allowedAtEpochMs = setting.now()
    this.address = setting.addressOf(from)
    this.isCrossSite = setting.isCrossSite(from)
    this.say({
      type: "hello",
      version: "stream/v1",
      connectionId,
      environment,
      serverTimeEpochMs: setting.now(),
      heartbeatMs: bounds.heartbeatMs,
      limits: {
        subscriptions: setting.room.subscriptions,
        messagesPerSecond: setting.room.messagesPerSecond,
        bufferedBytes: setting.room.bufferedBytes
      },
      retention: retentionOf(setting.room),
      starts: setting.starts()
    })
    this.flush()
  }

  /** Bytes on their way to the client. */
  get bufferedBytes(): number {
    return this.out.size + this.peer.bufferedBytes()
  }

  /** Whether so much is on its way that mergeable updates are merged and no snapshot is begun. */
  private get isBehind(): boolean {
    return this.bufferedBytes > this.setting.room.behindBytes
  }

  /** Whether so much is on its way, or waits to be durable, of this connection's or of all, that no snapshot is begun. */
  private get isFilling(): boolean {
    const { prepared, room } = this.setting
    return this.bufferedBytes + this.preparing > room.behindBytes || prepared.isFull
  }

  /** Whether more is on its way than the connection may hold. */
  private get isOver(): boolean {
    return this.bufferedBytes - this.snapshotBytes > this.setting.mostBuffered()
  }

  /** The number of its subscriptions. */
  get subscriptions(): number {
    return this.places.size + this.opening.size
  }

  /** Orders that end with the connection belong to somebody, even after the ticket under which they were placed has ended. */
  isAnonymous(): boolean {
    return this.authority === undefined && this.armed === undefined
  }

  isIdle(): boolean {
    return this.isAnonymous() && this.subscriptions === 0
  }

  text(bytes: Uint8Array): void {
    this.safely(() => {
      this.listen(bytes)
      this.flush()
    })
  }

  private listen(bytes: Uint8Array): void {
    if (this.isClosed || !this.isPaced()) return
    // Nothing is done for a client that cannot be answered.
    if (this.isOver) return this.end(slow, tooMuch)
    const json = Requests.parseJson(bytes)
    if (json === undefined) {
      this.refuse(undefined, notText)
      if (++this.notJson >= bounds.notJson) this.end(abuse, "what is sent is not JSON")
    } else if (Requests.isFailure(json)) this.refuse(undefined, json)
    else this.hear(json.value)
  }

  binary(): void {
    this.safely(() => this.end(abuse, "frames are text"))
  }

  alive(): void {
    this.safely(() => {
      if (!this.isClosed) this.isPaced()
    })
  }

  answered(): void {
    this.safely(() => {
      if (this.isClosed) return
      const isAsked = this.pinged > 0
      if (isAsked) this.pinged--
      this.isPaced(isAsked)
    })
  }

  drained(): void {
    this.stuckSeconds = 0
    this.delivered()
  }

  /** Sends what one turn has produced. */
  delivered(): void {
    this.safely(() => this.flush())
  }

  closed(): void {
    this.isClosed = true
    this.left(this)
    this.safely(() => {
      this.disconnect()
      this.out.clear()
      for (const place of this.places.values()) place.end()
      this.places.clear()
      this.opening.clear()
      this.unanswered.clear()
    })
  }

  /** Ends it, saying why. */
  end(code: number, reason: string): void {
    if (this.isClosed) return
    this.judge()
    // A client that receives nothing is sent nothing more.
    if (code !== slow) this.out.leave(this.peer, this.setting.room.behindBytes)
    this.close(code, reason)
  }

  private close(code: number, reason: string): void {
    this.isClosed = true
    this.disconnect()
    this.out.clear()
    for (const place of this.places.values()) place.end()
    this.peer.close(code, reason)
  }

  /** Runs an action for the listener, the clock or the writer: a defect in it ends this connection only. */
  private readonly safely = (act: () => void): void => {
    try {
      act()
    } catch (cause) {
      this.broke(cause)
    }
    this.hearing = undefined
  }

  /** Ends the connection because of a defect, without sending what waits, which may be the cause. */
  private readonly broke = (cause: unknown): void => {
    this.setting.defect(cause)
    if (this.isClosed) return
    const error = Errors.envelope(Errors.internal, this.setting.nextRequestId(), this.setting.now())
    this.peer.send([new Frame(JSON.stringify({ type: "error", id: this.hearing, error }))])
    this.close(defect, "the connection met a defect")
  }

  /** The stream has stopped for all. */
  fail(): void {
    this.end(defect, "the stream has stopped")
  }

  /** Called once a second. */
  tick(atEpochMs: number, isHeartbeat: boolean): void {
    this.safely(() => this.look(atEpochMs, isHeartbeat))
  }

  private look(atEpochMs: number, isHeartbeat: boolean): void {
    if (this.isClosed) return
    if (++this.quietSeconds * 1_000 >= this.setting.room.silenceMs) {
      return this.end(silent, "nothing was heard from the client for a minute")
    }
    this.judge()
    this.disarm()
    if (this.account !== undefined) this.setting.makings.goOn(this.account, this.setting.now())
    // A snapshot that was made now may have been more than its client has room for.
    if (this.isClosed) return
    // Waiting frames leave first, since heartbeats report what has been sent.
    this.flush()
    const { setting: { decidedAt, mostBuffered, room } } = this
    const isUnderPressure = mostBuffered() < room.bufferedBytes
    const snapshotMs = isUnderPressure ? bounds.snapshotUnderPressureMs : bounds.snapshotMs
    if (this.snapshotBytes > 0 && ++this.snapshotSeconds * 1_000 >= snapshotMs) this.snapshotBytes = 0
    const { authority, isOver } = this
    // A client that receives nothing holds up the readings of others that have missed something, even if it asks for nothing more.
    if (this.isStuck()) return this.end(slow, takesNothing)
    // While all connections together hold too much, those that hold most are closed, so that the others soon have their usual room
    // again.
    if (isOver && isUnderPressure) return this.end(slow, tooMuch)
    const expiresAt = authority?.expiresAtEpochMs
    if (expiresAt !== undefined && expiresAt !== this.warnedOfEpochMs && expiresAt - decidedAt() <= bounds.warningMs) {
      this.warnedOfEpochMs = expiresAt
      this.say({ type: "ticket_expiring", expiresAt })
    }
    if (isHeartbeat) {
      const heads = Object.fromEntries([...this.places].flatMap(([name, { head }]) => head === undefined ? [] : [[name, head]]))
      if (!isOver) this.say({ type: "heartbeat", serverTimeEpochMs: atEpochMs, heads })
      this.peer.ping()
      this.pinged = Math.min(this.pinged + 1, bounds.pings)
    }
    this.flush()
  }

  /**
   * Whether a client that is behind has received nothing for as long as a client may be silent. The connection's size only falls
   * when a frame has left completely, so a long frame shows no progress until then.
   */
  private isStuck(): boolean {
    const heldBytes = this.peer.bufferedBytes()
    const hasTaken = !this.isBehind || heldBytes < this.heldBytes
    this.heldBytes = heldBytes
    this.stuckSeconds = hasTaken ? 0 : this.stuckSeconds + 1
    return this.stuckSeconds >= this.setting.room.silenceMs / 1_000 + heldBytes / bounds.leastBytesPerSecond
  }

  /**
   * Whether the client keeps to the message rate. The allowance depends on elapsed time, not on the second in which frames are
   * handled, since frames sent while the venue stood still are handled all at once. `isAsked`: the frame is a pong that answers a ping.
   */
  private isPaced(isAsked = false): boolean {
    this.quietSeconds = 0
    const nowEpochMs = this.setting.now()
    const { messagesPerSecond } = this.setting.room
    const sinceMillis = Math.max(0, nowEpochMs - this.allowedAtEpochMs) * messagesPerSecond
    this.allowedMillis = Math.min(this.allowedMillis + sinceMillis, bounds.secondsOfFrames * 1_000 * messagesPerSecond) - 1_000
    this.allowedAtEpochMs = nowEpochMs
    if (this.allowedMillis < 0) {
      this.end(abuse, `a connection sends at most ${messagesPerSecond} frames a second`)
      return false
    }
    // Frames sent for an account do not count against the address, so that nobody is cut off by others who share it. Nor do the
    // frames that every client begins with: after a restart thousands of clients of one address show their tickets in the same
    // second. Nor do pongs: the venue has asked for them. What pages of other sites send counts apart, since any page could
    // otherwise end what its visitor's own clients read.
    const isOfNobody = !isAsked && this.authority === undefined && ++this.anonymousFrames > bounds.openingFrames
    if (!isOfNobody || this.setting.mayHear(this.address, this.isCrossSite)) return true
    this.end(abuse, tooManyOfAddress)
    return false
  }

  /** Counts a refused frame against its key; orders that reach their route are counted there. */
  private countRefusal(): void {
    if (this.authority !== undefined && !this.setting.mayHear(this.authority.apiKey, false)) this.end(abuse, tooManyRefused)
  }

  private hear(value: unknown): void {
    this.hearing = Frames.idOf(value)
    const read = Frames.read(value)
    if (Either.isLeft(read)) return this.refuse(this.hearing, read.left)
    const frame = read.right
    if (Frames.isOrderFrame(frame)) return this.order(frame)
    switch (frame.op) {
      case "auth":
        return this.authenticate(frame)
      case "subscribe":
        return this.subscribe(frame)
      case "unsubscribe":
        return this.unsubscribe(frame)
      case "ping":
        return this.say({ type: "pong", id: frame.id, serverTimeEpochMs: this.setting.now() })
    }
  }

  private authenticate({ cancelOnDisconnect = false, id, ticket }: Extract<Frames.ClientFrame, { readonly op: "auth" }>): void {
    const { decidedAt, disconnects, reads, tickets } = this.setting
    const refuse = (failure: Errors.Failure): void => {
      this.say({ type: "auth_error", id, ...this.told(failure) })
      this.countRefusal()
    }
    if (ticket === undefined) return refuse(Errors.ticketMissing)
    const found = authorityOf(tickets, reads, ticket, decidedAt())
    if (typeof found === "object" && "stolen" in found) {
      return this.setting.stolen(found.stolen, this.address, (refusal) =>
        this.safely(() => {
          refuse(Errors.refused(refusal))
          this.flush()
        }))
    }
    this.later(() => {
      if (found === "replaced") return refuse(Errors.ticketReplaced)
      if (found === Refusal.ticketRevoked) return refuse(refusedTicket(reads, keyOf(tickets, reads, ticket), found))
      if (found === Refusal.keyScopeMissing) return refuse(scopeMissing(reads, keyOf(tickets, reads, ticket), scopeRead))
      if (typeof found === "number") return refuse(Errors.refused(found))
      if (this.isOfOther(found)) return refuse(otherAccount)
      const endedMeanwhile = endOf(found, reads, decidedAt())
      if (endedMeanwhile !== undefined) return refuse(refusedTicket(reads, found.apiKey, endedMeanwhile))
      const mayTrade = (found.scopes & scopeTrade) !== 0
      const isToArm = this.armed === undefined && (cancelOnDisconnect || (this.isPromised && mayTrade))
      if (!isToArm) return this.joins(found) ? this.trust(id, found) : refuse(Errors.socketsOfAccount)
      if (!mayTrade) return refuse(scopeMissing(reads, found.apiKey, scopeTrade))
      if (this.counted === undefined && !this.setting.mayJoin(found)) return refuse(Errors.socketsOfAccount)
      disconnects.arm(found, this.connectionId, (armed) =>
        this.safely(() => {
          if (typeof armed !== "number") refuse(armed)
          else {
            const isOfOther = this.isOfOther(found)
            // The ticket may have ended while the connection was being armed.
            const ended = endOf(found, reads, decidedAt())
            const isTaken = !isOfOther && ended === undefined && this.joins(found)
            if (this.armed !== undefined || !isTaken) disconnects.end(armed)
            else {
              this.armed = armed
              this.isPromised = true
            }
            if (isOfOther) refuse(otherAccount)
            else if (ended !== undefined) refuse(refusedTicket(reads, found.apiKey, ended))
            else if (!isTaken && !this.isClosed) refuse(Errors.socketsOfAccount)
            else this.trust(id, found)
          }
          this.flush()
        }))
    })
  }

  /** Whether an account differs from the one that the connection has acted for. */
  private isOfOther({ account }: Authority): boolean {
    return this.account !== undefined && this.account !== account
  }

  /** Whether the connection may speak for an account. One that has closed may not: nothing would report that its place is free again. */
  private joins(authority: Authority): boolean {
    if (this.isClosed) return false
    if (this.counted !== undefined) {
      // Once a connection shows the ticket of a trading key, it is counted as one, and takes one of the places kept for trading keys.
      if (authority.isOfTradingKey && !this.counted.isOfTradingKey) {
        this.setting.becomes(this.counted, authority)
        this.counted = authority
      }
      return true
    }
    if (!this.setting.joins(authority)) return false
    this.account = authority.account
    this.counted = authority
    return true
  }

  /** Gives the account's place back: connections that no longer act for an account must not keep its owner's own ones out. */
  leaves(): void {
    if (this.counted !== undefined) this.setting.leaves(this.counted)
    this.counted = undefined
  }

  /**
   * Ends an armed connection for its account while its client stays connected: once its authority has been revoked and none of its
   * orders is open any more. Whoever had stolen the ticket would otherwise keep the owner's places for as long as he sends pings. An
   * authority that has merely expired leaves the connection armed, since its client may be a moment late with the next ticket.
   */
  private disarm(): void {
    const { armed, lapsed, setting: { reads } } = this
    if (armed === undefined || lapsed === undefined) return
    lapsed.isRevoked ||= wasRevoked(lapsed.authority, reads)
    if (!lapsed.isRevoked || reads.hasOrdersOver(armed)) return
    this.disconnect()
    this.leaves()
  }

  private trust(id: string, authority: Authority): void {
    if (this.isClosed) return
    this.authority = authority
    this.lapsed = undefined
    this.setting.used(authority.apiKey, this.address)
    this.claimCandles(authority.account)
    this.say({ type: "auth_ok", id, accountId: authority.accountId, expiresAt: authority.expiresAtEpochMs })
    for (const place of this.places.values()) {
      // Sending may reveal that the ticket has ended: then all streams are paused again and stay so.
      if (this.authority !== authority) return
      if (place.isPaused) place.resume()
    }
  }

  /** Submits the end of a connection whose orders end with it. */
  private disconnect(): void {
    const { armed } = this
    this.armed = undefined
    if (armed !== undefined) this.setting.disconnects.end(armed)
  }

  /** Runs an action once the state on which it depends is durable. */
  private later(then: () => void): void {
    const { barrier, reads } = this.setting
    barrier.whenDurable(reads.sequence, () =>
      this.safely(() => {
        if (this.isClosed) return
        then()
        this.flush()
      }))
  }

  /** Why a frame that needs a ticket is refused while the connection acts for no account. */
  private get noTicket(): Errors.Failure {
    const { lapsed, setting: { reads } } = this
    return lapsed === undefined ? Errors.connectionWithoutTicket : refusedTicket(reads, lapsed.authority.apiKey, lapsed.ended)
  }

  /** The subject of the stream that a frame names, or what is wrong with it. */
  private subjectOf(channel: Channel, marketId: string | undefined): number | Errors.Failure {
    if (isAccountChannel(channel)) {
      if (marketId !== undefined) return notOnThis
      return this.authority === undefined ? this.noTicket : this.authority.account
    }
    if (marketId === undefined) return neededOnThis
    const { reads } = this.setting
    const market = reads.findMarket(marketId)
    return market >= 0 && Market.isListed(reads.market(market).status) ? market : marketNotFound(marketId, "native")
  }

  private subscribe(frame: Subscribing): void {
    this.judge()
    const { channel, id, marketId } = frame
    const misnamed = misnamedOf(frame)
    if (misnamed !== undefined) return this.refuse(id, misnamed)
    const subject = this.subjectOf(channel, marketId)
    if (typeof subject !== "number") return this.later(() => this.refuse(id, subject))
    const name = nameOf(frame)
    if (this.places.has(name) || this.opening.has(name)) return this.refuse(id, subscribedAlready)
    const { subscriptions } = this.setting.room
    if (this.subscriptions >= subscriptions) {
      return this.refuse(id, Errors.invalidRequest(`A connection has at most ${subscriptions} subscriptions.`))
    }
    if (channel === candleChannel) return this.beginCandles(frame, name, subject)
    this.unanswered.set(name, frame)
    this.begin(frame, name, this.setting.hub.open(channel, subject))
  }

  /** Begins a stream of candles once the past ones have been read. */
  private beginCandles(frame: Subscribing, name: string, market: number): void {
    const { series = "trade", timeframe } = frame
    this.opening.set(name, frame)
    this.unanswered.set(name, frame)
    const refuse = (failure: Errors.Failure): void => {
      this.unanswered.delete(name)
      this.refuse(frame.id, failure)
    }
    const owner = this.isAnonymous() ? networkOf(this.address) : this.account!
    const opening = this.setting.hub.candles.open({ market, series, timeframe: timeframe! }, owner, (log) =>
      this.safely(() => {
        if (this.isClosed || this.opening.get(name) !== frame) return
        this.opening.delete(name)
        if (log === undefined) refuse(Errors.historiesUnavailable)
        else this.begin(frame, name, log)
        this.flush()
      }))
    if (opening === "opened") return
    this.opening.delete(name)
    refuse(opening === "share" ? candlesTooMany : Errors.refused(Refusal.inboxFull))
  }

  /** Lets the candles that it asked for before its ticket count for the account, so that they take nothing from others of its network. */
  private claimCandles(account: number): void {
    const { hub: { candles }, reads } = this.setting
    for (const { series = "trade", timeframe, marketId } of this.opening.values()) {
      candles.claim({ market: reads.findMarket(marketId!), series, timeframe: timeframe! }, account)
    }
    for (const { log: { name, subject } } of this.places.values()) {
      if (name.candles !== undefined) candles.claim({ market: subject, ...name.candles }, account)
    }
  }

  private begin(frame: Subscribing, name: string, log: Log): void {
    const place: Place = new Place(this.setting, log, {
      sink: this.sinkOf(() => place),
      flush: () => this.flush(),
      isClosed: () => this.isClosed,
      isFilling: () => this.isFilling,
      preparing: (characters) => {
        this.preparing += characters
      },
      crowded: () => this.end(tryLater, "there is no room for the stream now"),
      safely: this.safely
    })
    this.places.set(name, place)
    place.begin(frame.fromSequence, (resumption: Resumption) => {
      this.unanswered.delete(name)
      this.say({ type: "subscribed", id: frame.id, ...namesOf(frame), resumed: resumption === "resumed" })
    })
  }

  private unsubscribe(frame: Extract<Frames.ClientFrame, { readonly op: "unsubscribe" }>): void {
    const misnamed = misnamedOf(frame)
    if (misnamed !== undefined) return this.refuse(frame.id, misnamed)
    const name = nameOf(frame)
    const place = this.places.get(name)
    if (place === undefined && !this.opening.delete(name)) return this.refuse(frame.id, notSubscribed)
    place?.end()
    this.places.delete(name)
    const waiting = this.unanswered.get(name)
    this.unanswered.delete(name)
    if (waiting !== undefined) this.refuse(waiting.id, notBegun)
    this.say({ type: "unsubscribed", id: frame.id, ...namesOf(frame) })
  }

  /** Sends an order frame through its route: the same checks, limits and answers. */
  private order(frame: Frames.OrderFrame): void {
    this.judge()
    const { authority } = this
    if (authority === undefined) {
      const { noTicket } = this
      const refuse = (): void => this.refuse(frame.id, noTicket)
      return this.untoldEnds > 0 ? this.later(refuse) : refuse()
    }
    if ((authority.scopes & scopeTrade) === 0) {
      return this.later(() => this.refuse(frame.id, scopeMissing(this.setting.reads, authority.apiKey, scopeTrade)))
    }
    if (this.orders >= this.setting.room.orders) return this.refuse(frame.id, orderTooMany)
    this.orders++
    const { id, idempotencyKey } = frame
    this.setting.handle({
      method: "POST",
      target: Frames.targetOf(frame, authority.accountId),
      headers: {
        "idempotency-key": idempotencyKey,
        "x-forwarded-for": this.from.headers["x-forwarded-for"]
      },
      // It was parsed with the frame.
      body: new Uint8Array(0),
      json: { value: frame.body ?? null },
      remoteAddress: this.from.remoteAddress,
      ticketOf: authority,
      ...(this.armed === undefined ? undefined : { connection: this.armed })
    }, ({ body, headers, status }) =>
      this.safely(() => {
        this.orders--
        if (this.isClosed) return
        if (this.isOver) return this.end(slow, tooMuch)
        const quoted = JSON.stringify(id)
        const member = status < 300 ? `"result","id":${quoted},"body":` : `"error","id":${quoted},"error":`
        const seconds = Errors.waitSecondsOf(headers)
        const wait = seconds === undefined ? "" : `,"retryAfterSeconds":${seconds}`
        this.send(new Frame(`{"type":${member}${body === "" ? "null" : body}${wait}}`))
        this.flush()
      }))
  }

  /** Withdraws an authority that has ended: nothing more of the account is sent, including what was waiting. */
  private judge(): void {
    const { authority } = this
    const ended = this.endOfAuthority()
    if (authority === undefined || ended === undefined) return
    this.authority = undefined
    this.lapsed = { authority, ended, isRevoked: ended !== Refusal.ticketExpired }
    if (this.armed === undefined) this.leaves()
    this.out.dropAccounts()
    for (const place of this.places.values()) if (place.isOfAccount) place.pause()
    const tell = (): void => this.refuse(undefined, refusedTicket(this.setting.reads, authority.apiKey, ended))
    if (ended === Refusal.ticketExpired && authority.expiresAtEpochMs <= this.setting.now()) return tell()
    // It ends at once, and decisions that are not durable yet are not reported.
    this.untoldEnds++
    this.later(() => {
      this.untoldEnds--
      // Whoever has shown another ticket meanwhile would take this for the end of that one.
      if (this.lapsed?.authority === authority) tell()
    })
  }

  /** Why the authority has ended; undefined while it has not, or where there is none. */
  private endOfAuthority(): Refusal | undefined {
    const { decidedAt, reads } = this.setting
    return this.authority === undefined ? undefined : endOf(this.authority, reads, decidedAt())
  }

  private sinkOf(teller: () => Teller): Sink {
    const send = (frame: Frame, through: number | undefined): void => this.send(frame, teller(), through)
    return {
      send,
      sendWhole: (frame, through) => {
        this.snapshotBytes = frame.text.length
        this.snapshotSeconds = 0
        send(frame, through)
      },
      held: () => {
        this.holds = true
      },
      isBehind: () => this.isBehind,
      isOver: () => {
        // Much may have arrived at once, which says nothing about how fast the client receives it.
        if (this.isOver && this.endOfAuthority() === undefined) this.out.leave(this.peer, this.setting.room.behindBytes)
        return this.isOver
      },
      tooSlow: () => this.end(slow, tooSlow),
      failed: this.broke
    }
  }

  private send(frame: Frame, teller?: Teller, through?: number): void {
    if (this.isClosed) return
    this.out.add(frame, teller, through)
    this.setting.touched(this)
  }

  /** Sends a message without its undefined members. */
  private say(message: object): void {
    this.send(new Frame(JSON.stringify(message)))
  }

  /** The members of a refusal: its envelope, and how long to wait, which answers by REST say in a header. */
  private told(failure: Errors.Failure): object {
    this.setting.refused(failure.description.name)
    const error = Errors.envelope(failure, this.setting.nextRequestId(), this.setting.now())
    return { error, retryAfterSeconds: Errors.waitSecondsOf(Errors.headersOf(failure)) }
  }

  private refuse(id: string | number | undefined, failure: Errors.Failure): void {
    this.say({ type: "error", id, ...this.told(failure) })
    this.countRefusal()
  }

  /** Hands waiting frames to the connection in one write, and held ones once the client is receiving again. */
  private flush(): void {
    this.write()
    while (this.holds && !this.isClosed && !this.isFilling) {
      this.holds = false
      for (const place of this.places.values()) place.drained()
      this.write()
    }
    if (!this.isBehind) this.snapshotBytes = 0
  }

  private write(): void {
    if (this.isClosed || this.out.size === 0) return
    this.judge()
    this.out.leave(this.peer, this.setting.room.behindBytes)
  }
}

type Subscribing = Frames.Subscribing
/** The members by which a client names a stream. */
type Named = Pick<Subscribing, "channel" | "marketId" | "timeframe" | "series">

/** The same as answers give them. */
const namesOf = ({ channel, marketId, series = "trade", timeframe }: Named): Named =>
  channel === candleChannel ? { channel, marketId, timeframe, series } as Named : { channel, marketId } as Named

/** What is wrong with how a frame names a stream: only candles have a length. */
const misnamedOf = ({ channel, series, timeframe }: Named): Errors.Failure | undefined => {
  if (channel === candleChannel) return timeframe === undefined ? timeframeNeeded : undefined
  return (timeframe ?? series) === undefined ? undefined : onlyOfCandles
}

/** The name of a stream in heartbeats. */
const nameOf = ({ channel, marketId, series = "trade", timeframe }: Named): string =>
  marketId === undefined ? channel : channel === candleChannel ? `${channel}:${marketId}:${timeframe}:${series}` : `${channel}:${marketId}`
