/**
 * Requests that a browser sends because a page of another site had it do so, which any page may: it needs no permission to send them, only
 * to read the answers. The browser says so itself (https://www.w3.org/TR/fetch-metadata/), and a page can neither set nor remove what it
 * says. Such requests count apart from all others of their address, since the visitor of a page did not choose to send them.
 */
import type { Sender } from "./Listener.js"

/** Origins of pages that may call the venue: the ones that are listed, and that of the venue's own pages. */
export type KnownPages = ReadonlySet<string>

const isOfKnown = ({ headers: { origin } }: Sender, known: KnownPages): boolean => origin !== undefined && known.has(origin)

/** Whether a browser sends a request for a page of another site that is not known. */
export const isCrossSite = (sender: Sender, known: KnownPages): boolean =>
  sender.headers["sec-fetch-site"] === "cross-site" && !isOfKnown(sender, known)

/**
 * Whether a browser opens a stream for a page of another site that is not known. Not every browser says so of a WebSocket, but each of them
 * names the page's origin. A client that is no browser and names another origin than the venue's all the same counts like such a page.
 */
export const opensCrossSite = (sender: Sender, known: KnownPages): boolean => {
  const { origin, "sec-fetch-site": site } = sender.headers
  return site === undefined ? origin !== undefined && !isOfKnown(sender, known) : isCrossSite(sender, known)
}
