/** Characters of which nothing is seen: the edge refuses them in names, and the tools escape them where a journal has them. */

/**
 * Characters that are invisible or affect how others are displayed: control and formatting characters, lone surrogates, line breaks, and
 * letters and fillers of which fonts show nothing. A variation selector behind an emoji is none of them: it belongs to that.
 */
export const unseen = /[\p{C}\p{Zl}\p{Zp}\u2800]|(?!(?<=\p{Emoji})[\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/u
