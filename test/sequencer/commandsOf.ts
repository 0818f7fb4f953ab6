/** Commands for a writer, as a random driver would run them, from the opening on. */
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { versions } from "../../src/sequencer/Versions.js"
import { complete } from "../engine/commands.js"
import { RandomDriver } from "../engine/drive.js"

export const commandsOf = (seed: number, count: number): ReadonlyArray<Command> => {
  const commands: Array<Command> = [complete({ kind: "OpenVenue", environment: "development", ...versions })]
  class Noting extends RandomDriver {
    override run(command: Command): Outcome {
      // Prices get the time of the venue to which they are sent.
      commands.push(command.kind === "SetIndexPrice" ? { ...command, sourceEpochMs: 0 } : command)
      return super.run(command)
    }
  }
  const driver = new Noting(seed)
  while (commands.length < count) driver.step()
  return commands
}
