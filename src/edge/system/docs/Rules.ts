/**
 * The engine's rules, invariants and decisions as sections of the reference: the files beside the code in the repository, so that a
 * venue shows the rules of the program it runs. They are read when the build makes a page.
 */
import { Marked } from "marked"
import { Html, html } from "./Html.js"
import { textOf } from "./NodePackage.js"

interface Document {
  /** Path from the package's folder. */
  readonly path: string
  /** Prefix of its headings' ids, which makes them unique in the page. */
  readonly prefix: string
}

const documents: ReadonlyArray<Document> = [
  { path: "src/edge/socket/STREAM.md", prefix: "stream" },
  { path: "src/engine/RULES.md", prefix: "rules" },
  { path: "src/engine/INVARIANTS.md", prefix: "invariants" },
  { path: "src/engine/DECISIONS.md", prefix: "decisions" }
]

const texts = (): ReadonlyArray<string> => documents.map(({ path }) => textOf(path))

/** A heading as part of an id: small letters, digits and hyphens. */
const slug = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "")

/** The target of a link between documents within the page; unchanged for links elsewhere. */
const targetOf = (href: string): string => {
  const document = documents.find(({ path }) => path.endsWith(`/${href}`))
  return document === undefined ? href : `#${document.prefix}`
}

/** One document, its title a heading of the second rank, with its prefix as id. */
const section = (text: string, prefix: string): Html => {
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ depth, text: heading, tokens }) {
        const rank = Math.min(depth + 1, 4)
        return `<h${rank} id="${depth === 1 ? prefix : `${prefix}-${slug(heading)}`}">${this.parser.parseInline(tokens)}</h${rank}>\n`
      },
      link({ href, tokens }) {
        return html`<a href="${targetOf(href)}">${new Html(this.parser.parseInline(tokens))}</a>`.text
      },
      // Markup in a document is shown as text.
      html({ text: markup }) {
        return html`${markup}`.text
      }
    }
  })
  const body = marked.parse(text, { async: false })
  return new Html(
    body.replaceAll("<table>", "<div class=\"scroll\"><table>").replaceAll("</table>", "</table></div>").replaceAll("&#39;", "'")
  )
}

const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? "Rules"

/** All documents, in order. */
export const sections = (): ReadonlyArray<Html> => texts().map((text, index) => section(text, documents[index]!.prefix))

/** Links to them, for the page's navigation. */
export const navigation = (): Html =>
  html`<h2>Rules</h2><ul>${texts().map((text, index) => html`<li><a href="#${documents[index]!.prefix}">${titleOf(text)}</a></li>`)}</ul>`
