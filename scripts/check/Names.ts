/** What a name stands for where tokens show it: a key, or something that is bound there. */
import { closeOf, type Token } from "./Source.js"

const modifiers: ReadonlySet<string> = new Set("readonly static public private protected override accessor get set".split(" "))

/** Whether the name at `at` names a member of an object that is written there, of a class or of a type, and not a value. */
export const isKey = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const [before, after] = [tokens[at - 1]?.value, tokens[at + 1]?.value]
  return modifiers.has(before ?? "") || (after === ":" && before !== "?" && before !== "case")
    || (after === "?" && tokens[at + 2]?.value === ":")
}

/** The bracket around the token at `at`; -1 where there is none. */
export const around = (tokens: ReadonlyArray<Token>, at: number): number => {
  let open = at - 1
  while (open >= 0 && tokens[open]!.depth >= tokens[at]!.depth) open--
  return open
}

const declaring: ReadonlySet<string> = new Set(["const", "let", "var", "function", "class"])

/** Whether the name at `at` is bound there: by a declaration, as a parameter, or taken out of one. */
export const isBound = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const [before, after] = [tokens[at - 1]?.value ?? "", tokens[at + 1]?.value]
  if (declaring.has(before) || after === "=>") return true
  if (tokens[at]!.inRound && (after === "=" || isKey(tokens, at))) return true
  for (let open = around(tokens, at); open >= 0; open = around(tokens, open)) {
    const behind = tokens[closeOf(tokens, open) + 1]?.value
    if (tokens[open]!.value === "(") return behind === "=>"
    if (declaring.has(tokens[open - 1]?.value ?? "") || (tokens[open]!.inRound && behind === ":")) return true
  }
  return false
}
