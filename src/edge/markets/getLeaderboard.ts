/** Who did best, by the histories, under pseudonyms: `GET /v1/leaderboard`. */
import * as crypto from "node:crypto"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Decile, Entry } from "../../readmodel/Boards.js"
import type { BoardPage } from "../../readmodel/Histories.js"
import { type WindowKind, windowKinds } from "../../readmodel/Windows.js"
import type { Services } from "../http/Call.js"
import { CompleteSince, completeSince } from "../http/Complete.js"
import * as Cursor from "../http/Cursor.js"
import * as Errors from "../http/Errors.js"
import { fail, json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageBy, pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"

const WindowName = Schema.Literal(...windowKinds)
const Metric = Schema.Literal("projected_realized_pnl")

/** A board older than this is no longer served, in ms. */
const staleAfterMs = 600_000

const ScoreDecile = Schema.Struct({
  percentileUpperBoundBps: Fields.Count,
  minimumScoreAtoms: Fields.SignedAtoms,
  maximumScoreAtoms: Fields.SignedAtoms,
  accountCount: Fields.Count
}).annotations({ identifier: "ScoreDecile", description: "A tenth of the accounts that are ranked, the lowest scores first." })

const LeaderboardEntry = Schema.Struct({
  rank: Schema.Int.pipe(Schema.positive()),
  displayHandle: Fields.Text,
  participantKind: Schema.Literal("human", "bot"),
  scoreAtoms: Fields.SignedAtoms,
  realizedPnlAtoms: Fields.SignedAtoms,
  feesPaidAtoms: Fields.SignedAtoms,
  fundingPaidAtoms: Fields.SignedAtoms,
  closedNotionalAtoms: Fields.SignedAtoms,
  fillCount: Fields.Count
}).annotations({ identifier: "LeaderboardEntry" })

const Leaderboard = Schema.Struct({
  version: Schema.Literal("external-leaderboard/v1"),
  windowKind: WindowName,
  metricKind: Metric,
  provenance: Schema.Literal("off_chain_position_projection"),
  boardVersion: Schema.String.pipe(Schema.pattern(/^[1-9][0-9]*$/)),
  markEpochMs: Fields.EpochMs,
  throughJournalSequence: Fields.Sequence,
  periodStartEpochMs: Fields.EpochMs,
  periodEndEpochMs: Fields.EpochMs,
  scoreHistogram: Schema.Array(ScoreDecile),
  entries: Schema.Array(LeaderboardEntry),
  nextCursor: Fields.NextCursor,
  ...CompleteSince
}).annotations({
  identifier: "Leaderboard",
  description:
    "Made every 60 s and never changed; a cursor goes on in the board that it came with, for ten minutes. The best 1,000 are told, "
    + "the histogram is of all. A score is what was realised, with what is paid beside a takeover, less fees and funding. "
    + "`feesPaidAtoms` has the fees of liquidations, which `feesPaid` of positions and their history leaves out. Accounts that neither "
    + "traded nor closed anything in the window are left out. Where `completeSinceEpochMs` is there, scores have only what came later in "
    + "the window."
})

/** The name under which others see an account: its chosen handle, or a pseudonym that cannot be traced to it. */
const handleOf = ({ signerSecret, state }: Pick<Services, "signerSecret" | "state">, account: number): string => {
  const { accountId, displayHandle } = state.account(account)
  if (displayHandle !== "") return displayHandle
  return `trader-${crypto.createHmac("sha256", signerSecret).update(`leaderboard/${accountId}`).digest("hex").slice(0, 12)}`
}

const decile = ({ accountCount, maximumScoreAtoms, minimumScoreAtoms, percentileUpperBoundBps }: Decile) => ({
  percentileUpperBoundBps,
  minimumScoreAtoms: String(minimumScoreAtoms),
  maximumScoreAtoms: String(maximumScoreAtoms),
  accountCount
})

const entry = (services: Services, from: Entry): typeof LeaderboardEntry.Type => ({
  rank: from.rank,
  displayHandle: handleOf(services, from.account),
  participantKind: from.isBot ? "bot" : "human",
  scoreAtoms: String(from.scoreAtoms),
  realizedPnlAtoms: String(from.realizedPnlAtoms),
  feesPaidAtoms: String(from.feesPaidAtoms),
  fundingPaidAtoms: String(from.fundingPaidAtoms),
  closedNotionalAtoms: String(from.closedNotionalAtoms),
  fillCount: from.fillCount
})

/** A page of at most `limit` of the entries that were read, one more than that if there are so many. */
const page = (services: Services, { entries, head }: BoardPage, limit: number): typeof Leaderboard.Type => ({
  version: "external-leaderboard/v1",
  windowKind: head.window,
  metricKind: "projected_realized_pnl",
  provenance: "off_chain_position_projection",
  boardVersion: String(head.version),
  markEpochMs: head.markEpochMs,
  throughJournalSequence: head.throughSequence,
  periodStartEpochMs: head.periodStartEpochMs,
  periodEndEpochMs: head.periodEndEpochMs,
  scoreHistogram: head.histogram.map(decile),
  ...pageBy("entries", limit, entries, (each) => entry(services, each), ({ rank }) => Cursor.encodeRank({ ...head, rank })),
  // A window that began later than the histories lacks nothing.
  ...completeSince(services, head.periodStartEpochMs < (services.histories.beginning()?.atEpochMs ?? 0))
})

/**
 * The requested board: the first page is of the latest one, which must be recent; later pages are of the board on which the listing
 * began.
 */
const boardOf = (
  { histories, now }: Services,
  window: WindowKind,
  cursor: string | undefined,
  limit: number
): Effect.Effect<BoardPage, Errors.Failure> => {
  const place = cursor === undefined ? undefined : Cursor.decodeRank(cursor)
  if (cursor !== undefined && place?.window !== window) return fail(Errors.staleCursor)
  return histories.board({ window, version: place?.version, behindRank: place?.rank ?? 0, limit: limit + 1 }).pipe(
    Effect.mapError(() => Errors.leaderboardUnavailable),
    Effect.flatMap(({ found }) => {
      if (found !== undefined && (cursor !== undefined || Math.abs(now() - found.head.markEpochMs) <= staleAfterMs))
        return Effect.succeed(found)
      return fail(cursor === undefined ? Errors.leaderboardUnavailable : Errors.staleCursor)
    })
  )
}

export const getLeaderboard = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getLeaderboard", "/v1/leaderboard")
    .setUrlParams(Schema.Struct({
      window: Fields.optional(WindowName).annotations({ description: "UTC; `daily` when absent. Weeks begin on Monday." }),
      metric: Fields.optional(Metric).annotations({ description: "`projected_realized_pnl`, the only one there is." }),
      ...Fields.page
    }))
    .addSuccess(Leaderboard)
    .addError(Failures.native(Failures.publicRead))
    .annotate(OpenApi.Summary, "Who did best"),
  example: { target: "/v1/leaderboard?window=weekly&limit=10" },
  handler: (services) => ({ urlParams: { cursor, limit, window = "daily" } }) => {
    const most = pageLimit(limit)
    return Effect.flatMap(boardOf(services, window, cursor, most), (found) => {
      services.identity.reached?.("a leaderboard was served")
      return json(page(services, found, most))
    })
  }
})
