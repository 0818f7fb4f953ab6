/**
 * Everything that is followed, over as many connections as that takes: the venue limits the streams of one. The first has the account's
 * streams and the commands; streams of markets that it has no room for go over further ones, which act for no account.
 */
import { accountStreams, type Channel, isOfAccount, keyOf, type StreamName } from "./Channels.js"
import { Following, type Listener } from "./Following.js"
import { Pace } from "./Pace.js"
import type { Platform } from "./Platform.js"
import { Stream, type StreamOptions } from "./Stream.js"

export class Streams {
  readonly first: Stream
  private further: ReadonlyArray<Stream> = []
  /** All further connections send at one pace, since the venue limits what those of one address without a ticket send together. */
  private readonly furtherPace: Pace
  /** Most streams of one connection, as the venue told last. */
  private most = Number.POSITIVE_INFINITY
  private isClosed = false

  constructor(private readonly platform: Platform, private readonly options: StreamOptions) {
    this.furtherPace = new Pace(platform)
    this.first = this.made(options, new Pace(platform))
  }

  /** Gives a stream's events to a listener from now on. Throws where the stream is already followed: it can have only one listener. */
  follow<C extends Channel>(name: StreamName<C>, listener: Listener<C>): Following<C> {
    const key = keyOf(name)
    if (this.isClosed) throw new Error("the client is closed")
    if (this.all().some((stream) => stream.follows(key))) throw new Error(`${key} is followed already`)
    if (isOfAccount(name.channel) && this.options.tickets === undefined) throw new Error(`${key} needs an API key, or tickets`)
    const stream = isOfAccount(name.channel) ? this.first : this.streamWithRoom()
    const following = new Following<C>(name, listener, stream.around)
    stream.take(following as unknown as Following)
    return following
  }

  /** Stops following everything. */
  close(): void {
    this.isClosed = true
    for (const stream of this.all()) stream.close()
  }

  private all(): ReadonlyArray<Stream> {
    return [this.first, ...this.further]
  }

  private made(options: StreamOptions, pace: Pace): Stream {
    const stream: Stream = new Stream(this.platform, options, pace, {
      opened: (most) => this.opened(stream, most),
      emptied: () => this.emptied(stream)
    })
    return stream
  }

  /** A connection for another stream of a market. */
  private streamWithRoom(): Stream {
    const known = this.all().find((stream) => stream.ofMarkets.length < this.roomOf(stream))
    if (known !== undefined) return known
    const made = this.made({ ...this.options, tickets: undefined, isForOrders: false }, this.furtherPace)
    this.further = [...this.further, made]
    return made
  }

  /** How many streams of markets a connection has room for. */
  private roomOf(stream: Stream): number {
    const kept = stream === this.first && this.options.tickets !== undefined ? accountStreams : 0
    return Math.max(0, this.most - kept)
  }

  /** Only now it is known how many streams a connection may have: those that are too many for it move. */
  private opened(stream: Stream, most: number | undefined): void {
    this.most = Math.max(1, most ?? Number.POSITIVE_INFINITY)
    const tooMany = stream.ofMarkets.slice(this.roomOf(stream))
    for (const following of tooMany) stream.giveUp(following)
    for (const following of tooMany) this.streamWithRoom().take(following)
  }

  private emptied(stream: Stream): void {
    if (stream === this.first) return
    this.further = this.further.filter((one) => one !== stream)
    stream.close()
  }
}
