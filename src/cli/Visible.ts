/**
 * Output of texts that somebody else chose: characters that are invisible, or that change how others are displayed, are printed as JSON
 * escapes. A terminal would obey them, and a reader of a journal would see lines that nobody has written.
 */
import { escaped, unseen, withoutUnseen } from "../domain/Unseen.js"

/**
 * The characters that `Fields.Label` refuses at the edge, since a journal may contain texts that are no labels, or a whole colour code of
 * the parser.
 */
const unseenOrColour = new RegExp(`\\x1b\\[[\\d;]*m|${unseen.source}`, "gu")

/** Escapes a text within a line, so that it cannot end the line. */
export const inLine = (text: string): string => withoutUnseen(text)

/** Escapes a text of several lines that the tool itself has made, with somebody else's in them: the lines stay what they are. */
export const inLines = (text: string): string => text.split("\n").map(inLine).join("\n")

/**
 * Escapes a whole output, apart from its line breaks, tabs and colours. JSON keeps its meaning: it has such characters only within
 * strings.
 */
export const printed = (text: string): string =>
  text.replace(unseenOrColour, (found) => found === "\n" || found === "\t" || found.endsWith("m") ? found : escaped(found))
