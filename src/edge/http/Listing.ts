/** Listings: how long they are, and where a page of one begins and ends. */
import type * as Effect from "effect/Effect"
import * as Cursor from "./Cursor.js"
import * as Errors from "./Errors.js"
import { fail } from "./Executor.js"

const defaultPage = 50
const defaultCompatLimit = 100

const limitOf = (text: string | undefined, otherwise: number): number => text === undefined ? otherwise : Number(text)

/** Entries of a native page. */
export const pageLimit = (text: string | undefined): number => limitOf(text, defaultPage)

/** Entries of an answer of the compatibility layer. */
export const compatLimit = (text: string | undefined): number => limitOf(text, defaultCompatLimit)

/** Where a page begins, an exclusive bound; a failure for a cursor that this listing did not give. */
export const withCursor = <A>(
  kind: Cursor.Kind,
  text: string | undefined,
  then: (before: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  const before = text === undefined ? Number.POSITIVE_INFINITY : Cursor.decode(kind, text)
  return before === undefined ? fail(Errors.staleCursor) : then(before)
}

/** At most `limit` of the rows that were read (one more than that, if there are so many), and where the next page begins. */
export const page = <Name extends Exclude<Cursor.Kind, "orders">, Row extends { readonly ordinal: number }, A>(
  name: Name,
  limit: number,
  rows: ReadonlyArray<Row>,
  view: (row: Row) => A
): { readonly [key in Name]: ReadonlyArray<A> } & { readonly nextCursor: string | null } => {
  const shown = rows.slice(0, limit)
  const nextCursor = rows.length > limit ? Cursor.encode(name, shown[limit - 1]!.ordinal) : null
  return { [name]: shown.map(view), nextCursor } as { readonly [key in Name]: ReadonlyArray<A> } & { nextCursor: string | null }
}
