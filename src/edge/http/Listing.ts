/** Listings: how long they are, and where a page of one begins and ends. */
import type * as Effect from "effect/Effect"
import type { BalancePlace } from "../../engine/Reads.js"
import type { Episode } from "../../readmodel/Episodes.js"
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

/** The beginning of a page, an exclusive bound; a failure for a cursor that this listing did not issue. */
export const withCursor = <A>(
  kind: Cursor.Kind,
  text: string | undefined,
  then: (before: number) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  const before = text === undefined ? Number.POSITIVE_INFINITY : Cursor.decode(kind, text)
  return before === undefined ? fail(Errors.staleCursor) : then(before)
}

/** The beginning of a page of a listing whose places are not numbers; undefined for the first page. */
const withDecoded = <Place>(decode: (text: string) => Place | undefined) =>
<A>(
  text: string | undefined,
  then: (place: Place | undefined) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> => {
  if (text === undefined) return then(undefined)
  const place = decode(text)
  return place === undefined ? fail(Errors.staleCursor) : then(place)
}

/** The place where a page of an account's ledger begins. */
export const withLedgerPlace = withDecoded((text) => Cursor.decodePlace("entries", text))

/** The place where a page of an account's payments of funding begins. */
export const withPaymentPlace = withDecoded((text) => Cursor.decodePlace("payments", text))

/** The place where a page of episodes of positions begins. */
export const withEpisode = withDecoded(Cursor.decodeEpisode)

/** Rows under their name, with the cursor of the next page. */
type Page<Name extends string, A> = { readonly [key in Name]: ReadonlyArray<A> } & { readonly nextCursor: string | null }

/** At most `limit` of the rows, of which one more was read if it exists, and the cursor of the next page. */
export const pageBy = <Name extends string, Row, A>(
  name: Name,
  limit: number,
  rows: ReadonlyArray<Row>,
  view: (row: Row) => A,
  cursorOf: (row: Row) => string
): Page<Name, A> => {
  const shown = rows.slice(0, limit)
  return { [name]: shown.map(view), nextCursor: rows.length > limit ? cursorOf(shown[limit - 1]!) : null } as Page<Name, A>
}

/** A page of rows that are listed by their ordinals. */
export const page = <Name extends Exclude<Cursor.Kind, "orders">, Row extends { readonly ordinal: number }, A>(
  name: Name,
  limit: number,
  rows: ReadonlyArray<Row>,
  view: (row: Row) => A
): Page<Name, A> => pageBy(name, limit, rows, view, ({ ordinal }) => Cursor.encode(name, ordinal))

/** A page of what is listed by places. */
export const pageByPlace = <Name extends Cursor.PlacedKind, Row extends BalancePlace, A>(
  name: Name,
  limit: number,
  rows: ReadonlyArray<Row>,
  view: (row: Row) => A
): Page<Name, A> => pageBy(name, limit, rows, view, (row) => Cursor.encodePlace(name, row))

/** A page of an account's episodes. */
export const pageOfEpisodes = <A>(limit: number, rows: ReadonlyArray<Episode>, view: (row: Episode) => A): Page<"episodes", A> =>
  pageBy("episodes", limit, rows, view, ({ born, close, openedAtEpochMs }) =>
    Cursor.encodeEpisode({ closeSequence: close?.sequence, openedAtEpochMs, born }))
