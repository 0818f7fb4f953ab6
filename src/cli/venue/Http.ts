/** How tasks ask a venue over HTTP: only where nobody on the way reads along, unless that is meant, and only where they were sent. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Layer from "effect/Layer"

/** A client that follows nobody elsewhere: what another place answers is not the venue's, and no credential is meant for it. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.merge(
  FetchHttpClient.layer,
  Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })
)

/** Whether what is sent there is read by nobody on the way: over TLS, or on this machine alone. */
export const isPrivate = (url: string): boolean => {
  const { hostname, protocol } = URL.canParse(url) ? new URL(url) : { hostname: "", protocol: "" }
  return protocol === "https:" || (protocol === "http:" && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
}
