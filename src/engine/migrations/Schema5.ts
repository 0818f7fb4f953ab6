/** Sections of schema 5, which rules 5 wrote, as those of schema 6. */
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

export const toSchema6 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  for (const { name } of sections) into.bytes(name, from.bytes(name))
  return into.sections
}
