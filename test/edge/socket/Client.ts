/** A client of the stream, as the listener has it: what it says, what it was sent, and how fast it takes that. */
import type { Conversation, Peer } from "../../../src/edge/http/Listener.js"
import type { LiveVenue, Trader } from "../LiveVenue.js"
import * as Fake from "../FakeVenue.js"

export class Client {
  /** Everything that was sent, oldest first. */
  readonly frames: Array<any> = []
  /** How many writes that took. */
  writes = 0
  /** How often it was asked for a sign of life on the protocol's own level. */
  pings = 0
  ended: { readonly code: number; readonly reason: string } | undefined
  buffered = 0
  /** Whether what it is sent stays on its way until it takes it. */
  isSlow = false
  /** Whether its connection takes a while to go away once it was ended. */
  lingers = false
  private readonly conversation: Conversation
  private ids = 0
  private seen = 0
  private arrived: () => void = () => {}
  private gone: () => void = () => {}

  /** `forwardedFor`: the client's address as reported by a proxy, from whose own address the connection comes. */
  constructor(readonly venue: LiveVenue, forwardedFor?: string) {
    const headers = { "x-forwarded-for": forwardedFor }
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

  /** Says a frame, and what came since anything was last asked for. */
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

  /** Gives a sign of life on the protocol's own level. */
  alive(): void {
    this.conversation.alive()
  }

  sayBinary(): void {
    this.conversation.binary()
  }

  /** Takes all that it was sent. */
  drain(): ReadonlyArray<any> {
    this.buffered = 0
    this.conversation.drained()
    return this.fresh()
  }

  /** Waits until so many frames came since anything was last asked for. */
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

  /** What came since this was last asked for. */
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

  /** Shows a fresh ticket. */
  async authenticate(trader: Trader, scopes?: ReadonlyArray<string>): Promise<ReadonlyArray<any>> {
    return this.say({ op: "auth", ticket: await this.ticket(trader, scopes) })
  }
}
