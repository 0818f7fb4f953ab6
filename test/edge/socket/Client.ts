/** A client of the stream as the listener sees it: what it sends, what it received, and how fast it takes that. */
import type { Conversation, Peer } from "../../../src/edge/http/Listener.js"
import type { LiveVenue, Trader } from "../LiveVenue.js"
import * as Fake from "../FakeVenue.js"

export class Client {
  /** Every received frame, oldest first. */
  readonly frames: Array<any> = []
  /** The number of writes in which the frames arrived. */
  writes = 0
  /** The number of WebSocket pings received. */
  pings = 0
  ended: { readonly code: number; readonly reason: string } | undefined
  buffered = 0
  /** Whether sent frames stay in the buffer until the client takes them. */
  isSlow = false
  /** Whether its connection takes a while to close once it was ended. */
  lingers = false
  private readonly conversation: Conversation
  private ids = 0
  private seen = 0
  private arrived: () => void = () => {}
  private gone: () => void = () => {}

  /**
   * `forwardedFor`: the client's address as a proxy reports it; the connection itself comes from the proxy's address. `origin`: that of the
   * page whose browser it is.
   */
  constructor(readonly venue: LiveVenue, forwardedFor?: string, origin?: string) {
    const headers = { "x-forwarded-for": forwardedFor, origin }
    const opening = venue.application.open({ target: "/streams/v1/ws", headers, remoteAddress: "192.0.2.1" })
    if ("refused" in opening) throw new Error(`refused: ${opening.refused.body}`)
    const peer: Peer = {
      send: (frames) => {
        this.writes++
        for (const { text } of frames) {
          this.frames.push(JSON.parse(text))
          if (this.isSlow) this.buffered += text.length
        }
        this.arrived()
      },
      bufferedBytes: () => this.buffered,
      ping: () => {
        this.pings++
      },
      close: (code, reason) => {
        this.ended = { code, reason }
        if (!this.lingers) this.conversation.closed()
        this.gone()
      }
    }
    this.conversation = opening.accept(peer)
  }

  /** Sends a frame; returns the frames received since the last request. */
  say(frame: object): ReadonlyArray<any> {
    this.sayBytes(JSON.stringify({ id: `f${++this.ids}`, ...frame }))
    return this.fresh()
  }

  sayText(text: string): ReadonlyArray<any> {
    this.sayBytes(text)
    return this.fresh()
  }

  private sayBytes(text: string): void {
    this.conversation.text(Buffer.from(text))
  }

  /** Sends a WebSocket pong. */
  alive(): void {
    this.conversation.answered()
  }

  sayBinary(): void {
    this.conversation.binary()
  }

  /** Takes all sent frames. */
  drain(): ReadonlyArray<any> {
    this.buffered = 0
    this.conversation.drained()
    return this.fresh()
  }

  /** Waits until `count` frames were received since the last request. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.arrived = () => {
        if (this.frames.length - this.seen >= count) resolve()
      }
      this.arrived()
    })
  }

  /** Waits until the venue has ended the connection. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      this.gone = resolve
      if (this.ended !== undefined) resolve()
    })
  }

  leave(): void {
    this.conversation.closed()
  }

  /** The frames received since this was last called. */
  fresh(): ReadonlyArray<any> {
    const fresh = this.frames.slice(this.seen)
    this.seen = this.frames.length
    return fresh
  }

  /** A ticket for a trader's account. */
  async ticket(trader: Trader, scopes: ReadonlyArray<string> = ["read"]): Promise<string> {
    const minted = await this.venue.post(trader, "/v1/realtime/ticket", { scopes })
    if (minted.status !== 200) throw new Error(minted.body)
    return Fake.json(minted).ticket
  }

  /** Authenticates with a fresh ticket. */
  async authenticate(trader: Trader, scopes?: ReadonlyArray<string>): Promise<ReadonlyArray<any>> {
    return this.say({ op: "auth", ticket: await this.ticket(trader, scopes) })
  }
}
