/**
 * A tool's help (`--help`): its commands first, each with one line, then its options, then its exit codes. Plain text, which reads the same
 * at a terminal and in a file.
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Usage from "@effect/cli/Usage"
import * as HashSet from "effect/HashSet"

/** A tool, as its help needs it. */
export interface Tool {
  readonly name: string
  readonly version: string
  readonly command: Descriptor.Command<unknown>
  /** The commands of each group by its name, and the tool's own under the empty name, in the order in which they are listed. */
  readonly groups: Readonly<Record<string, ReadonlyArray<Descriptor.Command<unknown>>>>
  /** What each exit code means. */
  readonly exitCodes: Readonly<Record<number, string>>
}

// The options that every command has are left out here, and listed once at the end.
const config = CliConfig.make({ showBuiltIns: false })

/** Text without terminal colours. */
// oxlint-disable-next-line no-control-regex
export const plain = (text: string): string => text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "")

const textOf = (document: HelpDoc.HelpDoc): string => plain(HelpDoc.toAnsiText(document)).trim()

const spanOf = (value: HelpDoc.HelpDoc & { readonly _tag: "Paragraph" | "Header" }): string => textOf(HelpDoc.p(value.value))

/** The parts of a document, in order. */
const partsOf = (document: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> => {
  if (HelpDoc.isEmpty(document)) return []
  return HelpDoc.isSequence(document) ? [...partsOf(document.left), ...partsOf(document.right)] : [document]
}

/** The contents under a heading. */
const section = (document: HelpDoc.HelpDoc, heading: string): ReadonlyArray<HelpDoc.HelpDoc> => {
  const parts = partsOf(document)
  const isHeading = (part: HelpDoc.HelpDoc): boolean => HelpDoc.isHeader(part)
  const at = parts.findIndex((part) => HelpDoc.isHeader(part) && spanOf(part) === heading)
  if (at < 0) return []
  const next = parts.findIndex((part, index) => index > at && isHeading(part))
  return parts.slice(at + 1, next < 0 ? parts.length : next)
}

/** Descriptions that add nothing to an option's name. */
const unsaid: ReadonlySet<string> = new Set([
  "A user-defined piece of text.",
  "An integer.",
  "A true or false value.",
  "This setting is optional.",
  "This option can be set from environment variables."
])

const sentencesOf = (document: HelpDoc.HelpDoc): string => partsOf(document).map(textOf).filter((text) => !unsaid.has(text)).join(" ")

/** Arguments or options with their descriptions. */
const described = (parts: ReadonlyArray<HelpDoc.HelpDoc>): ReadonlyArray<readonly [string, string]> =>
  parts.flatMap((part) =>
    HelpDoc.isDescriptionList(part)
      ? part.definitions.map(([name, document]) => [textOf(HelpDoc.p(name)), sentencesOf(document)] as const)
      : []
  )

/** Rows in two aligned columns. */
const columns = (rows: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> => {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd())
}

const helpOf = (command: Descriptor.Command<unknown>): HelpDoc.HelpDoc => Descriptor.getHelp(command, config)

const descriptionOf = (command: Descriptor.Command<unknown>): string =>
  section(helpOf(command), "DESCRIPTION").map(textOf).join(" ").replace(/\s+/g, " ")

const nameOf = (command: Descriptor.Command<unknown>): string => [...HashSet.values(Descriptor.getNames(command))][0]!

/** All commands of a group that can be run, with the words that call them; nested groups are expanded in place. */
const commandsOf = (tool: Tool, group: string): ReadonlyArray<readonly [string, string]> =>
  (tool.groups[group] ?? []).flatMap((each) => {
    const name = nameOf(each)
    const inside = group === "" ? commandsOf(tool, name) : []
    return inside.length > 0 ? inside.map(([words, text]) => [`${name} ${words}`, text] as const) : [[name, descriptionOf(each)] as const]
  })

interface Named {
  readonly command: Descriptor.Command<unknown>
  /** The words that name it, without the tool's name. */
  readonly words: ReadonlyArray<string>
}

/** The command that a command line names. */
const named = (tool: Tool, [first = "", second = ""]: ReadonlyArray<string>): Named => {
  const find = (group: string, name: string) => tool.groups[group]?.find((each) => nameOf(each) === name)
  const outer = find("", first)
  const inner = outer === undefined ? undefined : find(first, second)
  if (outer === undefined) return { command: tool.command, words: [] }
  return inner === undefined ? { command: outer, words: [first] } : { command: inner, words: [first, second] }
}

/** Whether this names a group of commands. */
const isGroup = (tool: Tool, { words }: Named): boolean => words.length < 2 && tool.groups[words[0] ?? ""] !== undefined

/** Whether a command line asks for help: by a help option, or by naming a group of commands without any of them. */
export const isAsked = (tool: Tool, args: ReadonlyArray<string>): boolean => {
  const found = named(tool, args)
  return args.includes("--help") || args.includes("-h") || (isGroup(tool, found) && args.length === found.words.length)
}

/** What every command takes in front of its own name, and without one. */
const common = ["--help", "-h", "--version", "--log-level", "--completions", "--wizard"]

/**
 * What is wrong with a command line that names a group and none of its commands, or has an option in front of the command: the parser would
 * say that the tool has no such command, and list that very group among those it has.
 */
export const unnamed = (tool: Tool, args: ReadonlyArray<string>): string | undefined => {
  const found = named(tool, args)
  const next = args[found.words.length]
  if (!isGroup(tool, found) || next === undefined || common.some((each) => next === each || next.startsWith(`${each}=`))) return undefined
  const words = [tool.name, ...found.words].join(" ")
  const names = tool.groups[found.words[0] ?? ""]!.map((each) => `'${nameOf(each)}'`).join(", ")
  return next.startsWith("-")
    ? `${words} takes no option before its command, as ${JSON.stringify(next)}: it is to follow one of ${names}`
    : `Invalid subcommand for ${words}, ${JSON.stringify(next)} - use one of ${names}`
}

/** The help for the commands that a command line names. */
export const lines = (tool: Tool, args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found = named(tool, args)
  const { command } = found
  const words = [tool.name, ...found.words].join(" ")
  const commands = isGroup(tool, found) ? commandsOf(tool, found.words[0] ?? "") : []
  const help = helpOf(command)
  const [takes, options] = [described(section(help, "ARGUMENTS")), described(section(help, "OPTIONS"))]
  const usage = textOf(Usage.getHelp(Descriptor.getUsage(command)))
  return [
    `${words} (${tool.name} ${tool.version}): ${descriptionOf(command)}`,
    ...(commands.length === 0
      ? ["", "USAGE", `  ${words.split(" ").slice(0, -1).concat(usage).join(" ")}`]
      : ["", "COMMANDS", ...columns(commands), "", `${words} COMMAND --help says what a command takes.`]),
    ...(takes.length === 0 ? [] : ["", "ARGUMENTS", ...columns(takes)]),
    ...(options.length === 0 ? [] : ["", "OPTIONS", ...columns(options)]),
    "",
    "EXIT CODES",
    ...columns(Object.entries(tool.exitCodes)),
    "",
    "Every command also takes --help, --version, --log-level LEVEL and --completions sh|bash|fish|zsh."
  ]
}
