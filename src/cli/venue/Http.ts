/** How tasks reach a venue over HTTP: privately unless the user permits otherwise, and without following redirects. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Layer from "effect/Layer"

/** A client that follows no redirect: another server's answer is not the venue's, and credentials are not meant for it. */
export const layer: Layer.Layer<HttpClient.HttpClient> = Layer.merge(
  FetchHttpClient.layer,
  Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })
)

/** Whether nobody on the way can read what is sent to a URL: it uses TLS, or stays on this machine. */
export const isPrivate = (url: string): boolean => {
  const { hostname, protocol } = URL.canParse(url) ? new URL(url) : { hostname: "", protocol: "" }
  return protocol === "https:" || (protocol === "http:" && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
}
