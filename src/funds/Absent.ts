/** A venue without a ledger: every call of the ledger or the signer fails as unreachable, so that no money comes in or goes out. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Ledger, Unavailable } from "../ledger/Ledger.js"
import { PartySigner, SignerUnavailable } from "../signer/PartySigner.js"
import type { Setting } from "./Parts.js"

const ledger = Effect.fail(new Unavailable({ cause: "this venue has no ledger" }))
const signer = Effect.fail(new SignerUnavailable({ detail: "this venue has no signer" }))

export const layer: Layer.Layer<Ledger | PartySigner> = Layer.merge(
  Layer.succeed(Ledger, {
    participantId: ledger,
    end: ledger,
    prepare: () => ledger,
    execute: () => ledger,
    completions: () => ledger,
    completionByHash: () => ledger,
    allocateParty: () => ledger,
    holdings: () => ledger
  }),
  Layer.succeed(PartySigner, {
    newParty: () => signer,
    treasuryKey: signer,
    knownTreasuryKey: signer,
    claim: () => signer,
    accountKeys: () => signer,
    signTopology: () => signer,
    sign: () => signer,
    repin: () => signer
  })
)

/** No plan is ever made from it. */
export const setting: Setting = {
  environment: "development",
  userId: "none",
  synchronizerId: "none",
  custodyPackageId: "none",
  token: { packageId: "none", admin: "none", id: "none" }
}
