/** JSON text that is made by concatenation. */

/** Any text as a JSON string. */
export const quote = (text: string): string => JSON.stringify(text)
