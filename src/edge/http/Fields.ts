/**
 * The fields that payloads of every family share, as schemas: units and shapes of the API's conventions.
 * Decoded and encoded forms are the same plain JSON, so a payload is its own encoding.
 */
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import { unseen } from "../../domain/Unseen.js"

/** `*Atoms` that cannot be negative: a string of digits. */
export const Atoms = Schema.String.pipe(Schema.pattern(/^(?:0|[1-9][0-9]*)$/)).annotations({ identifier: "Atoms" })
const wholeNumber = /^(?:0|-?[1-9][0-9]*)$/
/** `*Atoms` that may be negative. */
export const SignedAtoms = Schema.String.pipe(Schema.pattern(wholeNumber)).annotations({ identifier: "SignedAtoms" })
/** A decimal string in a response: optional minus, digits, a dot, digits. */
export const Decimal = Schema.String.pipe(Schema.pattern(/^-?[0-9]+\.[0-9]+$/)).annotations({ identifier: "Decimal" })
/** Plain digits, with or without decimals, and no leading zero. */
export const plainDecimal = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/
/** The longest decimal string of a request, in characters. */
export const maxDecimalLength = 40
/** A decimal string in a request: plain digits, at most 40 characters; the market's scale bounds its decimals. */
export const DecimalInput = Schema.String.pipe(
  Schema.maxLength(maxDecimalLength),
  Schema.pattern(plainDecimal)
).annotations({ identifier: "DecimalInput" })
/** Milliseconds since the Unix epoch. */
export const EpochMs = Schema.Int.pipe(Schema.nonNegative())
/** A time in a request that lies ahead: the engine says whether it does. */
export const FutureEpochMs = Schema.Int.pipe(Schema.positive())
/** A journal sequence. */
export const Sequence = Schema.Int.pipe(Schema.nonNegative())
/** A whole number of something, from 0. */
export const Count = Schema.Int.pipe(Schema.nonNegative())
/** A number of the compatibility layer that cannot be negative. */
export const Amount = Schema.Number.pipe(Schema.finite(), Schema.nonNegative())
/** A number of the compatibility layer that may be negative. */
export const Signed = Schema.Number.pipe(Schema.finite())
/** `sha256:` and 64 lowercase hex characters. */
export const Digest = Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/)).annotations({ identifier: "Digest" })
/** The longest name of something, in characters. */
export const maxNameLength = 128
/** A name of something in a request or a path: an id, a market, a symbol. */
export const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(maxNameLength)).annotations({ identifier: "Name" })
const unpaired = /\p{Cs}/u
/** Whether a text has no lone surrogates: one that has cannot be encoded, in a path or in UTF-8. */
export const isWellFormed = (text: string): boolean => !unpaired.test(text)

/** Marks that stand on nothing, or that are piled up over the lines above and below. No language needs more than four to a letter. */
const piled = /(?:^|\p{Z})\p{M}|[\p{Mn}\p{Me}]{5}/u
const longestLabel = 64
/** What somebody calls something, in a request: a few characters on one line. */
export const Label = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(longestLabel),
  Schema.filter((text) => !unseen.test(text) && !piled.test(text) && text.trim() === text, {
    jsonSchema: { minLength: 1, maxLength: longestLabel }
  })
).annotations({
  identifier: "Label",
  description:
    `1 to ${longestLabel} characters on one line (UTF-16 units, of which an emoji has two or more), all of them visible, with no space at `
    + "either end and no more than four accents to a letter."
})
/** Any text that is not empty, in a response. */
export const Text = Schema.String.pipe(Schema.minLength(1))
/** 1..64 of `[A-Za-z0-9._:-]`. */
export const ClientOrderId = Schema.String.pipe(Schema.pattern(Ids.clientOrderIdPattern)).annotations({
  identifier: "ClientOrderId"
})

export const Side = Schema.Literal(...Order.sides)
export const OrderType = Schema.Literal(...Order.types)
export const TimeInForce = Schema.Literal(...Order.timesInForce)
export const SelfTradePrevention = Schema.Literal(...Order.selfTradePreventions)
export const OrderStatus = Schema.Literal(...Order.statuses)
export const CancelReason = Schema.Literal(...Order.cancelReasons.filter((name): name is Order.CancelReasonName => name !== ""))

/** A member that may be absent, and is never null. */
export const optional = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

/** A whole number of basis points as text. */
export const Bps = Schema.String.pipe(Schema.pattern(wholeNumber)).annotations({ identifier: "Bps" })

