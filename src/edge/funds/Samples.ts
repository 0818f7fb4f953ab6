/** What the examples of routes about money speak of. */
export const depositId = "dep_3w"
export const withdrawalId = "wdr_4k"
export const partyId = `treasury-of-another::1220${"5f".repeat(32)}`
