/** Where one is: the part of the address behind `#`, so that one document serves all pages. */

export const pages = ["portfolio", "funds", "keys", "passkeys", "security", "connect"] as const
export type Page = (typeof pages)[number]

export interface Place {
  readonly page: Page
  /** The code that an agent shows its owner, on the page where it is approved; empty where none is known yet. */
  readonly userCode: string
}

/** A code as it is written: capitals in two groups of four, whatever was typed between them. */
export const normalizedCode = (text: string): string => {
  const signs = text.toUpperCase().replaceAll(/[^A-Z0-9]/g, "").slice(0, 8)
  return signs.length <= 4 ? signs : `${signs.slice(0, 4)}-${signs.slice(4)}`
}

export const isWholeCode = (code: string): boolean => code.length === 9

/** The place behind a `#`; the first page for whatever is none. */
export const parse = (hash: string): Place => {
  const [name = "", code = ""] = hash.replace(/^#?\/?/, "").split("/")
  const page = pages.find((one) => one === name) ?? "portfolio"
  return { page, userCode: page === "connect" ? normalizedCode(code) : "" }
}

/** The place as a link. */
export const link = (page: Page, userCode = ""): string => userCode === "" ? `#/${page}` : `#/${page}/${userCode}`

/** The place that an address stands for when the pages are opened: an agent sends its owner to `/connect`, with its code as a query. */
export const opened = (pathname: string, search: string, hash: string): Place =>
  pathname === "/connect" && hash === ""
    ? { page: "connect", userCode: normalizedCode(new URLSearchParams(search).get("code") ?? "") }
    : parse(hash)
