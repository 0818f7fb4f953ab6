/** Invisible characters. The edge refuses them in names, and the tools and the log escape them in texts that somebody else has sent. */

/**
 * Characters that are invisible or affect how others are displayed: control and formatting characters, lone surrogates, line breaks, and
 * letters, notes, hieroglyphs, fillers and stand-ins of which fonts show nothing. A variation selector behind an emoji is not among
 * them, since it only chooses how the emoji is drawn.
 */
export const unseen =
  /[\p{C}\p{Zl}\p{Zp}\u2800\ufffc\u{13441}\u{13442}\u{1d159}]|(?!(?<=\p{Emoji})[\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/u

const anyUnseen = new RegExp(unseen.source, "gu")

/** A character in JSON's escapes. */
export const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")

/** A text whose invisible characters are replaced by what `said` gives for each, by default its escape in JSON. */
export const withoutUnseen = (text: string, said: (character: string) => string = escaped): string => text.replace(anyUnseen, said)
