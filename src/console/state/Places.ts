/** The current place: the part of the address after `#`, so that one document serves all pages. */
import { marketIdPattern } from "../../client/venue/MarketId.js"

export const pages = ["portfolio", "markets", "market", "leaderboard", "funds", "keys", "passkeys", "security", "connect"] as const
export type Page = (typeof pages)[number]

export interface Place {
  readonly page: Page
  /** On the approval page, the code that the agent has shown its owner; empty where it is not known yet, and on other pages. */
  readonly userCode: string
  /** On a market's page, its id; empty on other pages. */
  readonly marketId: string
}

/** A code in its usual form: capitals in two groups of four, whatever was typed between them. */
export const normalizedCode = (text: string): string => {
  const signs = text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "").slice(0, 8)
  return signs.length <= 4 ? signs : `${signs.slice(0, 4)}-${signs.slice(4)}`
}

export const isWholeCode = (code: string): boolean => code.length === 9

/** Decodes a part of an address; empty where it is malformed. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ""
  }
}

const place = (page: Page, detail: string): Place => {
  // Any other text of a link would stand as the heading and the window's title of a page of the venue.
  const marketId = page === "market" && marketIdPattern.test(detail) ? detail : ""
  return {
    page: page === "market" && marketId === "" ? "markets" : page,
    userCode: page === "connect" ? normalizedCode(detail) : "",
    marketId
  }
}

/** The place for a `#` part; the first page where it names none. */
export const parse = (hash: string): Place => {
  const [name = "", detail = ""] = hash.replace(/^#?\/?/, "").split("/")
  return place(pages.find((one) => one === name) ?? "portfolio", decoded(detail))
}

/** The link to a page, with the code or the market that it is about. */
export const link = (page: Page, detail = ""): string => detail === "" ? `#/${page}` : `#/${page}/${encodeURIComponent(detail)}`

/** The link to a place. */
export const linkTo = ({ marketId, page, userCode }: Place): string => link(page, marketId === "" ? userCode : marketId)

/** The place for the address at which the pages were opened: an agent sends its owner to `/connect`, with its code as a query. */
export const opened = (pathname: string, search: string, hash: string): Place =>
  pathname === "/connect" && hash === "" ? place("connect", new URLSearchParams(search).get("code") ?? "") : parse(hash)
