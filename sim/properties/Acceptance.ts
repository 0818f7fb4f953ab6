/**
 * A quick check whether a schema accepts a value, compiled from the schema itself: what it accepts, decoding with `onExcessProperty:
 * "error"` accepts too. A refusal means nothing: it never accepts kinds of schemas that it does not know, and Schema decides about every
 * refusal.
 *
 * Decoding keeps a path and builds a copy at every step, which most answers never need.
 */
import { Option, type Schema, SchemaAST } from "effect"

/** Whether a value, plain JSON, is certainly accepted. */
export type Accepts = (input: unknown) => boolean

const never: Accepts = () => false

/** The quick check of a schema that is its own encoding. */
export const compile = (schema: Schema.Schema.AnyNoContext): Accepts => ofAst(schema.ast)

const ofAst = (ast: SchemaAST.AST): Accepts => {
  switch (ast._tag) {
    case "Literal":
      return (input) => input === ast.literal
    case "StringKeyword":
      return (input) => typeof input === "string"
    case "NumberKeyword":
      return (input) => typeof input === "number"
    case "BooleanKeyword":
      return (input) => typeof input === "boolean"
    case "UnknownKeyword":
      return () => true
    case "Union":
      return ofUnion(ast)
    case "Refinement":
      return ofRefinement(ast)
    case "TupleType":
      return ofTuple(ast)
    case "TypeLiteral":
      return ofStruct(ast)
    default:
      return never
  }
}

const ofUnion = (union: SchemaAST.Union): Accepts => {
  const literals = new Set<unknown>(union.types.filter(SchemaAST.isLiteral).map((ast) => ast.literal))
  const others = union.types.filter((ast) => !SchemaAST.isLiteral(ast)).map(ofAst)
  if (others.length === 0) return (input) => literals.has(input)
  return (input) => literals.has(input) || others.some((accepts) => accepts(input))
}

/** The refinement's own filter, after the quick check of the refined schema. */
const ofRefinement = (refinement: SchemaAST.Refinement): Accepts => {
  const isFrom = ofAst(refinement.from)
  const options: SchemaAST.ParseOptions = {}
  return (input) => isFrom(input) && Option.isNone(refinement.filter(input, options, refinement))
}

/** An array of one kind of item, or a tuple with its own check for each item. */
const ofTuple = (tuple: SchemaAST.TupleType): Accepts => {
  const [rest, ...after] = tuple.rest
  if (rest === undefined) {
    const items = tuple.elements.map((element) => element.isOptional ? never : ofAst(element.type))
    return (input) => Array.isArray(input) && input.length === items.length && items.every((accepts, at) => accepts(input[at]))
  }
  if (tuple.elements.length > 0 || after.length > 0) return never
  const isItem = ofAst(rest.type)
  return (input) => Array.isArray(input) && input.every(isItem)
}

/** A member must be named or match an index signature; if both, it must satisfy both. */
const ofStruct = ({ indexSignatures, propertySignatures }: SchemaAST.TypeLiteral): Accepts => {
  const [index, ...more] = indexSignatures
  if (more.length > 0 || (index === undefined && propertySignatures.length === 0)) return never
  const members = new Map(propertySignatures.map(({ name, type }) => [name, ofAst(type)] as const))
  const required = propertySignatures.filter((each) => !each.isOptional).map((each) => each.name)
  const isKey = index === undefined ? never : ofAst(index.parameter)
  const isValue = index === undefined ? never : ofAst(index.type)
  return (input) => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) return false
    const json = input as { readonly [name: PropertyKey]: unknown }
    for (const key of Object.keys(json)) {
      const accepts = members.get(key)
      if (accepts !== undefined && !accepts(json[key])) return false
      if (isKey(key) ? !isValue(json[key]) : accepts === undefined) return false
    }
    return required.every((key) => Object.hasOwn(json, key))
  }
}
