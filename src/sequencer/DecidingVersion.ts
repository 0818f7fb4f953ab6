/** Which version of the program decided a state. */
import type { Engine } from "../engine/Engine.js"
import * as Block from "../journal/Block.js"
import type { DecidingVersion } from "../operations/Versions.js"

export const versionOf = ({ rules, state: { program } }: Engine): DecidingVersion => ({
  // The first version journaled neither its name nor its rules.
  program: program === "" ? Block.writers.get(1)! : program,
  rules: Math.max(1, rules)
})
