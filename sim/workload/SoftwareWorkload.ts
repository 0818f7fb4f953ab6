/**
 * Workloads of a simulated platform, and the tokens that it issues to them: signed by fixed keys, so that a token in a script is accepted
 * as it was in the run. A token's fault is drawn by the client that presents it.
 */
import { createHmac, createPrivateKey, type KeyObject, sign } from "node:crypto"
import * as Tokens from "../reading/Tokens.js"

/** Faults of a token, each of which has to be refused. */
export const faults = [
  "another issuer",
  "another audience",
  "another subject",
  "an account that never was",
  "no algorithm",
  "a shared secret",
  "another key",
  "a key that nobody published",
  "another signature",
  "expired",
  "not valid yet",
  "without an end",
  "no token",
  "keys out of reach"
] as const
export type Fault = (typeof faults)[number]

/** Private halves of the platform's keys, and of one that it has not published. They are trusted only in simulations. */
const secrets = {
  one: "TZLhzHPTcOapdViQlTNF47KpWRzlngoJODmiZKUTibU",
  two: "6n7MlkSVubB38LOi0unRg4HkF1tDnVwlxB1fGlJyc-4",
  other: "6IeBoo4OxiNVEVeAITrKrYfiMPCCDSxUk8ZYGD7zo1k"
} as const
type Name = keyof typeof secrets

/** The prefix of such a key's secret in its DER container. */
const container = Buffer.from("302e020100300506032b657004220420", "hex")
const keyOf = (secret: string): KeyObject =>
  createPrivateKey({ key: Buffer.concat([container, Buffer.from(secret, "base64url")]), format: "der", type: "pkcs8" })
const keys: Readonly<Record<Name, KeyObject>> = { one: keyOf(secrets.one), two: keyOf(secrets.two), other: keyOf(secrets.other) }

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A workload that presents a token. */
export interface Showing {
  /** The index of its account. */
  readonly account: number
  /** The platform's key that signs. */
  readonly key: "one" | "two"
  /** Distinguishes its tokens. */
  readonly number: number
  /** The period of validity, epoch seconds. */
  readonly from: number
  readonly until: number
  readonly fault?: Fault | undefined
}

const headerOf = ({ fault, key }: Showing): object => {
  switch (fault) {
    case "no algorithm":
      return { alg: "none", kid: key }
    case "a shared secret":
      return { alg: "HS256", kid: key }
    case "a key that nobody published":
      return { alg: "EdDSA", kid: "other" }
    case "keys out of reach":
      return { alg: "EdDSA", kid: Tokens.unreachable }
    default:
      return { alg: "EdDSA", kid: key, typ: "JWT" }
  }
}

const subjectOf = ({ account, fault }: Showing): string => {
  if (fault === "another subject") return `taker-${account}`
  return fault === "an account that never was" ? Tokens.ghost : Tokens.subjectOf(account)
}

const daySeconds = 86_400

const claimsOf = (showing: Showing): object => {
  const { fault, from, number, until } = showing
  return {
    iss: fault === "another issuer" ? `${Tokens.issuer}.evil.example` : Tokens.issuer,
    aud: fault === "another audience" ? "another-venue" : number % 2 === 0 ? Tokens.audience : ["another-venue", Tokens.audience],
    sub: subjectOf(showing),
    jti: `token ${number}`,
    nbf: fault === "not valid yet" ? until : from,
    // Far longer than any clock of a run is wrong.
    ...(fault === "without an end" ? {} : { exp: fault === "expired" ? from - 90 * daySeconds : until })
  }
}

/** A forger without a private key signs with the public one. */
const publicSecret = (key: Showing["key"]): string => Tokens.published.get(key)!

/** A workload's token. */
export const tokenOf = (showing: Showing): string => {
  const { fault, key, number } = showing
  if (fault === "no token") return ["token", "a.b", "a.b.c", "..", `${encoded({ alg: "EdDSA" })}.e30.`][number % 5]!
  const said = `${encoded(headerOf(showing))}.${encoded(claimsOf(showing))}`
  if (fault === "no algorithm") return `${said}.`
  if (fault === "a shared secret") return `${said}.${createHmac("sha256", publicSecret(key)).update(said).digest("base64url")}`
  const signer: Name = fault === "another key" || fault === "a key that nobody published" ? "other" : key
  const signed = fault === "another signature" ? `${said}.` : said
  return `${said}.${sign(null, Buffer.from(signed), keys[signer]).toString("base64url")}`
}
