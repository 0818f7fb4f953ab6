/** The development ledger within the venue's own process, durable in a file of its own; the venue does not wait for its disk. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { DevelopmentLedger } from "./DevelopmentLedger.js"
import { Faucet, faucet } from "./Faucet.js"
import type { Script } from "./Faults.js"
import * as JsonLedger from "../JsonLedger.js"
import { Ledger } from "../Ledger.js"
import * as NodeLedgerClient from "./NodeLedgerClient.js"
import { open, StoreUnreadable } from "./NodeStore.js"
import { type Setting, setting } from "./Setting.js"

/**
 * Opens the ledger stored in a file in the current thread, for as long as the scope lives. It blocks that thread, so it is for callers that
 * do nothing else.
 */
export const opened = (file: string, script: Script, of: Setting = setting) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({
        try: () => open(file),
        catch: (error) => error instanceof StoreUnreadable ? error : new StoreUnreadable({ file, reason: String(error) })
      }),
      (store) => Effect.sync(() => store.close())
    ),
    (store) => new DevelopmentLedger(of, store, script)
  )

export interface Options {
  readonly file: string
  /** A script of faults, for trying them out. */
  readonly script?: Script
}

/** The ledger, and its faucet. */
export const layer = ({ file, script = [] }: Options): Layer.Layer<Ledger | Faucet, StoreUnreadable> =>
  Layer.scopedContext(Effect.gen(function*() {
    const transport = yield* NodeLedgerClient.open({ file, script })
    const service = yield* JsonLedger.make(transport, setting)
    return Context.make(Ledger, service).pipe(Context.add(Faucet, faucet(transport)))
  }))
