/**
 * The small mistakes made on purpose: the changes that each operator makes in a compiled module, found in its syntax tree.
 *
 * Assertions are left alone: they only detect bugs, and a correct venue is the same without them. So are the arguments of a `throw`, which
 * are messages, and strings: a different tag only makes a comparison come out differently. A `break`, `continue` or `return` is not dropped
 * by itself, since the branch that leads to it is.
 */
import * as acorn from "acorn"
import * as walk from "acorn-walk"

/**
 * - `boundary`: a comparison includes its limit, or excludes it; a limit from the other side (`Math.min`, `Math.max`).
 * - `comparison`: a comparison is inverted.
 * - `arithmetic`: another operation on numbers or bits.
 * - `rounding`: the other direction.
 * - `constant`: a number is one larger (0 for 1), or the other truth value.
 * - `condition`: a condition is negated, or loses its negation.
 * - `logic`: only one of two conditions, or of a value and its default.
 * - `branch`: a branch is always or never taken, a loop's body never runs.
 * - `statement`: a statement is dropped.
 * - `argument`: two adjacent arguments change places.
 */
export type Operator =
  | "boundary"
  | "comparison"
  | "arithmetic"
  | "rounding"
  | "constant"
  | "condition"
  | "logic"
  | "branch"
  | "statement"
  | "argument"

/** A text that replaces a whole expression, or a statement (with an empty one). */
export interface Edit {
  readonly kind: "expression" | "statement"
  /** Offsets in the module's text: the first character, and the one after the last. */
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface Mutant {
  readonly operator: Operator
  /** The position of the mistake: the offset of its first character. */
  readonly start: number
  /** The original text and its replacement, each in one line. */
  readonly was: string
  readonly becomes: string
  /** Together they make up the mutant; there are several where things change places. */
  readonly edits: ReadonlyArray<Edit>
}

/** A module being searched for mutants. */
interface Module {
  readonly text: string
  readonly tokens: ReadonlyArray<acorn.Token>
  /** Names that imports bind. */
  readonly imported: ReadonlySet<string>
}

/** The mutants of one node; `parents` are those around it, outermost first. */
type Rule = (node: acorn.AnyNode, module: Module, parents: ReadonlyArray<acorn.AnyNode>) => ReadonlyArray<Mutant>

/** Longer texts are truncated for display. */
const shownCharacters = 100

const inOneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length <= shownCharacters ? line : `${line.slice(0, shownCharacters)}...`
}

const textOf = ({ text }: Module, { end, start }: acorn.Node): string => text.slice(start, end)

/** The mutant with `becomes` in place of `node`. */
const instead = (module: Module, operator: Operator, node: acorn.Node, becomes: string): Mutant => ({
  operator,
  start: node.start,
  was: inOneLine(textOf(module, node)),
  becomes: inOneLine(becomes),
  edits: [{ kind: "expression", start: node.start, end: node.end, text: becomes }]
})

/** The text of `node` with another operator between its two operands. */
const reoperated = (
  module: Module,
  node: { readonly start: number; readonly end: number; readonly operator: string },
  [left, right]: readonly [acorn.Node, acorn.Node],
  operator: string
): string => {
  const token = module.tokens.find(({ end, start }) =>
    start >= left.end && end <= right.start && module.text.slice(start, end) === node.operator
  )
  if (token === undefined) throw new Error(`no operator ${node.operator} in ${textOf(module, left)} ... ${textOf(module, right)}`)
  return module.text.slice(node.start, token.start) + operator + module.text.slice(token.end, node.end)
}

const binaries: Readonly<Record<string, ReadonlyArray<readonly [Operator, string]>>> = {
  "<": [["boundary", "<="], ["comparison", ">="]],
  "<=": [["boundary", "<"], ["comparison", ">"]],
  ">": [["boundary", ">="], ["comparison", "<="]],
  ">=": [["boundary", ">"], ["comparison", "<"]],
  "===": [["comparison", "!=="]],
  "!==": [["comparison", "==="]],
  "==": [["comparison", "!="]],
  "!=": [["comparison", "=="]],
  "+": [["arithmetic", "-"]],
  "-": [["arithmetic", "+"]],
  "*": [["arithmetic", "/"]],
  "/": [["arithmetic", "*"]],
  "%": [["arithmetic", "*"]],
  "<<": [["arithmetic", ">>"]],
  ">>": [["arithmetic", "<<"]],
  ">>>": [["arithmetic", "<<"]],
  "&": [["arithmetic", "|"]],
  "|": [["arithmetic", "&"]],
  "^": [["arithmetic", "&"]]
}

