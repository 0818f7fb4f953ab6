/** What a part of the state writes into a snapshot, as it is read back. */
import { SectionReader, SectionWriter } from "../../src/engine/Sections.js"

export const encoded = (part: { readonly encode: (into: SectionWriter) => void }): SectionReader => {
  const into = new SectionWriter()
  part.encode(into)
  return new SectionReader(into.sections)
}

/** The sections to compare, by name: bytes as texts, since to compare them one by one takes the test library half a minute. */
export const told = ({ sections }: SectionReader): Readonly<Record<string, string>> =>
  Object.fromEntries(sections.map(({ bytes, name }) => [name, Buffer.from(bytes).toString("base64")]))
