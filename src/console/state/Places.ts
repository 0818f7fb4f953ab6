/** Where one is: the part of the address behind `#`, so that one document serves all pages. */

export const pages = ["portfolio", "markets", "market", "leaderboard", "funds", "keys", "passkeys", "security", "connect"] as const
export type Page = (typeof pages)[number]

export interface Place {
  readonly page: Page
  /** The code that an agent shows its owner, on the page where it is approved; empty where none is known yet. */
  readonly userCode: string
  /** The market that is shown, on the page of one; empty on any other. */
  readonly marketId: string
}

/** A code as it is written: capitals in two groups of four, whatever was typed between them. */
export const normalizedCode = (text: string): string => {
  const signs = text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "").slice(0, 8)
  return signs.length <= 4 ? signs : `${signs.slice(0, 4)}-${signs.slice(4)}`
}

export const isWholeCode = (code: string): boolean => code.length === 9

/** What stands in an address, or nothing where it is no such text. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ""
  }
}

const place = (page: Page, detail: string): Place => ({
  page: page === "market" && detail === "" ? "markets" : page,
  userCode: page === "connect" ? normalizedCode(detail) : "",
  marketId: page === "market" ? detail : ""
})

/** The place behind a `#`; the first page for whatever is none. */
export const parse = (hash: string): Place => {
  const [name = "", detail = ""] = hash.replace(/^#?\/?/, "").split("/")
  return place(pages.find((one) => one === name) ?? "portfolio", decoded(detail))
}

/** The place as a link: of a page, with the code or the market that it is about. */
export const link = (page: Page, detail = ""): string => detail === "" ? `#/${page}` : `#/${page}/${encodeURIComponent(detail)}`

/** The link to where one is. */
export const linkTo = ({ marketId, page, userCode }: Place): string => link(page, marketId === "" ? userCode : marketId)

/** The place that an address stands for when the pages are opened: an agent sends its owner to `/connect`, with its code as a query. */
export const opened = (pathname: string, search: string, hash: string): Place =>
  pathname === "/connect" && hash === "" ? place("connect", new URLSearchParams(search).get("code") ?? "") : parse(hash)
