/**
 * Names of rarely taken branches of the program. A test harness, above all the simulator, counts how often each was reached, and so sees
 * what no run covers. Where nobody counts them, as in a venue that serves, they cost nothing. The simulator calls them its marks
 * (`--marks`), which have nothing to do with the mark prices of markets.
 */
import * as Context from "effect/Context"

/** All branches that have a name. */
export const names = [
  // Matching and the checks of an order.
  "a maker was cancelled for margin",
  "a maker was cancelled as its market is reduce-only",
  "a taker stopped for margin",
  "a reduce-only order was trimmed away",
  "a reduce-only order was trimmed in part",
  "an account had as many open orders as it may",
  "an order was beyond the position limit",
  "a taker met as many orders as it may",
  // The index and funding.
  "a step of an index was held back",
  "a step of an index was agreed with",
  "funding was paid",
  "an interval ended without a payment",
  "funding was left to be settled with the next record",
  "an interval was not paid as too many were in line",
  "an interval was cut off by another length",
  // Liquidation.
  "an account fell under its maintenance margin",
  "announced parameters took effect",
  "announced parameters were withdrawn",
  "accounts were left to be looked at with the next record",
  "a part of a position was liquidated",
  "a liquidation found no taker",
  "a part of a liquidation was left to the next record",
  "a liquidation waited for a stale market",
  "the insurance fund took a position over",
  "the insurance fund took a part of a position over",
  "the insurance fund took over beyond a market's prices",
  "a position was deleveraged",
  "a ranking went on in the next record",
  "an account of many markets counted for several",
  "a deleveraging went on in the next record",
  "a deleveraging found nobody",
  "the insurance fund unwound",
  "the insurance fund was deleveraged",
  "a liquidation ended",
  // Delisting.
  "a market was delisted",
  "an announced delisting was withdrawn",
  "a delisting was missed and announced anew",
  "a delisted market was settled",
  "orders of a delisted market were left to the next record",
  "a settlement went on in the next record",
  "a deficit was covered in a settlement",
  "a settlement waited for somebody to close against",
  // Take-profit and stop-loss.
  "a trigger sent its order",
  "a trigger found nothing within its limit",
  "a trigger left a rest that is armed again",
  "triggers were left to be worked off with the next record",
  "a bracket was done",
  "a bracket was trimmed",
  // Timers and expiries.
  "a dead-man switch fired",
  "an order expired",
  "something fell due under a halt",
  "orders were left to leave with the next record",
  // Room in the tables.
  "the reserve of keys was needed",
  "a key found room where one is forgotten",
  "the table of keys was full",
  "an order found room where one is forgotten",
  "the table of orders was full",
  "a day-old order was forgotten",
  "an ended order was held for longer than others",
  // Money on the ledger.
  "a resubmission was refused as the first had won",
  "a preparation became void",
  "withdrawals were stopped",
  "an offer was withdrawn",
  "a deposit was done after its end",
  "a completion was told again",
  "an execution was a duplicate of another",
  "every submission of a step was refused",
  "what was prepared was rejected",
  "nobody approved a step in time",
  "an offer was taken after its deposit's end",
  "a withdrawal was done after its end",
  "an amount found no room",
  "a ledger party was changed",
  // Reads that a venue may answer with nothing, for a while or for ever.
  "a leaderboard was served",
  "a solvency report had a treasury",
  // Sessions.
  "a market opened its session",
  "a session reached its cutoff by itself",
  "a session closed by itself",
  // Credentials and sign-in.
  "a challenge was answered too late",
  "a challenge made room for another one of its address",
  "an agent made room for another one of its address",
  "a passkey's counter went back",
  "a session ended for room",
  "authority ended before a command's turn",
  "a ticket ended before the turn of what came by it",
  "a grant outlived its process",
  "an ended key was forgotten",
  "wrong user codes locked an account",
  // The writer's inbox.
  "the inbox wrapped",
  "the inbox was full",
  "a placement found the inbox kept for others",
  "a revocation went ahead of what its account had asked for",
  "a block was full by its records",
  "a block was full by its size",
  "a turn waited for blocks in flight",
  "a market that was back was marked before the next command",
  "a reader waited for a block in flight",
  "a command waited for the block that is being built",
  // Starting up.
  "a snapshot was not vouched for",
  "a snapshot was begun with",
  "another version's state was taken over",
  "another version's records were undecided",
  "the journal was behind its snapshot",
  "a replay diverged",
  // The disk.
  "a write was torn",
  "torn, then corrupt",
  "an unfinished block before a later segment",
  "a block that may not be durable was written again",
  "an unfinished segment was left behind",
  "an unfinished segment was larger than segments are now",
  "a segment was opened",
  "a segment was opened behind one of another size",
  "a block waited for its segment",
  "the lock was taken away",
  "a damaged snapshot was passed over"
] as const

export type Branch = (typeof names)[number]

/** Called with the name of a branch each time that one is reached. */
export type Reached = (branch: Branch) => void

/** The callback for branches that are reached: undefined, unless a test harness provides one. */
export class Branches extends Context.Reference<Branches>()("venue/domain/Branches", {
  defaultValue: (): Reached | undefined => undefined
}) {}
