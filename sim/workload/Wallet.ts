/**
 * What clients were told that owners and agents go on with: challenges, tokens, codes, keys. Their calls are drafted with symbols
 * that name the answer of an earlier call, and are what they mean only here, at the moment in which they are sent: a run and the
 * script of a run mean the same by them.
 */
import { accountId } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Draft } from "./Calls.js"
import * as SoftwarePasskey from "./SoftwarePasskey.js"

/** Calls of owners and agents are counted from here on, so that they shift no other's. */
export const firstApart = 1_000_000
/** And those of whoever holds realtime tickets from here on. */
export const firstOfTickets = 2_000_000
/** And those about favorites from here on. */
export const firstOfFavorites = 3_000_000
/** And those about accounts and their standing from here on. */
export const firstOfStandings = 4_000_000
/** And those of agents and bots who trade from here on. */
export const firstOfAgents = 5_000_000
/** And those of owners who bring money in and take it out from here on. */
export const firstOfFunds = 6_000_000
/** And those of an operator who looks after keys, the ledger and the markets from here on. */
export const firstOfOversight = 6_500_000
/** And those of feed processes from here on. */
export const firstOfPublishers = 6_750_000
/** And those of whoever says what others say as it may not be said from here on. */
export const firstOfMisfits = 6_875_000
/** And those of who asks whether the venue takes requests from here on. */
export const firstOfProbes = 6_900_000
/** And those of somebody in a hurry from here on. */
export const firstOfRushes = 6_950_000
/** And those of clients of the stream who trade over it from here on. What they do follows from the seed, and is in no script. */
export const firstOfStreams = 7_000_000
/** And those of the same clients who read beside it, from here on; likewise. */
export const firstOfStreamReads = 8_000_000

/** A part of the answer to a call, by its path, in a text of a draft. */
export const of = (call: number, path: string): string => `{of ${call} ${path}}`
/** A response of a passkey among a draft's, in its body. */
export const proofAt = (index: number): string => `{proof ${index}}`

/** The same, as the approval of a step on the ledger. */
export const factorAt = (index: number): string => `{factor ${index}}`

const symbols = /\{of ([0-9]+) ([A-Za-z0-9.]+)\}/g
const proofs = /"\{proof ([0-9]+)\}"/g
const factors = /"\{factor ([0-9]+)\}"/g
/** What stands for what was never told. */
const nothing = "nothing"

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((found, name) => isObject(found) ? found[name] : undefined, value)

/** What a body says; undefined of one that is no JSON, as what is sent on purpose may be. */
const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Members of answers and of bodies that nobody but their holder may know. */
const secretMembers = ["accessToken", "apiKey", "deviceCode", "codeVerifier", "ticket", "token"] as const

export class Wallet {
  /** By the number of the call. */
  readonly #answers = new Map<number, unknown>()
  /** The accounts of tokens that were told. */
  readonly #accounts = new Map<string, string>()
  /** When what was told of ends. */
  readonly moments: Array<number> = []
  /** Every secret that was told or sent. */
  readonly secrets = new Set<string>()

  constructor(readonly model: NaiveVenue) {}

  /** A text of what the answer to a call told; undefined where it told none there. */
  told(call: number, path: string): string | undefined {
    const value = at(this.#answers.get(call), path)
    return typeof value === "string" ? value : undefined
  }

  /** Takes note of a good answer. */
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
    // Of a bot's key the answer itself says it.
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

  /** A draft as what it means now. */
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

  /** Whose the token is, and under what the venue remembers what is sent with it. */
  #whose({ scope, token }: Draft): Pick<Draft, "account" | "accountId" | "scope"> {
    const named = this.#accounts.get(token) ?? ""
    const account = this.model.accounts.findIndex(({ born }) => accountId(born) === named)
    return { account, accountId: named, scope: scope?.replace(/^[^/]*/, String(account)) }
  }
}
