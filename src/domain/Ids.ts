/**
 * Identifiers as clients see them. Those that the engine creates are an ordinal (journal sequence and index within the record) in base 36,
 * so that replay creates the same ones. Opaque to clients.
 */

/** Most ids of one kind that a single record may create. */
export const idsPerRecord = 64

/** The ordinal of the `index`th thing created by the record `sequence`. */
export const ordinal = (sequence: number, index: number): number => sequence * idsPerRecord + index

/** The sequence of the record that created the thing with this ordinal. */
export const sequenceOf = (ordinal: number): number => Math.floor(ordinal / idsPerRecord)

const text = (prefix: string, value: number): string => prefix + value.toString(36)

const parse = (prefix: string, id: string): number | undefined => {
  if (!id.startsWith(prefix) || id.length > prefix.length + 11) return undefined
  const value = Number.parseInt(id.slice(prefix.length), 36)
  return Number.isSafeInteger(value) && value >= 0 && text(prefix, value) === id ? value : undefined
}

/** `ord_...` of an order number. */
export const orderId = (orderNumber: number): string => text("ord_", orderNumber)
/** The order number of an `ord_...`, or undefined where the text cannot be an order id. */
export const parseOrderId = (id: string): number | undefined => parse("ord_", id)
/** `acc_...` of an account's ordinal. */
export const accountId = (born: number): string => text("acc_", born)
/** The ordinal of an `acc_...`, or undefined where the text cannot be an account id. */
export const parseAccountId = (id: string): number | undefined => parse("acc_", id)

/** The insurance fund's account: its ordinal is the word itself read in base 36, too large for any record to create. */
export const insuranceFundId = "acc_insurance"
export const insuranceFundBorn = Number.parseInt("insurance", 36)

/** `trg_...` of a bracket's number. */
export const triggerId = (bracketNumber: number): string => text("trg_", bracketNumber)

/** `pos_...` of the ordinal of a position's episode. */
export const positionId = (born: number): string => text("pos_", born)
/** The episode of a position id; undefined for any other text. */
export const parsePositionId = (id: string): number | undefined => parse("pos_", id)

/** `trd_...` of a fill's ordinal. */
export const tradeId = (ordinal: number): string => text("trd_", ordinal)

/** `dep_...` of a deposit's number, `wdr_...` of a withdrawal's, `pch_...` of a ledger party change's. */
export const depositId = (number: number): string => text("dep_", number)
export const withdrawalId = (number: number): string => text("wdr_", number)
export const partyChangeId = (number: number): string => text("pch_", number)
/** The number of a `dep_...`, `wdr_...` or `pch_...`, or undefined where the text cannot be such an id. */
export const parseDepositId = (id: string): number | undefined => parse("dep_", id)
export const parseWithdrawalId = (id: string): number | undefined => parse("wdr_", id)
export const parsePartyChangeId = (id: string): number | undefined => parse("pch_", id)

/** The id of one part of a deposit: `fin_...` for the owner's request, `adm_...` for the treasury's step, `eng_...` for the credit. */
export const partOfDeposit = (prefix: "fin_" | "adm_" | "eng_", number: number): string => text(prefix, number)

/** The `req_...` of an answer that a record decided: the random id of the request, and the record's sequence. */
export const requestId = (drawn: string, sequence: number): string => `${drawn}_${sequence.toString(36)}`
/** The sequence in a request's id, undefined where no record decided the answer; undefined altogether for a text that is no such id. */
export const parseRequestId = (id: string): { readonly sequence: number | undefined } | undefined => {
  const [, drawn, suffix] = /^(req_[0-9a-f]{24})(?:_([0-9a-z]{1,11}))?$/.exec(id) ?? []
  if (drawn === undefined) return undefined
  if (suffix === undefined) return { sequence: undefined }
  const sequence = Number.parseInt(suffix, 36)
  return sequence >= 1 && Number.isSafeInteger(sequence) && requestId(drawn, sequence) === id ? { sequence } : undefined
}

/** A SHA-256 in lowercase hex: of a secret, of a state. */
export const sha256Pattern = /^[0-9a-f]{64}$/

/** The pattern of a marketId, `BASE-QUOTE-PERP`, with both assets as its groups. */
export const marketIdPattern = /^([A-Z0-9]{1,12})-([A-Z0-9]{1,12})-PERP$/

/** The pattern of a clientOrderId, as contracts publish it. */
export const clientOrderIdPattern = /^[A-Za-z0-9._:-]{1,64}$/
/** The longest such id, in characters. */
export const maxClientOrderIdLength = 64
/** Whether a text may be a clientOrderId: 1..64 of `[A-Za-z0-9._:-]`. */
export const isClientOrderId = (value: string): boolean => clientOrderIdPattern.test(value)

/** The pattern of an Idempotency-Key, as contracts publish it. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/
/** The longest such key, in characters. */
export const maxIdempotencyKeyLength = 255
/** Whether a text may be an Idempotency-Key: 1..255 visible ASCII characters. */
export const isIdempotencyKey = (value: string): boolean => idempotencyKeyPattern.test(value)
