/** Facts about the ledger on their way into the journal. Each is answered when it is durable; one that is known already is as good. */
import * as Effect from "effect/Effect"
import { describe, Refusal } from "../domain/Refusal.js"
import { internal, Principal } from "../operations/Header.js"
import { type CommandOfKind, type Kind, withFields } from "../operations/Operations.js"
import type { Header } from "../operations/Header.js"
import type { Parts } from "./Parts.js"
import { Withheld } from "./Trouble.js"

type FieldsOf<K extends Kind> = Omit<CommandOfKind<K>, "kind" | keyof Header>

/**
 * What became of a fact: it changed something; or it was known, or cannot be, as the state has gone on meanwhile; or it is about nothing
 * that the venue knows.
 */
export type Noted = "noted" | "known" | "conflict" | "unknown"

/** Journals a fact that the ledger or the signer has told. */
export const note = <K extends Kind>({ submit }: Pick<Parts, "submit">, kind: K, values: FieldsOf<K>): Effect.Effect<Noted, Withheld> =>
  Effect.async<Noted, Withheld>((resume) => {
    submit(withFields(kind, internal(Principal.ledger), values), ({ entries: [entry], refusal }) => {
      const refused = refusal !== Refusal.none ? refusal : entry?._tag === "Refused" ? entry.refusal : undefined
      if (refused === undefined) return resume(Effect.succeed("noted"))
      if (refused === Refusal.ledgerFactKnown) return resume(Effect.succeed("known"))
      if (refused === Refusal.ledgerFactConflict) return resume(Effect.succeed("conflict"))
      if (refused === Refusal.transferNotFound) return resume(Effect.succeed("unknown"))
      resume(new Withheld({ refusal: describe(refused).name }))
    })
  })

/** Ends when everything that was read up to now is durable: before, nothing that follows from it may leave the process. */
export const settled = ({ barrier, reads }: Pick<Parts, "barrier" | "reads">): Effect.Effect<void> =>
  Effect.async<void>((resume) => barrier.whenDurable(reads.sequence, () => resume(Effect.void)))