const assignments: Readonly<Record<string, string>> = {
  "+=": "-=",
  "-=": "+=",
  "*=": "/=",
  "/=": "*=",
  "%=": "*=",
  "<<=": ">>=",
  ">>=": "<<=",
  ">>>=": "<<=",
  "&=": "|=",
  "|=": "&=",
  "^=": "&="
}

/** Functions that are easily confused with each other. */
const confused: Readonly<Record<string, readonly [Operator, string]>> = {
  min: ["boundary", "max"],
  max: ["boundary", "min"],
  floor: ["rounding", "ceil"],
  ceil: ["rounding", "floor"],
  round: ["rounding", "floor"],
  trunc: ["rounding", "ceil"],
  mulDivFloor: ["rounding", "mulDivCeil"],
  mulDivCeil: ["rounding", "mulDivFloor"],
  mulDivHalfUp: ["rounding", "mulDivFloor"]
}

/** Whether the expression appears to be text, so that `+` is not arithmetic. */
const isText = (node: acorn.AnyNode): boolean =>
  node.type === "TemplateLiteral"
  || (node.type === "Literal" && typeof node.value === "string")
  || (node.type === "BinaryExpression" && node.operator === "+" && (isText(node.left) || isText(node.right)))

const binary: Rule = (node, module) => {
  if (node.type !== "BinaryExpression") return []
  if (node.operator === "+" && isText(node)) return []
  return (binaries[node.operator] ?? []).map(([operator, other]) =>
    instead(module, operator, node, reoperated(module, node, [node.left, node.right], other))
  )
}

const assignment: Rule = (node, module) => {
  if (node.type !== "AssignmentExpression") return []
  const other = assignments[node.operator]
  if (other === undefined || isText(node.right)) return []
  return [instead(module, "arithmetic", node, reoperated(module, node, [node.left, node.right], other))]
}

/** Increments and decrements. The step of a `for` is left alone: in the other direction it would only run for ever. */
const step: Rule = (node, module, parents) => {
  if (node.type !== "UpdateExpression") return []
  const parent = parents.at(-1)
  if (parent?.type === "ForStatement" && parent.update === node) return []
  const other = node.operator === "++" ? "--" : "++"
  const argument = textOf(module, node.argument)
  return [instead(module, "arithmetic", node, node.prefix ? other + argument : argument + other)]
}

const unary: Rule = (node, module) => {
  if (node.type !== "UnaryExpression") return []
  if (node.operator === "!") return [instead(module, "condition", node, textOf(module, node.argument))]
  // The sign of a literal number is part of the constant.
  if (node.operator === "-" && node.argument.type !== "Literal") return [instead(module, "arithmetic", node, textOf(module, node.argument))]
  return []
}

const logic: Rule = (node, module) =>
  node.type === "LogicalExpression"
    ? [instead(module, "logic", node, textOf(module, node.left)), instead(module, "logic", node, textOf(module, node.right))]
    : []

const constant: Rule = (node, module) => {
  if (node.type !== "Literal") return []
  if (typeof node.value === "boolean") return [instead(module, "constant", node, String(!node.value))]
  if (typeof node.value === "number") return [instead(module, "constant", node, node.value === 1 ? "0" : String(node.value + 1))]
  if (typeof node.value === "bigint") return [instead(module, "constant", node, node.value === 1n ? "0n" : `${node.value + 1n}n`)]
  return []
}

/** Negations of conditions that no other operator inverts. */
const negated = (module: Module, test: acorn.Expression): ReadonlyArray<Mutant> => {
  if (test.type === "BinaryExpression" && test.operator in binaries) return []
  if (test.type === "UnaryExpression" && test.operator === "!") return []
  return [instead(module, "condition", test, `!(${textOf(module, test)})`)]
}

const branch: Rule = (node, module) => {
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
      return [
        instead(module, "branch", node.test, "true"),
        instead(module, "branch", node.test, "false"),
        ...negated(module, node.test)
      ]
    case "WhileStatement":
    case "DoWhileStatement":
    case "ForStatement":
      // A loop written without an end has no condition to change.
      return node.test === null || node.test === undefined || node.test.type === "Literal"
        ? []
        : [instead(module, "branch", node.test, "false")]
    default:
      return []
  }
}

