/**
 * The settings that the venue and a signer of its own share. They stand apart from the venue's other settings, so that a signer does not
 * load the whole venue at every start.
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { environments } from "./domain/Environment.js"
import type { SiteSetting } from "./identity/Identity.js"
import { filled, oneOf, refuse } from "./SettingTexts.js"

/** Settings that the venue and a signer of its own share: the environment, where owners approve, and the files for TLS. */
export const siteSettings = {
  environment: oneOf("VENUE_ENVIRONMENT", ...environments).pipe(Config.withDefault("development" as const)),
  publicOrigin: Config.option(filled("PUBLIC_ORIGIN")),
  rpId: Config.option(filled("RP_ID")),
  tlsCert: Config.option(filled("TLS_CERT")),
  tlsKey: Config.option(filled("TLS_KEY"))
}

/** The certificate and key files for serving TLS. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Their values as given. */
type Given = { readonly [Name in keyof typeof siteSettings]: Config.Config.Success<(typeof siteSettings)[Name]> }

/** A host name of this machine, whose pages browsers trust without TLS. */
export const isLocal = (hostname: string): boolean => hostname === "localhost" || hostname.endsWith(".localhost")

/** Whether a host is an IP address: browsers bind passkeys only to names. */
const isAddress = (hostname: string): boolean => /^[0-9.]+$/.test(hostname) || hostname.startsWith("[")

/** The site of the owner's pages: browsers create passkeys only over TLS or on the machine itself, and bind them to the site's domain. */
export const siteOf = (
  { environment, publicOrigin, rpId, tlsCert }: Pick<Given, "environment" | "publicOrigin" | "rpId" | "tlsCert">
): Either.Either<SiteSetting, ConfigError.ConfigError> => {
  if (Option.isNone(publicOrigin)) {
    if (environment !== "development") return refuse("PUBLIC_ORIGIN", "must be set outside development: passkeys are bound to it")
    return Option.isNone(rpId) || rpId.value === "localhost"
      ? Either.right({ rpId: "localhost", ...(Option.isNone(tlsCert) ? {} : { scheme: "https" as const }) })
      : refuse("RP_ID", "must be localhost where PUBLIC_ORIGIN is not set")
  }
  const url = URL.canParse(publicOrigin.value) ? new URL(publicOrigin.value) : undefined
  if (url === undefined || url.origin !== publicOrigin.value) {
    return refuse("PUBLIC_ORIGIN", "must be scheme, host and port alone, as https://venue.example")
  }
  const { hostname, protocol } = url
  if (isAddress(hostname)) return refuse("PUBLIC_ORIGIN", "must name its host: browsers make no passkeys for an address")
  const isTrusted = protocol === "https:" || (protocol === "http:" && isLocal(hostname) && environment === "development")
  if (!isTrusted) return refuse("PUBLIC_ORIGIN", "must be https, but for localhost in development: browsers make no passkeys otherwise")
  const id = Option.getOrElse(rpId, () => hostname)
  const covers = hostname === id || (id.includes(".") && hostname.endsWith(`.${id}`))
  return covers
    ? Either.right({ publicOrigin: url.origin, rpId: id })
    : refuse("RP_ID", `must be the domain of PUBLIC_ORIGIN (${hostname}) or one that it lies in`)
}

/** The certificate and key files, which are useless without each other. */
export const tlsOf = (
  { tlsCert, tlsKey }: Pick<Given, "tlsCert" | "tlsKey">
): Either.Either<TlsFiles | undefined, ConfigError.ConfigError> => {
  if (Option.isNone(tlsCert)) return Option.isNone(tlsKey) ? Either.right(undefined) : refuse("TLS_CERT", "must be set where TLS_KEY is")
  if (Option.isNone(tlsKey)) return refuse("TLS_KEY", "must be set where TLS_CERT is")
  return Either.right({ certFile: tlsCert.value, keyFile: tlsKey.value })
}
