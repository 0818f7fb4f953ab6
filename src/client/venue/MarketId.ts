/** The pattern of a marketId, `BASE-QUOTE-PERP`, with both assets as its groups. */
export const marketIdPattern = /^([A-Z0-9]{1,12})-([A-Z0-9]{1,12})-PERP$/
