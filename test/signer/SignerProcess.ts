/** A signer as a process, as in production, on a free port, and its output. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import * as HttpSigner from "../../src/signer/HttpSigner.js"
import { PartySigner } from "../../src/signer/PartySigner.js"
import { type Service, variables } from "./Desk.js"

export const secret = "a secret of the signer's own"
export const token = "a-token-that-the-venue-alone-has"

export interface Started {
  readonly signer: Service
  readonly url: string
  readonly process: ChildProcess
  /** Its output so far. */
  readonly said: () => string
}

/** A client of the signer at a URL. */
export const signerAt = (url: string, timeoutMs = 20_000, bearer = token): Effect.Effect<Service> =>
  Effect.provide(PartySigner, HttpSigner.layer({ url, token: Redacted.make(bearer), timeoutMs }).pipe(Layer.provide(FetchHttpClient.layer)))

const untilListening = (child: ChildProcess, said: () => string): Promise<string> =>
  new Promise((resolve, reject) => {
    const look = (): void => {
      const url = /signer at (\S+),/.exec(said())?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout!.on("data", look)
    child.once("exit", (code) => reject(new Error(`the signer ended with ${code}: ${said()}`)))
  })

/** Starts one; it is stopped, and awaited, when the scope closes. */
export const start = (
  directory: string,
  environment: Readonly<Record<string, string>> = {}
): Effect.Effect<Started, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["dist/tools/signer.js", "--port", "0", "--data", directory], {
          env: { PATH: process.env["PATH"] ?? "", ...variables, SIGNER_SECRET: secret, SIGNER_TOKEN: token, ...environment },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (running) =>
        Effect.async<void>((resume) => {
          if (running.exitCode !== null || running.signalCode !== null) return resume(Effect.void)
          running.once("exit", () => resume(Effect.void))
          running.kill("SIGTERM")
        })
    )
    const chunks: Array<string> = []
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk))
    const said = (): string => chunks.join("")
    const url = yield* Effect.tryPromise(() => untilListening(child, said))
    return { signer: yield* signerAt(url), url, process: child, said }
  })
