/** An HTTP server that gives scripted answers, in order: for answers that a healthy venue does not give on demand. */
import * as http from "node:http"
import type * as net from "node:net"

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the connection ends in the middle of the body. */
  readonly isCut?: boolean
}

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

const version = "external-scripted/v1"

/** An answer of a healthy venue, with a version; one of `/v2` contains the native one. */
export const answered = (body: object): Answer => ({
  status: 200,
  body: JSON.stringify(Array.isArray(body) ? body : { version, info: { version }, ...body })
})

/** The market of these venues, as `/v2/markets` lists it. */
export const market = {
  id: "BTC-USDC-PERP",
  symbol: "BTC/USDC:USDC",
  base: "BTC",
  quote: "USDC",
  settle: "USDC",
  type: "swap",
  swap: true,
  contract: true,
  precision: { amount: 0.001, price: 0.1 },
  limits: {},
  info: {}
}

export class ScriptedVenue {
  /** Every request so far, oldest first. */
  readonly seen: Array<Seen> = []
  private answers: Array<Answer | "silence"> = []

  private constructor(private readonly server: http.Server) {}

  static async start(): Promise<ScriptedVenue> {
    const server = http.createServer()
    const venue = new ScriptedVenue(server)
    server.on("request", (request, response) => {
      let body = ""
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      request.on("end", () => {
        venue.seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body })
        const answer = venue.answers.shift()
        if (answer === undefined) throw new Error(`nothing was scripted for ${request.method} ${request.url}`)
        if (answer === "silence") return
        if (answer.isCut === true) {
          response.writeHead(answer.status, { "content-length": answer.body.length + 1 })
          response.write(answer.body, () => response.destroy())
          return
        }
        response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers }).end(answer.body)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return venue
  }

  get port(): number {
    return (this.server.address() as net.AddressInfo).port
  }

  /** Sets the next answers, in order; `silence` is none at all. Forgets the requests seen so far. */
  script(...answers: ReadonlyArray<Answer | "silence">): void {
    this.answers = [...answers]
    this.seen.length = 0
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
  }
}
