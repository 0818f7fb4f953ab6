/**
 * The traffic of an account's reference client over real sockets, to wherever the venue is in its present life. What passes under each key
 * is noted, so that the client's beliefs can be compared with the received bytes, and its requests with what it was told to send.
 */
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import type { HttpAnswer, HttpRequest, Line, LineEvents, Platform } from "../../src/client/venue/Platform.js"
import type { Answer } from "../load/Connection.js"

/** Where the venue is: each of its lives uses another port. */
export interface Address {
  port: number
}

/** The address under which clients know the venue. */
export const origin = "http://venue:1"

/** The traffic under one key. */
export interface Noted {
  /** How often the request was sent. */
  readonly times: number
  /** The bodies with which it was sent: there must be only one. */
  readonly bodies: ReadonlySet<string>
  /** The last answer that is a decision. */
  readonly answer: Answer | undefined
  /** Whether that decision had been made before this request. */
  readonly isRepeated: boolean
}

/** Statuses of answers that may be decisions; any other says that nothing was accepted. */
const decided: ReadonlySet<number> = new Set([200, 404, 409, 422])

/** An answer to a command over the socket, which has no status. */
const framePattern = /^\{"type":"(?:result|error)","id":"([^"]+)","(body|error)":/
const statusOf = (error: string): number =>
  /"code":"(?:not_found|market_not_found)"/.test(error) ? 404 : /"code":"order_rejected"/.test(error) ? 422 : 0

export class Wire implements Platform {
  private readonly noted = new Map<string, Noted>()
  private made = 0
  readonly nowEpochMs = nodePlatform.nowEpochMs
  readonly after = nodePlatform.after
  readonly random = nodePlatform.random

  /** `answered` is called for every complete answer. */
  constructor(private readonly address: Address, private readonly accountId: string, private readonly answered: () => void) {}

  /** A key whose form shows that the client created it by itself. */
  readonly newKey = (): string => `${this.accountId}-made-${this.made++}`

  readonly send = async (request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> => {
    const key = request.headers["idempotency-key"]
    if (key !== undefined) this.said(key, request.body ?? "")
    const answer = await nodePlatform.send({ ...request, url: this.at(request.url) }, signal)
    this.answered()
    if (key !== undefined) this.heard(key, answer, answer.header("idempotent-replayed") === "true")
    return answer
  }

  readonly connect = (url: string, events: LineEvents): Line => {
    const keys = new Map<string, string>()
    const line = nodePlatform.connect(this.at(url), {
      ...events,
      text: (text) => {
        const [head, id, member] = framePattern.exec(text) ?? []
        const key = keys.get(id ?? "")
        if (head !== undefined && key !== undefined) {
          const body = text.slice(head.length, -1)
          this.heard(key, { status: member === "body" ? 200 : statusOf(body), body }, false)
        }
        events.text(text)
      }
    })
    return {
      ...line,
      send: (text) => {
        const { body, id, idempotencyKey } = JSON.parse(text) as { readonly [name: string]: unknown }
        if (typeof idempotencyKey === "string" && typeof id === "string") {
          keys.set(id, idempotencyKey)
          this.said(idempotencyKey, JSON.stringify(body))
        }
        line.send(text)
      }
    }
  }

  /** The traffic under a key since `forget`. */
  of(key: string): Noted {
    return this.noted.get(key) ?? { times: 0, bodies: new Set(), answer: undefined, isRepeated: false }
  }

  /** All keys with any traffic. */
  get keys(): Iterable<string> {
    return this.noted.keys()
  }

  /** Starts over. */
  forget(): void {
    this.noted.clear()
  }

  private at(url: string): string {
    return url.replace("venue:1", `127.0.0.1:${this.address.port}`)
  }

  private said(key: string, body: string): void {
    const before = this.of(key)
    this.noted.set(key, { ...before, times: before.times + 1, bodies: new Set([...before.bodies, body]) })
  }

  private heard(key: string, { body, status }: Answer, isRepeated: boolean): void {
    if (decided.has(status)) this.noted.set(key, { ...this.of(key), answer: { status, body }, isRepeated })
  }
}
