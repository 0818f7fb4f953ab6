/**
 * A platform whose network is the real edge over the real engine, in the same process: requests are answered by it, and frames on a socket
 * wait until the test delivers them.
 */
import type { HttpAnswer, HttpRequest, Line, LineEvents } from "../../../src/client/venue/Platform.js"
import type { Application, Conversation } from "../../../src/edge/http/Listener.js"
import type { Ask } from "../../edge/FakeVenue.js"
import { VirtualPlatform } from "./VirtualPlatform.js"

export const origin = "http://venue"

/** The venue that the client reaches. */
export interface Reached {
  readonly application: Pick<Application, "open">
  readonly ask: (ask: Ask) => Promise<{
    readonly status: number
    readonly body: string
    readonly headers?: Readonly<Record<string, string>>
  }>
}

/** A connection to the venue's stream. */
class LiveLine {
  private readonly waiting: Array<string> = []
  private readonly conversation: Conversation
  private isOver = false

  constructor({ application }: Reached, private readonly events: LineEvents) {
    const opening = application.open!({ target: "/streams/v1/ws", headers: {}, remoteAddress: "192.0.2.1" })
    if ("refused" in opening) throw new Error(`refused: ${opening.refused.body}`)
    this.conversation = opening.accept({
      send: (frames) => {
        for (const { text } of frames) this.waiting.push(text)
      },
      bufferedBytes: () => 0,
      ping: () => this.conversation.answered(),
      close: (code, reason) => {
        this.conversation.closed()
        events.closed(code, reason)
      }
    })
  }

  get line(): Line {
    return { send: (text) => this.conversation.text(Buffer.from(text)), close: () => this.cut() }
  }

  /** Delivers the next frame and returns its type; undefined if there is none. */
  arrive(): string | undefined {
    const text = this.isOver ? undefined : this.waiting.shift()
    if (text === undefined) return undefined
    this.events.text(text)
    return (JSON.parse(text) as { readonly type: string }).type
  }

  /** Cuts the connection in the middle: frames under way are lost. */
  cut(): void {
    if (this.isOver) return
    this.isOver = true
    this.conversation.closed()
    this.events.closed(1006, "")
  }
}

export class LivePlatform extends VirtualPlatform {
  private current: LiveLine | undefined
  /** Connections so far. */
  connections = 0

  constructor(private readonly venue: Reached) {
    super()
  }

  override readonly send = async ({ body, headers, method, url }: HttpRequest): Promise<HttpAnswer> => {
    const answer = await this.venue.ask({
      method,
      target: url.slice(origin.length),
      ...(body === undefined ? undefined : { body: JSON.parse(body) as unknown }),
      ...(headers["authorization"] === undefined ? undefined : { key: headers["authorization"].slice("Bearer ".length) }),
      ...(headers["idempotency-key"] === undefined ? undefined : { idempotencyKey: headers["idempotency-key"] })
    })
    return { status: answer.status, body: answer.body, header: (name) => answer.headers?.[name] }
  }

  override readonly connect = (_url: string, events: LineEvents): Line => {
    this.connections++
    this.current = new LiveLine(this.venue, events)
    return this.current.line
  }

  /** Delivers frames, up to `most` snapshots and updates, with all that follows from them. */
  async arrive(most = Number.POSITIVE_INFINITY): Promise<void> {
    for (let left = most; left > 0;) {
      await this.settle()
      const type = this.current?.arrive()
      if (type === undefined) return
      if (type === "snapshot" || type === "update") left--
    }
  }

  /** Cuts the connection. */
  cut(): void {
    this.current?.cut()
  }

  /** Waits until there is another connection. */
  async connected(): Promise<void> {
    for (const { connections } = this; connections === this.connections;) await this.pass(1_000)
  }
}
