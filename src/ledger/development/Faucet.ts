/** Creates settlement asset for people who try the venue out. Exists in development only. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { controls } from "./DevelopmentLedger.js"
import { type LedgerError, Refused, Unknown } from "../Ledger.js"
import type { Transport } from "../Transport.js"

export class Faucet extends Context.Tag("venue/ledger/development/Faucet")<Faucet, {
  /** Gives an amount to a party that the ledger knows; at most a billion USDC at once. */
  readonly give: (party: string, amountAtoms: number) => Effect.Effect<void, LedgerError>
}>() {}

/** The faucet of the ledger behind a transport. */
export const faucet = (transport: Transport): Context.Tag.Service<Faucet> => ({
  give: (party, amountAtoms) =>
    transport({ method: "POST", path: controls.faucet, body: { party, amountAtoms } }).pipe(
      Effect.mapError((error): LedgerError => new Unknown({ code: undefined, cause: error.cause })),
      Effect.flatMap(({ body, status }) =>
        status === 200 ? Effect.void : Effect.fail(new Refused({ code: "FAUCET", cause: JSON.stringify(body), context: {} }))
      )
    )
})
