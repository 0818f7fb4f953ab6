/** How tasks reach a venue over HTTP: privately unless the user permits otherwise, and without following redirects. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { codesOf, ofCertificates } from "../../domain/TransportCodes.js"
import { type Ended, usage } from "../Exit.js"
import { inLine, inLines } from "../Visible.js"

/** A client that follows no redirect: another server's answer is not the venue's, and credentials are not meant for it. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.merge(
  FetchHttpClient.layer,
  Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })
)

/** Whether nobody on the way can read what is sent to a URL: it uses TLS, or stays on this machine. */
const isPrivate = (url: string): boolean => {
  const { hostname, protocol } = URL.canParse(url) ? new URL(url) : { hostname: "", protocol: "" }
  return protocol === "https:" || (protocol === "http:" && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
}

/** Refuses to send a secret where somebody on the way could read it, unless that is meant. `secret`: the secret, in words. */
export const keepSecret = (url: string, isMeant: boolean, secret: string): Effect.Effect<void, Ended> =>
  isMeant || isPrivate(url)
    ? Effect.void
    : usage(`${url} is beyond this machine and without TLS: whoever is on the way would read ${secret}. Use https, or --over-http`)

/** Whether the venue's certificate is not trusted here. Then nothing was sent, and a repetition would send nothing either. */
export const isUntrusted = (error: HttpClientError.HttpClientError): boolean => codesOf(error).some((code) => ofCertificates.has(code))

/** Why there is no answer, by the system's own codes where it has any. */
export const textOf = (url: string, error: HttpClientError.HttpClientError): string => {
  const codes = codesOf(error)
  const why = codes.length === 0 ? error.message : codes.join(", ")
  if (!isUntrusted(error)) return `${url} ${error._tag === "RequestError" ? "cannot be reached" : "broke off"}: ${why}`
  return `the certificate at ${url} is not trusted: ${why}. --url has to have a name that is in the certificate, and `
    + "the certificate of an authority of your own has to be in the file that NODE_EXTRA_CA_CERTS names"
}

/** A text of an answer with nothing in it that a terminal would obey, nor an end of a line. */
const visibly = (_: string, value: unknown): unknown => typeof value === "string" ? inLine(value) : value

/**
 * Decodes an answer in JSON. Whoever answers is not trusted with the terminal: a colour could hide what is printed behind it, and a line
 * break forge a line of the tool.
 */
export const decoded = <A, I>(url: string, schema: Schema.Schema<A, I>, text: string): Effect.Effect<A, string> =>
  Schema.decode(Schema.parseJson(schema, { reviver: visibly }))(text).pipe(
    Effect.mapError((error) => `${url} does not speak this contract: ${inLines(error.message)}`)
  )
