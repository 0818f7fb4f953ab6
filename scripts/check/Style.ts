/** The house style, as far as single lines show it. */
import { type Source, type Token, type Violation, violation } from "./Source.js"

/** The longest line, in columns: in the simulator and tests a message may describe a failure in full. */
const maxColumns = (path: string): number => path.startsWith("sim/") || path.startsWith("test/") ? 180 : 140

/** Whether the semicolon at `at` is the whole body of a loop, which cannot be written otherwise. */
const isEmptyBody = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const end = tokens[at - 1]
  if (end?.value !== ")") return false
  const start = tokens.findLastIndex((token, index) => index < at && token.value === "(" && token.depth === end.depth)
  return tokens[start - 1]?.value === "while" || tokens[start - 1]?.value === "for"
}

const semicolons = (source: Source): ReadonlyArray<Violation> =>
  source.tokens
    .filter((token, at) => token.value === ";" && token.endsLine && !token.inRound && !isEmptyBody(source.tokens, at))
    .map((token) => violation(source, token.line, "semicolon", "lines do not end in semicolons"))

const longLines = (source: Source): ReadonlyArray<Violation> =>
  source.lines.flatMap((text, index) => {
    const columns = [...text].length
    const most = maxColumns(source.path)
    return columns > most
      ? [violation(source, index + 1, "line-length", `${columns} columns of at most ${most}`)]
      : []
  })

const header = (source: Source): ReadonlyArray<Violation> =>
  source.path.startsWith("src/") && !source.text.startsWith("/**")
    ? [violation(source, 1, "header", "a file starts with a comment on what it owns")]
    : []

/** Every breach of style in a source. */
export const check = (source: Source): ReadonlyArray<Violation> => [
  ...semicolons(source),
  ...longLines(source),
  ...header(source)
]
