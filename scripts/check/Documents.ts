/** Documents that texts refer to: each must be in the repository, or readers search for it in vain. */
import { basename, type Violation } from "./Source.js"

const named = /(?<![\w*])[\w./-]*\w\.md\b/g

const last = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** Names of documents in a text that no tracked file has; the subject is `File.document`, without the extension. */
export const check = (path: string, text: string, tracked: ReadonlyArray<string>): ReadonlyArray<Violation> => {
  const known = new Set(tracked.map(last))
  return text.split("\n").flatMap((line, index) =>
    [...line.matchAll(named)].map(([document]) => last(document)).filter((document) => !known.has(document)).map((document) => ({
      path,
      line: index + 1,
      rule: "document",
      message: `there is no ${document} in the repository`,
      subject: `${basename(path)}.${document.slice(0, -".md".length)}`
    }))
  )
}
