/**
 * A platform controlled by a test: its clock moves when the test says so, requests are answered by script, and it is the other end of
 * sockets.
 */
import type { HttpAnswer, HttpRequest, LineEvents, Platform } from "../../../src/client/venue/Platform.js"

/** The answer to a request: an object is the venue's, a text anybody's; `silence` is none, `broken` a connection that ends. */
export type Given =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | "silence"
  | "broken"

/** The venue's end of a socket. */
class VirtualLine {
  /** What the client has sent, oldest first. */
  readonly sent: Array<any> = []
  isClosed = false

  constructor(readonly url: string, private readonly events: LineEvents) {}

  take(text: string): void {
    if (this.isClosed) throw new Error("the client sends on a line that it has closed")
    this.sent.push(JSON.parse(text))
  }

  close(): void {
    this.isClosed = true
  }

  /** Sends frames to the client. */
  say(...frames: ReadonlyArray<object>): void {
    for (const frame of frames) this.events.text(JSON.stringify(frame))
  }

  sayText(text: string): void {
    this.events.text(text)
  }

  /** Ends the connection. */
  end(code = 1006): void {
    this.events.closed(code, "")
  }

  /** The latest frame with an operation. */
  last(op: string): any {
    return this.sent.findLast((frame) => frame.op === op)
  }
}

export class VirtualPlatform implements Platform {
  now = 1_700_000_000_000
  readonly requests: Array<HttpRequest> = []
  readonly lines: Array<VirtualLine> = []
  private timers: Array<{ readonly atEpochMs: number; readonly run: () => void }> = []
  private keys = 0

  /** `answer`: answers a request. */
  constructor(public answer: (request: HttpRequest) => Given | Promise<Given> = () => "silence") {}

  readonly send = async (request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> => {
    this.requests.push(request)
    const given = await this.answer(request)
    if (given === "silence") {
      return await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
    }
    if (given === "broken") throw new Error("the connection ended")
    const { body, headers = {}, status = 200 } = given
    // Every answer of the venue has a version; another server's answer is a text here.
    const told = typeof body === "string" ? body : JSON.stringify({ version: "external-scripted/v1", ...(body as object | undefined) })
    return { status, body: told, header: (name) => headers[name] }
  }

  readonly connect = (url: string, events: LineEvents) => {
    const line = new VirtualLine(url, events)
    this.lines.push(line)
    return { send: (text: string) => line.take(text), close: () => line.close() }
  }

  readonly nowEpochMs = (): number => this.now

  readonly after = (delayMs: number, run: () => void): () => void => {
    const timer = { atEpochMs: this.now + delayMs, run }
    this.timers.push(timer)
    return () => {
      this.timers = this.timers.filter((one) => one !== timer)
    }
  }

  readonly random = (): number => 0.5

  readonly newKey = (): string => `made-${++this.keys}`

  /** The socket opened last. */
  get line(): VirtualLine {
    return this.lines.at(-1)!
  }

  /** The number of timers set. */
  get waits(): number {
    return this.timers.length
  }

  /** Sets the clock back. Timers run no longer for that. */
  setBack(byMs: number): void {
    this.now -= byMs
    this.timers = this.timers.map(({ atEpochMs, run }) => ({ atEpochMs: atEpochMs - byMs, run }))
  }

  /** Lets everything happen that does not wait for time to pass. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
  }

  /** Lets time pass, and everything happen that waited for it. */
  async pass(durationMs: number): Promise<void> {
    const until = this.now + durationMs
    await this.settle()
    for (;;) {
      const next = this.timers.filter(({ atEpochMs }) => atEpochMs <= until).sort((left, right) => left.atEpochMs - right.atEpochMs)[0]
      if (next === undefined) break
      this.timers = this.timers.filter((one) => one !== next)
      this.now = Math.max(this.now, next.atEpochMs)
      next.run()
      await this.settle()
    }
    this.now = until
  }

  /** Waits for work under way, letting as much time pass as it takes. */
  async finish<A>(work: Promise<A>): Promise<A> {
    let isDone = false
    void work.then(() => {
      isDone = true
    }, () => {
      isDone = true
    })
    await this.settle()
    while (!isDone && this.timers.length > 0) {
      await this.pass(Math.max(1, Math.min(...this.timers.map(({ atEpochMs }) => atEpochMs)) - this.now))
    }
    return await work
  }
}
