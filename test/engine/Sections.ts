/** The sections that a part of the state writes into a snapshot, read back. */
import { SectionReader, SectionWriter } from "../../src/engine/Sections.js"

export const encoded = (part: { readonly encode: (into: SectionWriter) => void }): SectionReader => {
  const into = new SectionWriter()
  part.encode(into)
  return new SectionReader(into.sections)
}

/** The sections by name, with bytes as texts: comparing bytes one by one takes the test library half a minute. */
export const told = ({ sections }: SectionReader): Readonly<Record<string, string>> =>
  Object.fromEntries(sections.map(({ bytes, name }) => [name, Buffer.from(bytes).toString("base64")]))
