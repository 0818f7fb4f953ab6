/** HTML as text: whatever is put in is escaped, unless it is HTML already. */

/** Markup that is sent as it is. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | Html | undefined | ReadonlyArray<Html>

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

const render = (part: Part): string => {
  if (part === undefined) return ""
  if (part instanceof Html) return part.text
  return typeof part === "object" ? part.map((one) => one.text).join("") : escape(String(part))
}

/** A template whose holes are escaped. */
export const html = (parts: TemplateStringsArray, ...holes: ReadonlyArray<Part>): Html =>
  new Html(parts.reduce((text, part, index) => text + render(holes[index - 1]) + part))

/** Text with `code` between backticks. */
export const prose = (text: string): Html =>
  new Html(text.split("`").map((part, index) => index % 2 === 0 ? escape(part) : `<code>${escape(part)}</code>`).join(""))

/** Parts with something between them. */
export const join = (parts: ReadonlyArray<Html>, between: string): Html => new Html(parts.map((one) => one.text).join(between))
