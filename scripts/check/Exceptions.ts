/**
 * Known violations. The list may only shrink: an entry that excuses nothing any more is itself a violation, so that whoever fixes the last
 * one removes the entry in the same commit.
 */
import type { Violation } from "./Source.js"

/** Excused subjects, by rule. */
export type Exceptions = Readonly<Record<string, ReadonlyArray<string>>>

export const granted: Exceptions = {
  document: [
    "Margin.risk",
    "Positions.risk"
  ],
  "long-function": [
    "Exchanges.write",
    "Synthetic.captures"
  ]
}

const here = "scripts/check/Exceptions.ts"

/** The violations that nothing excuses, and the exceptions that excuse nothing. */
export const settle = (found: ReadonlyArray<Violation>, exceptions: Exceptions): ReadonlyArray<Violation> => {
  const isOf = (violation: Violation, rule: string, subject: string): boolean => violation.rule === rule && violation.subject === subject
  const isExcused = (violation: Violation): boolean => exceptions[violation.rule]?.includes(violation.subject ?? "") ?? false
  const idle = Object.entries(exceptions).flatMap(([rule, subjects]) =>
    subjects.filter((subject) => !found.some((violation) => isOf(violation, rule, subject))).map((subject) => ({
      path: here,
      line: 1,
      rule,
      message: `${subject} is excused and breaks no rule any more`
    }))
  )
  return [...found.filter((violation) => !isExcused(violation)), ...idle]
}