/** A time in a query: milliseconds since the Unix epoch, inclusive. */
const SinceText = Schema.String.pipe(Schema.pattern(/^(?:0|[1-9][0-9]{0,14})$/)).annotations({
  identifier: "SinceText",
  description: "Milliseconds since the Unix epoch, inclusive."
})
/** Most entries of a page. */
export const maxPage = 100
/** Entries of a page in a query, 1..100. */
const PageText = Schema.String.pipe(Schema.pattern(/^(?:[1-9][0-9]?|100)$/)).annotations({
  identifier: "PageText",
  description: "Entries of a page, 1..100; 50 when absent."
})
/** Most entries of an answer of the compatibility layer. */
export const maxCompatEntries = 500
/** Entries of an answer in a query of the compatibility layer, 1..500. */
export const CompatLimitText = Schema.String.pipe(Schema.pattern(/^(?:[1-9][0-9]?|[1-4][0-9][0-9]|500)$/)).annotations({
  identifier: "CompatLimitText",
  description: "1..500; 100 when absent."
})
/** Entries of a native answer without pages. */
const LimitText = Schema.String.pipe(Schema.pattern(/^(?:[1-9][0-9]?|[1-4][0-9][0-9]|500)$/)).annotations({
  identifier: "LimitText",
  description: "1..500; 50 when absent."
})
/** Where a page begins: the `nextCursor` of the page before, base64url. */
const CursorText = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512)).annotations({
  identifier: "CursorText",
  description: "The `nextCursor` of the page before."
})
/** The cursor of the next page, or null at the end. */
export const NextCursor = Schema.NullOr(Text)

/** Any time from the epoch on, as far as numbers are exact. */
const anySince = /^(?:0|[1-9][0-9]{0,15})$/
/** Since when candles are wanted: any integer from 0, as the contract says, since the future has none but is no mistake. */
export const since = optional(
  Schema.String.pipe(
    Schema.filter((text) => anySince.test(text) && Number.isSafeInteger(Number(text)), { jsonSchema: { pattern: anySince.source } })
  ).annotations({ description: "Milliseconds since the Unix epoch, inclusive; at most 9007199254740991." })
)
/** How many candles, in a query. */
export const candleLimit = optional(PageText).annotations({ description: "1..100; 100 when absent." })

/** Where a page begins. */
export const cursor = { cursor: optional(CursorText) }
/** The query of a listing: where its page begins, and how long it may be. */
export const page = { limit: optional(PageText), ...cursor }

/** A time in both forms of the compatibility layer. */
export const moment = { timestamp: EpochMs, datetime: Text }

/** The query of a listing of the compatibility layer: since when, and how many entries. */
export const sinceAndLimit = { since: optional(SinceText), limit: optional(CompatLimitText) }

/** What a listing by time cannot do, for its reference. */
export const onlyByTime = (pages: string): string =>
  `Where an answer is full, the next one begins at its last entry's time. If more than 500 have one and the same millisecond, no \`since\` `
  + `reaches those behind the first 500: the pages of \`${pages}\` go through all.`

/** How many entries, in a query of a native listing without pages. */
export const limit = optional(LimitText)

/** A journal sequence in a query. */
export const SequenceText = Schema.String.pipe(Schema.pattern(/^(?:0|[1-9][0-9]{0,14})$/)).annotations({ identifier: "SequenceText" })

/** The query of a native listing without pages: since when, and how many entries. */
export const latestSince = { since: optional(SinceText), limit }

/** Paths by what they name. */
export const AccountPath = Schema.Struct({ accountId: Name })
export const AccountMarketPath = Schema.Struct({ accountId: Name, marketId: Name })
export const MarketPath = Schema.Struct({ marketId: Name })
export const OrderPath = Schema.Struct({ orderId: Name })
export const SymbolPath = Schema.Struct({ symbol: Name })

type Paired<Member extends string, A> = { readonly [M in Member]: typeof Decimal } & { readonly [M in `${Member}Atoms`]: A }

const pair = <Member extends string, A>(member: Member, atoms: A): Paired<Member, A> =>
  ({ [member]: Decimal, [`${member}Atoms`]: atoms }) as Paired<Member, A>

/** A member in both forms: the decimal string, and `*Atoms` that cannot be negative. */
export const paired = <Member extends string>(member: Member): Paired<Member, typeof Atoms> => pair(member, Atoms)
/** A member in both forms: the decimal string, and `*Atoms` that may be negative. */
export const pairedSigned = <Member extends string>(member: Member): Paired<Member, typeof SignedAtoms> => pair(member, SignedAtoms)

/** 1..255 visible ASCII characters. */
export const IdempotencyKey = Schema.String.pipe(Schema.pattern(Ids.idempotencyKeyPattern))

/** Required on every placement, cancel and operator command. */
export const IdempotencyHeaders = Schema.Struct({
  "idempotency-key": IdempotencyKey.annotations({
    description: "1..255 visible ASCII characters. "
      + "The same key with the same body gets the original response and does nothing again."
  })
})

/** Where a stream resumes after this snapshot. */
export const resync = <Stream extends string>(stream: Stream) => Schema.Struct({ stream: Schema.Literal(stream), fromSequence: Sequence })
