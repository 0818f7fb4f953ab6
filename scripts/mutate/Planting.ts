/**
 * Plants many mutants in one module at once: each behind a switch of its own, so that a process that has loaded the module can run one
 * after another without loading anything again. With no switch on, the module behaves as before.
 */
import type { Edit, Mutant } from "./Operators.js"

/** A mutant and the number of its switch; numbers are from 1. */
export interface Numbered {
  readonly id: number
  readonly mutant: Mutant
}

/**
 * What a planted module checks: `id` is the mutant whose switch is on (0 for none). While reach is being recorded it calls `at` instead,
 * which notes the number and returns false.
 */
export interface Switch {
  id: number
  readonly at: (id: number) => boolean
}

/** The name of the switch among the globals, and of the environment variable that sets it otherwise. */
export const globalName = "perpetuumMutant"
export const environmentName = "PERPETUUM_MUTANT"

/** The environment variable that names the folder where test processes note which mutants they reach. */
export const reachFolderName = "PERPETUUM_MUTANTS_REACHED"

export type Mode = "switched" | "recording"

/** A place in the text: the edits that exclude each other there, and the places within it. */
interface Place {
  readonly kind: Edit["kind"]
  readonly start: number
  readonly end: number
  readonly choices: Array<{ readonly id: number; readonly text: string }>
  readonly inner: Array<Place>
}

const place = (kind: Edit["kind"], start: number, end: number): Place => ({ kind, start, end, choices: [], inner: [] })

/** All places, each within its enclosing one; the text itself is the outermost. */
const placesOf = (text: string, mutants: ReadonlyArray<Numbered>): Place => {
  const edits = mutants.flatMap(({ id, mutant }) => mutant.edits.map((edit) => ({ id, ...edit })))
  // A place comes before those within it, and a statement before the expression that makes it up.
  edits.sort((a, b) => a.start - b.start || b.end - a.end || (a.kind === b.kind ? 0 : a.kind === "statement" ? -1 : 1))
  const whole = place("statement", 0, text.length)
  const around: Array<Place> = [whole]
  for (const { end, id, kind, start, text: becomes } of edits) {
    while (around.length > 1 && around.at(-1)!.end <= start) around.pop()
    let here = around.at(-1)!
    if (here === whole || here.kind !== kind || here.start !== start || here.end !== end) {
      if (end > here.end) throw new Error(`a place ends behind the one around it: ${text.slice(start, end)}`)
      const inside = place(kind, start, end)
      here.inner.push(inside)
      around.push(inside)
      here = inside
    }
    here.choices.push({ id, text: becomes })
  }
  return whole
}

const question = (id: number, mode: Mode): string => mode === "switched" ? `$mutant.id === ${id}` : `$mutant.at(${id})`

const render = (text: string, { choices, end, inner, kind, start }: Place, mode: Mode): string => {
  let rendered = ""
  let from = start
  for (const each of inner) {
    rendered += text.slice(from, each.start) + render(text, each, mode)
    from = each.end
  }
  rendered += text.slice(from, end)
  if (choices.length === 0) return rendered
  if (kind === "statement") return `{ if (!(${choices.map(({ id }) => question(id, mode)).join(" || ")})) ${rendered} }`
  return `(${choices.map(({ id, text: becomes }) => `${question(id, mode)} ? (${becomes}) : `).join("")}(${rendered}))`
}

const preamble = `const $mutant = globalThis.${globalName} ??= `
  + `{ id: Number(process.env.${environmentName} ?? 0), at: () => false };\n`

/** The module's text with all mutants in it, each behind its switch. */
export const plant = (text: string, mutants: ReadonlyArray<Numbered>, mode: Mode): string =>
  preamble + render(text, placesOf(text, mutants), mode)
