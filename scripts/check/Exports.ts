/**
 * Exports that no other file uses: a reader would search for their users in vain. A type also counts as used where other exports of its
 * file refer to it. Where the venue's rules are, tests and the simulator are no users of what `src` does not use: what they would hold to
 * the rules is not what decides.
 */
import { basename, closeOf, type Source, type Token, type Violation, violation } from "./Source.js"

interface Exported {
  readonly name: string
  readonly line: number
  readonly isType: boolean
}

const declaring: ReadonlySet<string> = new Set(["const", "let", "function", "class", "interface", "type", "enum"])
const passedOver: ReadonlySet<string> = new Set(["abstract", "async", "declare", "*"])

/** What a file exports, by declarations and by lists. A default export is called `default`. */
const exportsOf = ({ tokens }: Source): ReadonlyArray<Exported> =>
  tokens.flatMap((token, index) => {
    if (token.value !== "export" || token.depth !== 0 || token.type !== "IdentifierName") return []
    let at = index + 1
    while (passedOver.has(tokens[at]?.value ?? "")) at++
    const first = tokens[at]!
    if (first.value === "default") return [{ name: "default", line: token.line, isType: false }]
    if (first.value === "type" && tokens[at + 1]?.value === "{") at++
    if (tokens[at]!.value === "{") return listed(tokens, at)
    if (!declaring.has(first.value)) return []
    while (declaring.has(tokens[at]!.value) || tokens[at]!.value === "*") at++
    const isType = first.value === "interface" || first.value === "type"
    return tokens[at]!.value === "{" ? listed(tokens, at) : [{ name: tokens[at]!.value, line: tokens[at]!.line, isType }]
  })

/** The names that a list in braces binds: those after `as` or `:` where there is one. */
const listed = (tokens: ReadonlyArray<Token>, open: number): ReadonlyArray<Exported> =>
  tokens.slice(open + 1, closeOf(tokens, open)).flatMap(({ line, type, value }, offset) => {
    const after = tokens[open + offset + 2]!.value
    const isLast = after === "," || after === "}"
    return type === "IdentifierName" && value !== "as" && isLast ? [{ name: value, line, isType: false }] : []
  })

/** Whether an export is mentioned again in its own file. */
const isNamedAgain = ({ tokens }: Source, { name }: Exported): boolean =>
  tokens.filter(({ type, value }) => type === "IdentifierName" && value === name).length > 1

/** Everything in a module, for imports of the whole module. */
const everything = "*"

/** The members of a namespace that a file uses; everything, where the namespace itself is passed on. */
const membersOf = (tokens: ReadonlyArray<Token>, namespace: string): ReadonlyArray<string> =>
  tokens.flatMap((token, at) => {
    const before = tokens[at - 1]?.value
    if (token.value !== namespace || token.type !== "IdentifierName" || before === "as" || before === "." || before === "?.") return []
    if (tokens[at + 1]?.value === ".") return [tokens[at + 2]!.value]
    const isKey = tokens[at + 1]?.value === ":" && (before === "{" || before === ",")
    return isKey ? [] : [everything]
  })

/** The names that a file imports, by file. */
const taken = ({ imports, tokens }: Source, note: (path: string, names: ReadonlyArray<string>) => void): void => {
  for (const { line, names, path, specifier } of imports) {
    if (path === undefined) continue
    const literal = tokens.findIndex((token) => token.line === line && token.value.slice(1, -1) === specifier)
    const namespace = tokens[literal - 2]
    const isNamespace = tokens[literal - 1]?.value === "from" && tokens[literal - 3]?.value === "as" && tokens[literal - 4]?.value === "*"
    if (isNamespace) note(path, membersOf(tokens, namespace!.value))
    else if (names.length > 0) note(path, names)
    else note(path, tokens[literal - 1]?.value === "import" ? [] : [everything])
  }
}

/** Exports of the client packages are for users. */
const isForUsers = (path: string): boolean => path.startsWith("src/client/")

/** Where the venue's rules are. */
const decides = (path: string): boolean => ["src/domain/", "src/engine/", "src/operations/"].some((folder) => path.startsWith(folder))

/** The names that files import, by the file from which they do. */
const usedBy = (sources: ReadonlyArray<Source>): ReadonlyMap<string, ReadonlySet<string>> => {
  const used = new Map<string, Set<string>>()
  for (const source of sources) {
    taken(source, (path, names) => {
      const known = used.get(path) ?? new Set()
      for (const name of names) known.add(name)
      used.set(path, known)
    })
  }
  return used
}

/** Every export that no other file uses; the subject is `File.name`. */
export const unused = (sources: ReadonlyArray<Source>): ReadonlyArray<Violation> => {
  const used = usedBy(sources)
  const usedInSrc = usedBy(sources.filter(({ path }) => path.startsWith("src/")))
  const isUsed = (by: typeof used, { path }: Source, { name }: Exported): boolean =>
    by.get(path)?.has(everything) === true || by.get(path)?.has(name) === true
  const faultOf = (source: Source, exported: Exported): string | undefined => {
    const isAgain = isNamedAgain(source, exported)
    if (!isUsed(used, source, exported) && !(isAgain && exported.isType)) return `nothing imports ${exported.name}`
    if (!decides(source.path) || isAgain || isUsed(usedInSrc, source, exported)) return undefined
    return `nothing in src uses ${exported.name}: what tests hold to a rule is what runs`
  }
  return sources.filter(({ path }) => !isForUsers(path)).flatMap((source) =>
    exportsOf(source).flatMap((exported) => {
      const fault = faultOf(source, exported)
      return fault === undefined
        ? []
        : [violation(source, exported.line, "unused-export", fault, `${basename(source.path)}.${exported.name}`)]
    })
  )
}
