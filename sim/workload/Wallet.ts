/**
 * Contents of answers that owners and agents use later: challenges, tokens, codes, keys. Their calls are drafted with symbols that refer
 * to the answer of an earlier call, and are resolved here, at the moment at which they are sent: so they mean the same in a run and in its
 * script.
 */
import { accountId } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Draft } from "./Calls.js"
import * as SoftwarePasskey from "./SoftwarePasskey.js"

/** First number of the calls of owners and agents, which are numbered separately so that they shift no others. */
export const firstApart = 1_000_000
/** First number of the calls of holders of realtime tickets. */
export const firstOfTickets = 2_000_000
/** First number of the calls of favorites. */
export const firstOfFavorites = 3_000_000
/** First number of the calls of accounts' credits, flags and affiliates. */
export const firstOfStandings = 4_000_000
/** First number of the calls of agents and bots that trade. */
export const firstOfAgents = 5_000_000
/** First number of the calls of owners with a ledger. */
export const firstOfFunds = 6_000_000
/** First number of the calls of the operator who looks after keys, the ledger and the markets. */
export const firstOfOversight = 6_500_000
/** First number of the calls of feed processes. */
export const firstOfPublishers = 6_750_000
/** First number of the calls of the client that sends malformed variants of other clients' calls. */
export const firstOfMisfits = 6_875_000
/** First number of the calls of the client that asks for readiness. */
export const firstOfProbes = 6_900_000
/** First number of the calls of the client in a hurry. */
export const firstOfRushes = 6_950_000
/** First number of the commands of stream clients over their connections. They follow from the seed, and are in no script. */
export const firstOfStreams = 7_000_000
/** First number of the REST reads of stream clients, which are in no script either. */
export const firstOfStreamReads = 8_000_000

/** A symbol for a part of a call's answer, by its path, in a text of a draft. */
export const of = (call: number, path: string): string => `{of ${call} ${path}}`
/** A symbol in a body for one of the draft's passkey responses. */
export const proofAt = (index: number): string => `{proof ${index}}`

/** A symbol in a body for one of the draft's passkey responses, in the form of an approval of a ledger step. */
export const factorAt = (index: number): string => `{factor ${index}}`

const symbols = /\{of ([0-9]+) ([A-Za-z0-9.]+)\}/g
const proofs = /"\{proof ([0-9]+)\}"/g
const factors = /"\{factor ([0-9]+)\}"/g
/** Replaces a symbol whose answer never came. */
const nothing = "nothing"

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((found, name) => isObject(found) ? found[name] : undefined, value)

/** The value of a body; undefined for one that is not JSON, which some clients send on purpose. */
const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Secret members of answers and bodies. */
const secretMembers = ["accessToken", "apiKey", "deviceCode", "codeVerifier", "ticket", "token"] as const

export class Wallet {
  /** Answers by the number of their call. */
  readonly #answers = new Map<number, unknown>()
  /** The account of each token received. */
  readonly #accounts = new Map<string, string>()
  /** When each received credential ends. */
  readonly moments: Array<number> = []
  /** Every secret that was received or sent. */
  readonly secrets = new Set<string>()

  constructor(readonly model: NaiveVenue) {}

  /** A string in the answer to a call; undefined where there is none. */
  told(call: number, path: string): string | undefined {
    const value = at(this.#answers.get(call), path)
    return typeof value === "string" ? value : undefined
  }

  /** Stores a successful answer. */
  note(call: number, json: unknown): void {
    if (!isObject(json)) return
    if (call >= firstApart) this.#answers.set(call, json)
    this.#keep(json)
    const { expiresAtEpochMs } = json
    if (call >= firstApart && call < firstOfTickets && typeof expiresAtEpochMs === "number") this.moments.push(expiresAtEpochMs)
    for (const opened of Array.isArray(json["accounts"]) ? json["accounts"] : []) {
      if (!isObject(opened)) continue
      this.#keep(opened)
      this.#accounts.set(String(opened["apiKey"]), String(opened["accountId"]))
    }
    const { accessToken, accountId: named, apiKey, key } = json
    if (typeof accessToken === "string") this.#accounts.set(accessToken, String(named))
    // The answer about a bot's key names the account itself.
    if (typeof apiKey === "string" && typeof named === "string") this.#accounts.set(apiKey, named)
    if (typeof apiKey === "string" && isObject(key)) this.#accounts.set(apiKey, String(key["accountId"]))
  }

  #keep(json: { readonly [name: string]: unknown }): void {
    for (const name of secretMembers) {
      const secret = json[name]
      if (typeof secret === "string" && secret.length >= 32) this.secrets.add(secret)
    }
  }

  #keepSent(body: string): void {
    const sent = parsed(body)
    if (isObject(sent)) this.#keep(sent)
  }

  #text(text: string): string {
    return text.replace(symbols, (_, call: string, path: string) => {
      return this.told(Number(call), path) ?? nothing
    })
  }

  #response(proof: SoftwarePasskey.Proof): object {
    const options = at(this.#answers.get(proof.asked), "options")
    const owner = proof.owner === undefined ? undefined : at(this.#answers.get(proof.owner), "options.user.id")
    return SoftwarePasskey.respond(proof, {
      challenge: String(at(options, "challenge") ?? nothing),
      rpId: String(at(options, "rpId") ?? at(options, "rp.id") ?? nothing),
      userHandle: typeof owner === "string" ? owner : undefined
    })
  }

  #factor(proof: SoftwarePasskey.Proof): object {
    const asked = at(this.#answers.get(proof.asked), "challenge")
    return SoftwarePasskey.approve(proof, {
      challenge: String(at(asked, "challenge") ?? nothing),
      rpId: String(at(asked, "rpId") ?? nothing),
      userHandle: undefined
    })
  }

  /** A draft with its symbols resolved. */
  resolved(draft: Draft): Draft {
    if (draft.endpoint === "issueBotKey") this.#keepSent(draft.body)
    if (draft.proofs === undefined && !draft.token.includes("{of") && !draft.target.includes("{of") && !draft.body.includes("{of")) {
      return draft
    }
    const { proofs: responses = [], ...rest } = draft
    const token = this.#text(draft.token)
    const body = this.#text(draft.body)
      .replace(proofs, (_, index: string) => JSON.stringify(this.#response(responses[Number(index)]!)))
      .replace(factors, (_, index: string) => JSON.stringify(this.#factor(responses[Number(index)]!)))
    this.#keepSent(body)
    const said = { ...rest, token, body, target: this.#text(draft.target) }
    return draft.credential === "issued" ? { ...said, ...this.#whose(said) } : said
  }

  /** The account of the token, and the scope under which the venue remembers commands sent with it. */
  #whose({ scope, token }: Draft): Pick<Draft, "account" | "accountId" | "scope"> {
    const named = this.#accounts.get(token) ?? ""
    const account = this.model.accounts.findIndex(({ born }) => accountId(born) === named)
    return { account, accountId: named, scope: scope?.replace(/^[^/]*/, String(account)) }
  }
}
