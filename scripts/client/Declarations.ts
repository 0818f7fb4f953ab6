/**
 * Writes out the client's types of the venue's requests and answers, from the schemas that declare the routes, by way of the contract's own
 * document, so that the client's package needs no server code. The types to be written out are read from the client's `Contract.ts`, line
 * by line.
 */

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly items?: JsonSchema | false
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly description?: string
}

interface Content {
  readonly content?: { readonly "application/json"?: { readonly schema: JsonSchema } }
}

interface Operation {
  readonly operationId: string
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** The members of the contract's document that are used. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

const operationOf = ({ paths }: Document, name: string): Operation => {
  const found = Object.values(paths).flatMap((item) => Object.values(item)).find(({ operationId }) => operationId === name)
  if (found === undefined) throw new Error(`the contract has no operation ${name}`)
  return found
}

const schemaOf = (what: string, name: string, content: Content | undefined): JsonSchema => {
  const schema = content?.content?.["application/json"]?.schema
  if (schema === undefined) throw new Error(`${name} has no ${what}`)
  return schema
}

/** A schema's description as a comment, without the library's own standard descriptions. */
const comment = ({ description }: JsonSchema, indent: string): string =>
  description === undefined || /^a (?:string|number|non-negative|positive)\b/.test(description)
    ? ""
    : `${indent}/** ${description.replaceAll("*/", "* /")} */\n`

/** Generates the types of one document's schemas. */
class Types {
  constructor(private readonly schemas: Document["components"]["schemas"]) {}

  /** A schema's type. `within` are the references that led to it: a recursive type could not be written out. */
  of(schema: JsonSchema, indent = "", within: ReadonlyArray<string> = []): string {
    if (schema.$ref !== undefined) {
      if (/\/(?:NonNegative)?Int$/.test(schema.$ref)) return "number"
      if (within.includes(schema.$ref)) throw new Error(`${schema.$ref} holds itself`)
      return this.of(this.component(schema.$ref), indent, [...within, schema.$ref])
    }
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    const either = schema.anyOf?.map((one) => this.of(one, indent, within)).join(" | ")
    if (either !== undefined) return either
    if (schema.allOf !== undefined) return schema.allOf.map((one) => this.of(one, indent, within)).join(" & ")
    switch (schema.type) {
      case "object":
        return this.objectOf(schema, indent, within)
      case "array":
        if (schema.prefixItems !== undefined)
          return `readonly [${schema.prefixItems.map((one) => this.of(one, indent, within)).join(", ")}]`
        return `ReadonlyArray<${schema.items === undefined || schema.items === false ? "unknown" : this.of(schema.items, indent, within)}>`
      case "integer":
      case "number":
        return "number"
      case "string":
      case "boolean":
      case "null":
        return schema.type
      default:
        return "unknown"
    }
  }

  private objectOf(schema: JsonSchema, indent: string, within: ReadonlyArray<string>): string {
    const inner = `${indent}  `
    const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
      const isRequired = schema.required?.includes(name) === true
      return `${comment(member, inner)}${inner}readonly ${name}${isRequired ? "" : "?"}: ${this.of(member, inner, within)}\n`
    })
    return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`
  }

  /** The type of the error envelope: the document has one for each status, and clients may get any of them. */
  envelope(): string {
    const each = Object.entries(this.schemas).filter(([name]) => /^NativeError\d+/.test(name)).map(([, schema]) => schema)
    const code = { type: "string", enum: [...new Set(each.flatMap(({ properties }) => properties?.["code"]?.enum ?? []))] }
    return this.of({ ...each[0], properties: { ...each[0]?.properties, code } })
  }

  private component(ref: string): JsonSchema {
    const found = this.schemas[ref.slice("#/components/schemas/".length)]
    if (found === undefined) throw new Error(`the contract has no ${ref}`)
    return found
  }
}

const answer = /^export type (\w+) = Answer<typeof (\w+)>$/
const body = /^export type (\w+) = Body<typeof (\w+)>$/
const failure = /^export type (\w+) = ReturnType<typeof nativeError>\["Type"\]$/
/** A type that is a part of another one, which is kept as it is. */
const part = /^export type \w+ = \w+(?:\["\w+"\]|\[number\])+$/

const written = (document: Document, types: Types, line: string): string => {
  const [, answered = "", answering = ""] = answer.exec(line) ?? []
  if (answered !== "") {
    const { responses } = operationOf(document, answering)
    const [, success] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? []
    return `export type ${answered} = ${types.of(schemaOf("answer", answering, success))}`
  }
  const [, sent = "", sending = ""] = body.exec(line) ?? []
  if (sent !== "") return `export type ${sent} = ${types.of(schemaOf("body", sending, operationOf(document, sending).requestBody))}`
  const [, failed = ""] = failure.exec(line) ?? []
  if (failed !== "") return `export type ${failed} = ${types.envelope()}`
  if (part.test(line)) return line
  throw new Error(`the client's contract has a line that cannot be written out: ${line}`)
}

/** A contract's text with every type written out from the document's schemas. */
export const writtenOut = (text: string, document: Document): string => {
  const types = new Types(document.components.schemas)
  const lines = text.split("\n").filter((line) => line.startsWith("export ")).map((line) => written(document, types, line))
  return `/** What the venue's routes and streams take and give, made of its own schemas. */\n\n${lines.join("\n")}\n`
}