const statement: Rule = (node, module) => {
  if (node.type !== "ExpressionStatement" || typeof node.directive === "string") return []
  const { expression } = node
  if (expression.type === "CallExpression" && expression.callee.type === "Super") return []
  return [{
    operator: "statement",
    start: node.start,
    was: inOneLine(textOf(module, node)),
    becomes: "",
    edits: [{ kind: "statement", start: node.start, end: node.end, text: ";" }]
  }]
}

/** Values that could be mistaken for another: names, members, numbers, and calls of these. */
const isPlain = (node: acorn.AnyNode): boolean => {
  switch (node.type) {
    case "Identifier":
    case "ThisExpression":
      return true
    case "Literal":
      return typeof node.value !== "string"
    case "MemberExpression":
      return !node.computed || isPlain(node.property)
    case "CallExpression":
      return node.arguments.every(isPlain)
    case "BinaryExpression":
      return isPlain(node.left) && isPlain(node.right)
    default:
      return false
  }
}

/** Functions of `Math` for which the order of arguments does not matter. */
const commutative: ReadonlySet<string> = new Set(["min", "max", "imul", "hypot"])

const isCommutative = ({ callee }: acorn.CallExpression | acorn.NewExpression): boolean =>
  callee.type === "MemberExpression" && callee.object.type === "Identifier" && callee.object.name === "Math"
  && callee.property.type === "Identifier" && commutative.has(callee.property.name)

const argument: Rule = (node, module) => {
  if ((node.type !== "CallExpression" && node.type !== "NewExpression") || isCommutative(node)) return []
  return node.arguments.slice(1).flatMap((second, index) => {
    const first = node.arguments[index]!
    if (!isPlain(first) || !isPlain(second) || textOf(module, first) === textOf(module, second)) return []
    const [a, b] = [textOf(module, first), textOf(module, second)]
    return [{
      operator: "argument" as const,
      start: first.start,
      was: inOneLine(`${a}, ${b}`),
      becomes: inOneLine(`${b}, ${a}`),
      edits: [
        { kind: "expression" as const, start: first.start, end: first.end, text: b },
        { kind: "expression" as const, start: second.start, end: second.end, text: a }
      ]
    }]
  })
}

const confusion: Rule = (node, module) => {
  if (node.type !== "CallExpression") return []
  const { callee } = node
  if (callee.type === "Identifier") {
    const other = confused[callee.name]
    return other !== undefined && module.imported.has(callee.name) && module.imported.has(other[1])
      ? [instead(module, other[0], callee, other[1])]
      : []
  }
  // Members of a namespace, whose name is capitalized: other members need the object on which they are called.
  if (callee.type !== "MemberExpression" || callee.computed) return []
  const { object, property } = callee
  if (object.type !== "Identifier" || !/^[A-Z]/.test(object.name) || property.type !== "Identifier") return []
  const other = confused[property.name]
  return other === undefined ? [] : [instead(module, other[0], callee, `${object.name}.${other[1]}`)]
}

const rules: ReadonlyArray<Rule> = [binary, assignment, step, unary, logic, constant, branch, statement, argument, confusion]

const isAssertion = (node: acorn.AnyNode): boolean =>
  node.type === "CallExpression" && node.callee.type === "Identifier" && node.callee.name === "assert"

/** Whether nothing at `node` is changed: assertions, and what is thrown. */
const isLeftAlone = (node: acorn.AnyNode): boolean =>
  isAssertion(node)
  || node.type === "ThrowStatement"
  || node.type === "ImportDeclaration"
  || node.type === "ExportAllDeclaration"
  || (node.type === "ExpressionStatement" && isAssertion(node.expression))

/** Every mutant of a module's text, in the order of their places. Throws where the text is no module. */
export const mutantsOf = (text: string): ReadonlyArray<Mutant> => {
  const tokens: Array<acorn.Token> = []
  const tree = acorn.parse(text, { ecmaVersion: "latest", sourceType: "module", onToken: tokens })
  const imported = new Set(
    tree.body.flatMap((node) => node.type === "ImportDeclaration" ? node.specifiers.map(({ local }) => local.name) : [])
  )
  const module: Module = { text, tokens, imported }
  const found: Array<Mutant> = []
  walk.fullAncestor(tree, (node, _state, ancestors) => {
    if (ancestors.some(isLeftAlone)) return
    // The last of the ancestors is the node itself.
    for (const rule of rules) found.push(...rule(node, module, ancestors.slice(0, -1)))
  })
  return found.filter(({ becomes, was }) => was !== becomes).sort((a, b) => a.start - b.start)
}
