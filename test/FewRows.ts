/**
 * Settings of a venue's process that is given none of the test's own: tables and segments for few rows. Those of a day of orders are
 * reserved, and filled with zeros, at every start.
 */
export const fewRows = { ORDER_CAPACITY: "10000", IDEMPOTENCY_CAPACITY: "10000", SEGMENT_MIB: "2" } as const
