/** ISO 8601 of milliseconds since the Unix epoch. */
export const isoTime = (epochMs: number): string => new Date(epochMs).toISOString()
