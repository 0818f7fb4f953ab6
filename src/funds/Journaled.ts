/** Journals facts about the ledger. Each is answered when it is durable; a known one counts as done. */
import * as Effect from "effect/Effect"
import { describe, Refusal } from "../domain/Refusal.js"
import { internal, Principal } from "../operations/Header.js"
import { type CommandOfKind, type Kind, withFields } from "../operations/Operations.js"
import type { Header } from "../operations/Header.js"
import type { Parts } from "./Parts.js"
import { Withheld } from "./Trouble.js"

type FieldsOf<K extends Kind> = Omit<CommandOfKind<K>, "kind" | keyof Header>

/**
 * The result of a fact: it changed something; it was known, or is impossible because the state has moved on; or it concerns nothing
 * known to the venue.
 */
export type Noted = "noted" | "known" | "conflict" | "unknown"

/** Journals a fact from the ledger or the signer. */
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

/** Completes when everything read up to now is durable: nothing derived from it may leave the process before. */
export const settled = ({ barrier, reads }: Pick<Parts, "barrier" | "reads">): Effect.Effect<void> =>
  Effect.async<void>((resume) => barrier.whenDurable(reads.sequence, () => resume(Effect.void)))
