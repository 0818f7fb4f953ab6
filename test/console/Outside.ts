/** A browser for the pages' state: the test scripts the venue's answers, request by request, and passkeys respond at once. */
import { VirtualPlatform } from "../client/venue/VirtualPlatform.js"
import type { Answered, Ceremony, Outside, Sent } from "../../src/console/state/Outside.js"

type Answer = Answered | undefined
type Asked = (sent: Sent) => Answer | Promise<Answer>

export const accountId = "acc_1s"
export const startEpochMs = 1_700_000_000_000

export class ScriptedOutside implements Outside {
  readonly sent: Array<Sent> = []
  /** The options with which passkeys were registered and used. */
  readonly ceremonies: Array<readonly ["create" | "use", object]> = []
  readonly elsewhere = undefined
  nowEpochMs = startEpochMs
  stored: string | undefined = undefined
  /** The results of the next ceremonies; a credential by default. */
  troubles: Array<Ceremony<never> | undefined> = []
  private readonly answers = new Map<string, Asked>()
  private keys = 0

  /** Sets the answer to a method and path, without its query, from now on. */
  on(route: string, answer: Answer | Asked): this {
    this.answers.set(route, typeof answer === "function" ? answer : () => answer)
    return this
  }

  /** Requests as `METHOD path`, in order. */
  get asked(): ReadonlyArray<string> {
    return this.sent.map(({ method, path }) => `${method} ${path}`)
  }

  readonly send = async (sent: Sent): Promise<Answer> => {
    this.sent.push(sent)
    const answer = this.answers.get(`${sent.method} ${sent.path.split("?")[0]}`)
    if (answer === undefined) throw new Error(`nobody expects ${sent.method} ${sent.path}`)
    return await answer(sent)
  }

  readonly createPasskey: Outside["createPasskey"] = async (options) => this.ceremony("create", options)
  readonly usePasskey: Outside["usePasskey"] = async (options) => this.ceremony("use", options)

  readonly kept: Outside["kept"] = {
    read: () => this.stored,
    write: (text) => {
      this.stored = text
    },
    clear: () => {
      this.stored = undefined
    }
  }

  readonly copy = async (): Promise<boolean> => true
  readonly now = (): number => this.nowEpochMs
  readonly nextKey = (): string => `key-${++this.keys}`
  isShown = true
  readonly isSeen = (): boolean => this.isShown
  readonly every = (): () => void => () => {}
  readonly platform = new VirtualPlatform()
  readonly venue = { url: "http://venue.test", platform: this.platform }
  private painted: Array<() => void> = []

  /** Queues a callback for the next frame. */
  readonly frame = (run: () => void): void => void this.painted.push(run)

  /** Paints a frame and runs what waited for it; returns how many frames were requested. */
  async paint(): Promise<number> {
    const { painted } = this
    this.painted = []
    for (const run of painted) run()
    await this.platform.settle()
    return painted.length
  }

  private ceremony<A>(kind: "create" | "use", options: object): Ceremony<A> {
    this.ceremonies.push([kind, options])
    return this.troubles.shift() ?? { credential: { id: `credential-${this.ceremonies.length}` } as A }
  }
}

/** A successful answer: without a body, or with one that has a version. */
export const ok = (body: object | undefined): Answered =>
  body === undefined
    ? { status: 204, requestId: "req_ok", body }
    : { status: 200, requestId: "req_ok", body: { version: "external-scripted/v1", ...body } }

export const session = (accessToken: string, more: Readonly<Record<string, unknown>> = {}): Answered =>
  ok({ version: "session/v1", accessToken, tokenType: "Bearer", accountId, expiresAtEpochMs: startEpochMs + 1_000, ...more })

export const challenge = (challengeIdentifier: string): Answered => ok({ challengeIdentifier, options: { of: challengeIdentifier } })

export const refused = (status: number, code: string, more: Readonly<Record<string, unknown>> = {}): Answered => ({
  status,
  requestId: "req_header",
  body: {
    version: "external-rest-error/v1",
    requestId: "req_body",
    code,
    safeMessage: `It is ${code}.`,
    retryable: false,
    recoveryActions: ["fix_request"],
    occurredAtEpochMs: startEpochMs,
    ...more
  }
})

/** The venue's answer to a session that has ended. */
export const over = refused(401, "unauthorized", { recoveryActions: ["sign_in_with_passkey"] })

/** An answer that arrives when the test says so. */
export const later = (): { readonly answer: () => Promise<Answer>; readonly come: (answer: Answer) => void } => {
  let come: (answer: Answer) => void = () => {}
  const answer = new Promise<Answer>((resolve) => {
    come = resolve
  })
  return { answer: () => answer, come: (value) => come(value) }
}
