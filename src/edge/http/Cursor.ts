/**
 * Page cursors as clients carry them: a small JSON object in base64url. A cursor names a place in an order that never changes
 * (newest first, by increasing numbers), so that new entries neither duplicate nor hide others. It reveals nothing that the entries
 * do not: for orders and trades their numbers, which are their ids; for an account's ledger and funding payments the record, and
 * how many later entries of the account that record has.
 */
import * as Ids from "../../domain/Ids.js"
import type { BalancePlace } from "../../engine/Reads.js"
import type { EpisodePlace } from "../../readmodel/Tables.js"
import { type WindowKind, windowKinds } from "../../readmodel/Windows.js"

/** Listings by number: a cursor of one kind is invalid for another. */
export type Kind = "orders" | "fills" | "trades" | "events" | "deposits" | "withdrawals"

/** Members as a cursor says them. */
const said = (members: object): string => Buffer.from(JSON.stringify(members), "utf8").toString("base64url")

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0

/** The members of a cursor; undefined where the text is none. */
const membersOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
    return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : undefined
  } catch {
    return undefined
  }
}

/** A cursor behind which entries with a number below `before` follow. */
export const encode = (kind: Kind, before: number): string => said({ kind, before })

/** The number of a cursor of this kind; undefined for any other text. */
export const decode = (kind: Kind, text: string): number | undefined => {
  const before = membersOf(text)?.["before"]
  return isCount(before) && encode(kind, before) === text ? before : undefined
}

/** A place on a board of the leaderboard. */
interface Ranked {
  readonly window: WindowKind
  readonly version: number
  readonly rank: number
}

/** A cursor behind which the lower places of the same board follow. */
export const encodeRank = ({ rank, version, window }: Ranked): string => said({ kind: "leaderboard", window, boardVersion: version, rank })

/** The place of such a cursor; undefined for any other text. */
export const decodeRank = (text: string): Ranked | undefined => {
  const { boardVersion, rank, window } = membersOf(text) ?? {}
  const kind = windowKinds.find((each) => each === window)
  if (kind === undefined || !isCount(boardVersion) || !isCount(rank)) return undefined
  const place = { window: kind, version: boardVersion, rank }
  return encodeRank(place) === text ? place : undefined
}

/** A cursor behind which the older episodes of positions follow. `closeSequence` is null of an open one. */
export const encodeEpisode = ({ born, closeSequence, openedAtEpochMs }: EpisodePlace): string =>
  said({ closeSequence: closeSequence ?? null, openedAtEpochMs, positionId: Ids.positionId(born) })

/** The place of such a cursor; undefined for any other text, including one without the time of the close. */
export const decodeEpisode = (text: string): EpisodePlace | undefined => {
  const { closeSequence, openedAtEpochMs, positionId } = membersOf(text) ?? {}
  const born = typeof positionId === "string" ? Ids.parsePositionId(positionId) : undefined
  if (born === undefined || !isCount(openedAtEpochMs) || (closeSequence !== null && !isCount(closeSequence))) return undefined
  const place = { closeSequence: closeSequence ?? undefined, openedAtEpochMs, born }
  return encodeEpisode(place) === text ? place : undefined
}

/** Listings by place: an account's ledger, and its funding payments. */
export type PlacedKind = "entries" | "payments"

/** A cursor behind which what is older of an account's follows. */
export const encodePlace = (kind: PlacedKind, { place, sequence }: BalancePlace): string => said({ kind, sequence, place })

/** The place of a cursor of this kind; undefined for any other text. */
export const decodePlace = (kind: PlacedKind, text: string): BalancePlace | undefined => {
  const { place, sequence } = membersOf(text) ?? {}
  return isCount(place) && isCount(sequence) && encodePlace(kind, { sequence, place }) === text ? { sequence, place } : undefined
}
