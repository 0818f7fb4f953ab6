/**
 * Descriptions for every member and parameter of the contract's document. A schema's own description comes first; what has none is
 * described by the tables beside this file. A test finds members that neither describes.
 */
import { compat } from "./Compat.js"
import { failing } from "./Failing.js"
import { funds } from "./Funds.js"
import { identity } from "./Identity.js"
import { markets } from "./Markets.js"
import { look, type Said } from "./Said.js"
import { trading } from "./Trading.js"

const native: ReadonlyArray<Said> = [trading, markets, identity, funds, failing]
const compatible: ReadonlyArray<Said> = [compat, failing, trading, markets, identity, funds]

/** The platform's own wording of a constraint, which the type shows already. */
export const isBoilerplate = (text: string): boolean => /^an? (?:string|number|non-negative|positive|finite|integer|array)\b/.test(text)

type Json = Readonly<Record<string, unknown>>

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** A schema's own description, or that of the component it refers to. */
const ownWords = (schema: Json, components: Json): string | undefined => {
  const { $ref: ref, description } = schema
  if (typeof description === "string" && !isBoilerplate(description)) return description
  const component = typeof ref === "string" ? components[ref.slice(ref.lastIndexOf("/") + 1)] : undefined
  // An object's own description is shown with its members.
  return isJson(component) && component["properties"] === undefined ? ownWords(component, components) : undefined
}

/** The place in the document being processed, and the tables that apply there. */
interface Place {
  readonly tables: ReadonlyArray<Said>
  readonly parents: ReadonlyArray<string>
  readonly components: Json
}

const described = (name: string, schema: Json, { components, parents, tables }: Place): Json => {
  if (ownWords(schema, components) !== undefined) return schema
  const description = look(tables, parents, name)
  return description === undefined ? schema : { ...schema, description }
}

/** A schema with every member of every object in it described. */
const withMembers = (schema: unknown, place: Place): unknown => {
  if (Array.isArray(schema)) return schema.map((each) => withMembers(each, place))
  if (!isJson(schema)) return schema
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => {
    if (key !== "properties" || !isJson(value)) return [key, key === "items" || key === "anyOf" ? withMembers(value, place) : value]
    const members = Object.entries(value).map(([name, member]) => {
      const inner = withMembers(member, { ...place, parents: [name, ...place.parents] }) as Json
      return [name, described(name, inner, place)]
    })
    return [key, Object.fromEntries(members)]
  }))
}

/** Everything below a path: its parameters, request and answers. */
const withSchemas = (value: unknown, place: Place): unknown => {
  if (Array.isArray(value)) return value.map((each) => withSchemas(each, place))
  if (!isJson(value)) return value
  if (typeof value["in"] === "string" && isJson(value["schema"])) {
    const { description, name, schema } = value
    const isSaid = typeof description === "string" && !isBoilerplate(description)
    return isSaid || ownWords(schema, place.components) !== undefined
      ? value
      : described(String(name), value, place)
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === "schema" ? withMembers(inner, place) : withSchemas(inner, place)])
  )
}

/** The tables that apply to a component, by its family. */
const tablesOf = (component: string): ReadonlyArray<Said> => /^(?:Compat|CreateOrder)/.test(component) ? compatible : native

/** The document with descriptions for every member without one. */
export const withWords = (document: Record<string, unknown>): Record<string, unknown> => {
  const { components, paths } = document as { readonly components: { readonly schemas: Json }; readonly paths: Json }
  const { schemas } = components
  const said = Object.entries(schemas).map(([name, schema]) => {
    const parents = [name.replace(/[0-9]+(?:(?:With|Of)[A-Za-z]+)?$/, "")]
    return [name, withMembers(schema, { tables: tablesOf(name), parents, components: schemas })]
  })
  const told = Object.entries(paths).map(([path, item]) => {
    const tables = path.startsWith("/v2/") ? compatible : native
    return [path, withSchemas(item, { tables, parents: [], components: schemas })]
  })
  return { ...document, paths: Object.fromEntries(told), components: { ...components, schemas: Object.fromEntries(said) } }
}
