/** JSON schemas of the contract's document as a person reads them: types, members, constraints. */
import { isBoilerplate } from "../../members/Members.js"
import { Html, html, join, prose } from "./Html.js"

/** The part of JSON Schema that the document uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<string | number | boolean | null>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  /** A component, where a member describes it in words of its own. */
  readonly allOf?: readonly [JsonSchema]
  readonly items?: JsonSchema | ReadonlyArray<JsonSchema>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly description?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export type Schemas = Readonly<Record<string, JsonSchema>>

/** A schema's own description. */
export const description = (schema: JsonSchema): string | undefined =>
  schema.description === undefined || isBoilerplate(schema.description) ? undefined : schema.description

const refName = (schema: JsonSchema): string | undefined => schema.$ref?.slice("#/components/schemas/".length)

/** Whether a component has a section of its own: objects and scalars with a name of ours, but for guards, which the catalogue has. */
export const isShown = (name: string): boolean =>
  name !== "Int" && name !== "NonNegativeInt" && name !== "Guard" && !/^(?:Native|Compat)Error[0-9]+$/.test(name)

const bounds = (schema: JsonSchema): string => {
  const { exclusiveMinimum, maximum, minimum } = schema
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum}..${maximum}`
  if (minimum !== undefined) return ` >= ${minimum}`
  if (exclusiveMinimum !== undefined) return ` > ${exclusiveMinimum}`
  return maximum !== undefined ? ` <= ${maximum}` : ""
}

const lengths = (schema: JsonSchema): string => {
  const { maxLength, minLength } = schema
  if (minLength !== undefined && maxLength !== undefined) return `, ${minLength}..${maxLength} characters`
  return maxLength === undefined ? "" : `, at most ${maxLength} characters`
}

/** A schema's type in one phrase, with links to the components it names. */
export const typeOf = (schema: JsonSchema): Html => {
  const name = refName(schema)
  if (name === "Int" || name === "NonNegativeInt") return html`integer${bounds(schema)}`
  if (name === "Guard") return html`one of the <a href="/docs#guards">guards</a>`
  if (name !== undefined) return isShown(name) ? html`<a href="#type-${name}">${name}</a>` : html`${name}`
  if (schema.enum !== undefined) return join(schema.enum.map((value) => html`<code>${String(value)}</code>`), " | ")
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.anyOf !== undefined) return join(schema.anyOf.map(typeOf), " | ")
  if (schema.allOf !== undefined) return typeOf(schema.allOf[0])
  switch (schema.type) {
    case "array": {
      const { items } = schema
      if (Array.isArray(items)) return html`[${join((items as ReadonlyArray<JsonSchema>).map(typeOf), ", ")}]`
      const many = schema.maxItems === undefined ? "" : ` (${schema.minItems ?? 0}..${schema.maxItems})`
      return html`array of ${items === undefined ? "anything" : typeOf(items as JsonSchema)}${many}`
    }
    case "object":
      return html`object`
    case "string":
      return html`string${lengths(schema)}`
    case undefined:
      return bounds(schema) === "" ? html`anything` : html`number${bounds(schema)}`
    default:
      return html`${schema.type}${bounds(schema)}`
  }
}

/** The members of an object as rows; nested ones are shown by their path. */
const rows = (schema: JsonSchema, prefix: string): ReadonlyArray<Html> =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const required = schema.required?.includes(name) === true
    const said = description(member)
    const row = html`<tr><td><code>${prefix}${name}</code>${required ? undefined : html` <span class="optional">optional</span>`}</td>
<td>${typeOf(member)}</td><td>${said === undefined ? undefined : prose(said)}</td></tr>`
    const item = member.type === "array" && !Array.isArray(member.items) ? member.items as JsonSchema | undefined : undefined
    const inner = member.properties !== undefined ? member : item
    const suffix = inner === member ? "." : "[]."
    return inner?.properties === undefined ? [row] : [row, ...rows(inner, `${prefix}${name}${suffix}`)]
  })

const table = (schema: JsonSchema): Html =>
  html`<div class="scroll"><table><thead><tr><th>Member</th><th>Type</th><th></th></tr></thead>
<tbody>${rows(schema, "")}</tbody></table></div>`

/** A payload: its members where it is an object or a component, otherwise its type. */
export const payload = (schema: JsonSchema, schemas: Schemas): Html => {
  const name = refName(schema)
  const whole = name === undefined ? schema : schemas[name] ?? schema
  const said = description(whole)
  const item = whole.type === "array" && !Array.isArray(whole.items) ? whole.items as JsonSchema : undefined
  const itemName = item === undefined ? undefined : refName(item)
  const inner = whole.properties !== undefined ? whole : itemName === undefined ? item : schemas[itemName]
  return html`<p>${typeOf(schema)}${said === undefined ? undefined : html`. ${prose(said)}`}</p>
${inner?.properties === undefined ? undefined : table(inner)}`
}

/** A component's own section. */
export const component = (name: string, schema: JsonSchema): Html => {
  const said = description(schema)
  return html`<h3 id="type-${name}">${name}</h3>
${said === undefined ? undefined : html`<p>${prose(said)}</p>`}
${
    schema.properties === undefined
      ? html`<p>${typeOf(schema)}${schema.pattern === undefined ? undefined : html`, <code>${schema.pattern}</code>`}</p>`
      : table(schema)
  }`
}
