/**
 * What a bundle's manifest may say of the bounds under which its blocks were run. A bundle may be anybody's: values that no venue and no
 * simulation has would end the tool deep in the engine, or have it take memory without end, and a name that the engine does not know would
 * be passed over.
 */
import * as Schema from "effect/Schema"
import * as CapacityConfig from "../../CapacityConfig.js"
import type { Growth } from "../../engine/Columns.js"
import type { FundsBounds } from "../../engine/funds/Bounds.js"
import type { IdentityBounds } from "../../engine/identity/Bounds.js"
import type { Capacity, LiquidatedAtOnce, TriggeredAtOnce } from "../../engine/State.js"

/** The size of a table: at most what a venue may set; simulations run with a few rows. */
export const TableSize = Schema.Int.pipe(Schema.between(1, CapacityConfig.mostRows))

/** Far more than any venue keeps of what has a bound of its own, and far less than the memory that it would need. */
const most = 1 << 20
const Count = Schema.Int.pipe(Schema.between(1, most))
/** A number that may be 0: for nothing kept, or for no limit. */
const CountOrNone = Schema.Int.pipe(Schema.between(0, most))
/** Times, sums and lengths take no room by themselves. */
export const Whole = Schema.Int.pipe(Schema.nonNegative())

const optional = <A>(schema: Schema.Schema<A>) => Schema.optionalWith(schema, { exact: true })

const [count, countOrNone, whole] = [optional(Count), optional(CountOrNone), optional(Whole)]

/** What a bound may be, for each of them: one that is added to the engine has to be added here. */
type Each<A> = { readonly [Name in keyof Required<A>]: unknown }

const liquidatedAtOnce = {
  looks: Count,
  met: Count,
  deleveraged: Count,
  unwound: Count,
  settled: Count,
  places: count,
  ranked: count
} satisfies Each<LiquidatedAtOnce>

const triggeredAtOnce = { worked: Count, orders: Count, met: Count } satisfies Each<TriggeredAtOnce>

/** A position's list of orders is kept for an even number of them. */
const Even = Count.pipe(Schema.multipleOf(2))
const growth = { rows: Count, stepwiseFrom: Count, listedFrom: Even } satisfies Each<Growth>

const identity = {
  passkeys: count,
  sessions: count,
  keys: count,
  endedKeys: countOrNone,
  endedKeysMs: whole,
  events: count,
  frequentEvents: count,
  eventsInAll: count,
  grants: count,
  grantsOfAccount: count,
  families: count,
  familiesOfKey: count,
  familyParts: countOrNone
} satisfies Each<IdentityBounds>

const funds = {
  open: count,
  withdrawalsOfAccount: count,
  preparedLength: whole,
  endedOfAccount: count,
  endedInAll: count,
  submissions: count,
  expiredAtOnce: count,
  collateralAtoms: whole
} satisfies Each<FundsBounds>

/** The sizes of tables are settings; the key of a hash and the counting of branches decide nothing. */
type Bounds = Omit<Capacity, "orders" | "idempotencyKeys" | "hashKey" | "reached">

/** Bounds by their names in `Capacity`, and no others. */
export const Bounds = Schema.Struct({
  fills: count,
  balanceChanges: count,
  marksKept: count,
  fundingsKept: count,
  fundingPayments: count,
  rows: count,
  markets: count,
  accountParts: countOrNone,
  endedAtOnce: count,
  clearedAtOnce: count,
  metAtOnce: count,
  marketsInOne: count,
  forgottenAtOnce: count,
  liquidatedAtOnce: optional(Schema.Struct(liquidatedAtOnce)),
  settledAtOnce: count,
  mostInLine: count,
  brackets: count,
  triggeredAtOnce: optional(Schema.Struct(triggeredAtOnce)),
  countedAtOnce: count,
  examinedAtOnce: count,
  noticeMs: whole,
  finalMinutes: countOrNone,
  identity: optional(Schema.Struct(identity)),
  funds: optional(Schema.Struct(funds)),
  growth: optional(Schema.Struct(growth))
} satisfies Each<Bounds>).annotations({ parseOptions: { onExcessProperty: "error" } })
