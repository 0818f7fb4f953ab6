/**
 * The public proof of the venue's solvency, `GET /v1/solvency`, and an owner's proof that their balance is counted in it, `GET
 * /v1/accounts/{accountId}/solvency-proof`.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Published } from "../../funds/solvency/Solvency.js"
import { withAccount } from "../accounts/Own.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"

const told = <A, I>(schema: Schema.Schema<A, I>, description: string) => schema.annotations({ description })

/** 32 bytes. */
const Bytes32 = Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)).annotations({
  identifier: "Bytes32",
  description: "32 bytes as 64 lowercase hex characters."
})

const SequenceQuery = Schema.Struct({
  sequence: Fields.optional(Schema.String.pipe(Schema.pattern(/^(?:0|[1-9][0-9]{0,14})$/))).annotations({
    description: "The `journalSequence` of the tree that is meant: the latest, or the one before. The latest when absent."
  })
})

const Treasury = Schema.Struct({
  partyId: Fields.Text,
  ledgerOffset: Fields.Count,
  comparedAtEpochMs: told(Fields.EpochMs, "When the ledger was asked: all figures are those of that moment."),
  heldAtoms: told(Fields.Atoms, "What the treasury held on the ledger at that offset."),
  uncreditedDepositsAtoms: told(
    Fields.Atoms,
    "Of deposits that the ledger has confirmed and whose account has no room for the amount yet: held, and in no balance."
  ),
  unattributedAtoms: told(
    Fields.SignedAtoms,
    "`heldAtoms` less deposits, less `uncreditedDepositsAtoms`, plus withdrawals: what nothing in the journal accounts for. 0 where the "
      + "books agree."
  )
}).annotations({ identifier: "SolvencyTreasury" })

/** The description of the tree that both routes share. */
const root = {
  journalSequence: told(Fields.Sequence, "Where all of this holds."),
  rootHash: Bytes32,
  leafCount: told(Fields.Count, "Accounts, the insurance fund's included."),
  balancesAtoms: told(Fields.Atoms, "What the balances of all leaves come to: the sum at the top of the tree."),
  reservedAtoms: told(Fields.Atoms, "What pending withdrawals hold: owed to owners, and in no balance. It is the held sum at the top.")
}

export const PublishedSolvency = Schema.Struct({
  version: Schema.Literal("external-solvency/v2"),
  asset: Schema.Literal("USDC"),
  ...root,
  atEpochMs: told(Fields.EpochMs, "The time of that record: where nothing was recorded since, long before `comparedAtEpochMs`."),
  shortfallAtoms: told(Fields.Atoms, "What accounts lack whose equity is under nothing, and whose leaves say 0. "
    + "`balancesAtoms` less it is `collateralAtoms` plus `entryImbalanceAtoms`."),
  collateralAtoms: told(Fields.SignedAtoms, "Of all accounts, the insurance fund's included."),
  entryImbalanceAtoms: told(Fields.SignedAtoms, "Entry notionals of all shorts less those of all longs: profit that was not realised yet."),
  insuranceFundAtoms: told(Fields.SignedAtoms, "The insurance fund's equity; it is among the balances."),
  feesAtoms: told(Fields.SignedAtoms, "Fees that the venue has collected: its own."),
  fundingPoolAtoms: told(Fields.SignedAtoms, "Funding that some have paid and others have not received."),
  creditedAtoms: told(
    Fields.SignedAtoms,
    "Credited without a deposit, on a venue of development or testing: nothing on the ledger stands behind it."
  ),
  confirmedDepositsAtoms: Fields.Atoms,
  confirmedWithdrawalsAtoms: Fields.Atoms,
  treasury: told(Schema.NullOr(Treasury), "Null where the ledger could not be asked when the tree was made.")
}).annotations({
  identifier: "Solvency",
  description: "Conservation: `collateralAtoms` + `entryImbalanceAtoms` + `reservedAtoms` + `feesAtoms` + `fundingPoolAtoms` is "
    + "`creditedAtoms` + `confirmedDepositsAtoms` - `confirmedWithdrawalsAtoms`, to the atom."
})

const Beside = Schema.Struct({
  hash: Bytes32,
  sumAtoms: told(Fields.Atoms, "What the balances under it come to."),
  heldAtoms: told(Fields.Atoms, "What pending withdrawals hold of the accounts under it.")
}).annotations({ identifier: "SolvencySibling" })

const SolvencyProof = Schema.Struct({
  version: Schema.Literal("external-solvency-proof/v2"),
  accountId: Fields.Text,
  ...root,
  leafIndex: told(Fields.Count, "The leaf's place, from 0: anew for each tree."),
  balanceAtoms: told(Fields.Atoms, "The account's equity at mark, or 0 where that is less than nothing."),
  heldAtoms: told(Fields.Atoms,
    "What the account's pending withdrawals hold besides: the amounts of those that are neither paid nor back."),
  salt: told(Bytes32, "Known to nobody else: without it nobody can tell which leaf is the account's."),
  siblings: told(
    Schema.Array(Beside),
    "Beside the leaf and each node above it, from below. Where the last of a level goes up as it is there is none."
  )
}).annotations({ identifier: "SolvencyProof" })

