/**
 * Texts that somebody else chose, as they are printed: what is not seen, or makes others be seen otherwise, stands as JSON escapes it. A
 * terminal would obey it, and whoever reads a journal would see lines that nobody has written there.
 */

/** As `Fields.Label` knows them at the edge; a journal may have texts that are no labels. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu
/** The same, and the parser's own colours as a whole. */
// oxlint-disable-next-line no-control-regex
const unseenOrColour = /\x1b\[[\d;]*m|[\p{C}\p{Zl}\p{Zp}]/gu

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")

/** A text within a line: it ends none and begins none. */
export const inLine = (text: string): string => text.replace(unseen, escaped)

/** A whole output: its lines, columns and colours stay. JSON stays what it is, since it has such characters within its texts alone. */
export const printed = (text: string): string =>
  text.replace(unseenOrColour, (found) => found === "\n" || found === "\t" || found.endsWith("m") ? found : escaped(found))
