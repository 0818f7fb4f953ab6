/**
 * The client's types of what the venue takes and gives, written out: made of the schemas that the routes are declared with, by the
 * contract's own document, so that the client's package needs nothing of the server. What is to be written out is read of the client's
 * `Contract.ts`, line by line.
 */
import * as Contract from "../../src/edge/Contract.js"
import { codes, statuses } from "../../src/edge/http/Envelopes.js"

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

const document = Contract.openApi() as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

const operationOf = (name: string): Operation => {
  const found = Object.values(document.paths).flatMap((item) => Object.values(item)).find(({ operationId }) => operationId === name)
  if (found === undefined) throw new Error(`the contract has no operation ${name}`)
  return found
}

const schemaOf = (what: string, name: string, content: Content | undefined): JsonSchema => {
  const schema = content?.content?.["application/json"]?.schema
  if (schema === undefined) throw new Error(`${name} has no ${what}`)
  return schema
}

const component = (ref: string): JsonSchema => {
  const found = document.components.schemas[ref.slice("#/components/schemas/".length)]
  if (found === undefined) throw new Error(`the contract has no ${ref}`)
  return found
}

/** What a schema says of itself, as a comment; what the library says of every schema of its kind is left out. */
const comment = ({ description }: JsonSchema, indent: string): string =>
  description === undefined || /^a (?:string|number|non-negative|positive)\b/.test(description)
    ? ""
    : `${indent}/** ${description.replaceAll("*/", "* /")} */\n`

/** A schema's type. `within` are the references that led to it: a type that holds itself could not be written out. */
const typeOf = (schema: JsonSchema, indent: string, within: ReadonlyArray<string>): string => {
  if (schema.$ref !== undefined) {
    if (/\/(?:NonNegative)?Int$/.test(schema.$ref)) return "number"
    if (within.includes(schema.$ref)) throw new Error(`${schema.$ref} holds itself`)
    return typeOf(component(schema.$ref), indent, [...within, schema.$ref])
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ")
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const either = schema.anyOf?.map((one) => typeOf(one, indent, within)).join(" | ")
  if (either !== undefined) return either
  if (schema.allOf !== undefined) return schema.allOf.map((one) => typeOf(one, indent, within)).join(" & ")
  switch (schema.type) {
    case "object":
      return objectOf(schema, indent, within)
    case "array":
      if (schema.prefixItems !== undefined) return `readonly [${schema.prefixItems.map((one) => typeOf(one, indent, within)).join(", ")}]`
      return `ReadonlyArray<${schema.items === undefined || schema.items === false ? "unknown" : typeOf(schema.items, indent, within)}>`
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

const objectOf = (schema: JsonSchema, indent: string, within: ReadonlyArray<string>): string => {
  const inner = `${indent}  `
  const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const isRequired = schema.required?.includes(name) === true
    return `${comment(member, inner)}${inner}readonly ${name}${isRequired ? "" : "?"}: ${typeOf(member, inner, within)}\n`
  })
  return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`
}

/** Every failure's envelope: one for each status, of which clients see any. */
const envelope = (): JsonSchema => {
  const whole = component("#/components/schemas/NativeError400")
  const all = statuses.flatMap((status): ReadonlyArray<string> => codes[status])
  return { ...whole, properties: { ...whole.properties, code: { type: "string", enum: all } } }
}

const answer = /^export type (\w+) = Answer<typeof (\w+)>$/
const body = /^export type (\w+) = Body<typeof (\w+)>$/
const failure = /^export type (\w+) = ReturnType<typeof nativeError>\["Type"\]$/
/** A part of another one, which stays as it is. */
const part = /^export type \w+ = \w+(?:\["\w+"\]|\[number\])+$/

const written = (line: string): string => {
  const [, answered = "", answering = ""] = answer.exec(line) ?? []
  if (answered !== "") {
    const { responses } = operationOf(answering)
    const [, success] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? []
    return `export type ${answered} = ${typeOf(schemaOf("answer", answering, success), "", [])}`
  }
  const [, sent = "", sending = ""] = body.exec(line) ?? []
  if (sent !== "") return `export type ${sent} = ${typeOf(schemaOf("body", sending, operationOf(sending).requestBody), "", [])}`
  const [, failed = ""] = failure.exec(line) ?? []
  if (failed !== "") return `export type ${failed} = ${typeOf(envelope(), "", [])}`
  if (part.test(line)) return line
  throw new Error(`the client's contract has a line that cannot be written out: ${line}`)
}

/** A contract's text with every type written out. */
export const writtenOut = (text: string): string => {
  const lines = text.split("\n").filter((line) => line.startsWith("export "))
  return `/** What the venue's routes and streams take and give, made of its own schemas. */\n\n${lines.map(written).join("\n")}\n`
}