const rootOf = ({ sequence, tree }: Published) => ({
  journalSequence: sequence,
  rootHash: hex(tree.rootHash),
  leafCount: tree.leafCount,
  balancesAtoms: String(tree.sum),
  reservedAtoms: String(tree.held)
})

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const publishedOf = (one: Published): typeof PublishedSolvency.Type => ({
  version: "external-solvency/v2",
  asset: "USDC",
  ...rootOf(one),
  atEpochMs: one.atEpochMs,
  shortfallAtoms: String(one.shortfallAtoms),
  collateralAtoms: String(one.collateralAtoms),
  entryImbalanceAtoms: String(one.entryImbalanceAtoms),
  insuranceFundAtoms: String(one.fundAtoms),
  feesAtoms: String(one.feesAtoms),
  fundingPoolAtoms: String(one.fundingPoolAtoms),
  creditedAtoms: String(one.creditedAtoms),
  confirmedDepositsAtoms: String(one.depositedAtoms),
  confirmedWithdrawalsAtoms: String(one.withdrawnAtoms),
  treasury: one.treasury === undefined ? null : {
    partyId: one.treasury.treasury,
    ledgerOffset: one.treasury.atOffset,
    comparedAtEpochMs: one.treasury.atEpochMs,
    heldAtoms: String(one.treasury.heldAtoms),
    uncreditedDepositsAtoms: String(one.treasury.uncreditedAtoms),
    unattributedAtoms: String(one.treasury.differenceAtoms)
  }
})

/** What was published at the requested sequence, or why there is nothing. */
const published = (
  { solvency }: Services,
  { sequence }: typeof SequenceQuery.Type
): Effect.Effect<Published, Errors.Failure> => {
  const one = solvency.published(sequence === undefined ? undefined : Number(sequence))
  if (one !== undefined) return Effect.succeed(one)
  return fail(sequence === undefined ? Errors.solvencyUnavailable : Errors.solvencyNotKept)
}

export const getSolvency = Route.effect({
  tag: "solvency",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getSolvency", "/v1/solvency")
    .setUrlParams(SequenceQuery)
    .addSuccess(PublishedSolvency)
    .addError(Failures.native(Failures.publicRead, 404))
    .annotate(OpenApi.Summary,
      "What the venue owes at a sequence, what its treasury holds on the ledger, and the root over what all accounts have")
    .annotate(
      OpenApi.Description,
      "A leaf's balance is the account's equity at mark, what it would have if all its positions were closed there, and 0 where that is "
        + "less than nothing. Equity, since collateral alone may be negative beside a profit that others' collateral pays: marks cancel "
        + "out over all accounts, so equities come to the collaterals and the entry-notional imbalance, whatever the marks, and a mark "
        + "that is wrong moves money between leaves and never out of the sum. Floored, since a negative leaf would hide what is owed to "
        + "others: what that adds is `shortfallAtoms`. Beside it a leaf has what pending withdrawals hold of the "
        + "account, which has left its collateral. Made when asked for and the last is a minute old: 503 `snapshot_unavailable` "
        + "until there is one, and likewise where the last is older than ten minutes, which is then found by its `sequence` only."
    ),
  example: { target: "/v1/solvency" },
  handler: (services) => ({ urlParams }) =>
    Effect.flatMap(published(services, urlParams), (one) => {
      if (one.treasury !== undefined) services.identity.reached?.("a solvency report had a treasury")
      return json(publishedOf(one))
    })
})

export const getSolvencyProof = Route.effect({
  tag: "solvency",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("getSolvencyProof", "/v1/accounts/:accountId/solvency-proof")
    .setPath(Fields.AccountPath)
    .setUrlParams(SequenceQuery)
    .addSuccess(SolvencyProof)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "What shows that the account's balance, and what its withdrawals hold, are counted under the published root")
    .annotate(
      OpenApi.Description,
      "Check it with `npm run venue -- verify-solvency`, or with `src/client/solvency`, which needs nothing else of this repository. What "
        + "is beside the account's own is told without whose it is."
    ),
  example: { target: `/v1/accounts/${Example.accountId}/solvency-proof` },
  handler: (services) => ({ path, trader, urlParams }) =>
    withAccount(services.state, trader, path.accountId, (account) =>
      Effect.flatMap(published(services, urlParams), (one) => {
        const found = one.tree.pathOf(account)
        if (found === undefined) return fail(sequenceless(urlParams) ? Errors.solvencyUnavailable : Errors.solvencyNotKept)
        return json({
          version: "external-solvency-proof/v2",
          accountId: path.accountId,
          ...rootOf(one),
          leafIndex: found.index,
          balanceAtoms: String(found.balanceAtoms),
          heldAtoms: String(found.heldAtoms),
          salt: hex(found.salt),
          siblings: found.siblings.map(({ hash, held, sum }) => ({ hash: hex(hash), sumAtoms: String(sum), heldAtoms: String(held) }))
        })
      }))
})

/** Whether the latest publication is requested: an account opened after it is in the next one. */
const sequenceless = ({ sequence }: typeof SequenceQuery.Type): boolean => sequence === undefined
