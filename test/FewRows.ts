/**
 * Settings for a venue process without settings of its own: small tables and segments. The default ones hold a day of orders, and every
 * start reserves them and fills them with zeros.
 */
export const fewRows = { ORDER_CAPACITY: "10000", IDEMPOTENCY_CAPACITY: "10000", SEGMENT_MIB: "2" } as const
