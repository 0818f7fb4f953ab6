/** The result of each operator on a line, and that switching a mutant on in a planted module equals writing it down. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { type Mutant, type Operator, mutantsOf } from "../../../scripts/mutate/Operators.js"
import * as Planting from "../../../scripts/mutate/Planting.js"

/** The operator, a module, and the text of every mutant by that operator. */
const table: ReadonlyArray<readonly [Operator, string, ReadonlyArray<string>]> = [
  ["boundary", "a < b", ["a <= b"]],
  ["boundary", "a <= b", ["a < b"]],
  ["boundary", "a > b", ["a >= b"]],
  ["boundary", "a >= b", ["a > b"]],
  ["boundary", "Math.min(a, b)", ["Math.max(a, b)"]],
  ["boundary", "Math.max(a, b)", ["Math.min(a, b)"]],
  ["boundary", "heap.min(a)", []],
  ["comparison", "a < b", ["a >= b"]],
  ["comparison", "a >= b", ["a < b"]],
  ["comparison", "a === b", ["a !== b"]],
  ["comparison", "a !== b", ["a === b"]],
  // Only the operator between the operands is changed, whatever comments contain.
  ["comparison", "(a) /* < or > */ > (b)", ["(a) /* < or > */ <= (b)"]],
  ["comparison", "(x < y) === (z > y)", ["(x < y) !== (z > y)", "(x >= y) === (z > y)", "(x < y) === (z <= y)"]],
  ["arithmetic", "a + b", ["a - b"]],
  ["arithmetic", "a - b", ["a + b"]],
  ["arithmetic", "a * b / c", ["a / b / c", "a * b * c"]],
  ["arithmetic", "a % b", ["a * b"]],
  ["arithmetic", "a << b | c >>> d", ["a >> b | c >>> d", "a << b & c >>> d", "a << b | c << d"]],
  ["arithmetic", "a += b", ["a -= b"]],
  ["arithmetic", "a.b[c] >>>= d", ["a.b[c] <<= d"]],
  ["arithmetic", "a++", ["a--"]],
  ["arithmetic", "--a", ["++a"]],
  ["arithmetic", "f(-a)", ["f(a)"]],
  ["arithmetic", "`${a}` + b", []],
  ["arithmetic", "a + \"b\" + c", []],
  ["arithmetic", "a += `,${b}`", []],
  ["arithmetic", "for (let i = 0; i < n; i++) f(i)", []],
  ["rounding", "Math.floor(a)", ["Math.ceil(a)"]],
  ["rounding", "Math.round(a)", ["Math.floor(a)"]],
  ["rounding", "Units.mulDivFloor(a, b, c)", ["Units.mulDivCeil(a, b, c)"]],
  ["rounding", "import { mulDivCeil, mulDivFloor } from \"x\"; mulDivCeil(a)", [
    "import { mulDivCeil, mulDivFloor } from \"x\"; mulDivFloor(a)"
  ]],
  ["rounding", "import { mulDivCeil } from \"x\"; mulDivCeil(a)", []],
  ["constant", "a(0)", ["a(1)"]],
  ["constant", "a(1)", ["a(0)"]],
  ["constant", "a(0xff)", ["a(256)"]],
  ["constant", "a(1n, 5n)", ["a(0n, 5n)", "a(1n, 6n)"]],
  ["constant", "a(true)", ["a(false)"]],
  ["constant", "a(\"1\", null, /1/)", []],
  ["constant", "a = { 1: b, c: 2 }", ["a = { 1: b, c: 3 }"]],
  ["condition", "if (!a) b()", ["if (a) b()"]],
  ["condition", "c = a.b() ? d : e", ["c = !(a.b()) ? d : e"]],
  ["condition", "if (a < b) c()", []],
  ["logic", "a && b.c", ["a", "b.c"]],
  ["logic", "a ?? b", ["a", "b"]],
  ["branch", "if (a) b(); else c()", ["if (true) b(); else c()", "if (false) b(); else c()"]],
  ["branch", "a = b ? c : d", ["a = true ? c : d", "a = false ? c : d"]],
  ["branch", "while (a) b()", ["while (false) b()"]],
  ["branch", "for (;;) b()", []],
  ["branch", "while (true) b()", []],
  ["branch", "for (; a;) b()", ["for (; false;) b()"]],
  ["statement", "a(); b = c;", ["; b = c;", "a(); ;"]],
  ["statement", "if (a) b(); else c();", ["if (a) ; else c();", "if (a) b(); else ;"]],
  ["statement", "class A extends B { constructor() { super(); this.a = 1 } }", ["class A extends B { constructor() { super(); ; } }"]],
  ["statement", "function* a() { yield* b(c); const d = yield e; return d }", ["function* a() { ; const d = yield e; return d }"]],
  ["statement", "\"use strict\"", []],
  ["argument", "a(b, c.d, e[f])", ["a(c.d, b, e[f])", "a(b, e[f], c.d)"]],
  ["argument", "new A(b, 1 + c)", ["new A(1 + c, b)"]],
  ["argument", "a(b, b)", []],
  ["argument", "Math.max(a, b) + Math.atan2(c, d)", ["Math.max(a, b) + Math.atan2(d, c)"]],
  ["argument", "a(b, () => c, ...d)", []],
  ["argument", "a(b, \"c\", `d`, {}, [])", []]
]

/** The module with the mutant written down; `bracketed`, so that neighbouring operators bind as before. */
const alone = (text: string, { edits }: Mutant, bracketed = false): string =>
  [...edits].sort((a, b) => b.start - a.start).reduce((changed, { end, kind, start, text: becomes }) => {
    const put = bracketed && kind === "expression" ? `(${becomes})` : becomes
    return changed.slice(0, start) + put + changed.slice(end)
  }, text)

describe("an operator", () => {
  for (const [operator, text, wanted] of table) {
    test(`${operator}: ${text}`, () => {
      const found = mutantsOf(text).filter((mutant) => mutant.operator === operator)
      expect(found.map((mutant) => alone(text, mutant))).toEqual(wanted)
    })
  }

  const leftAlone = [
    "assert(a > 0 && b(1, c), \"something holds\")",
    "throw new Error(`${a + b} is not ${c(d, e)}`)",
    "import a from \"b\"; export * from \"c\""
  ]
  for (const text of leftAlone) {
    test(`nothing of ${text}`, () => {
      expect(mutantsOf(text)).toEqual([])
    })
  }

  test("tells where it is and what it does in one line", () => {
    expect(mutantsOf("f(\n  a\n    < b\n)").filter(({ operator }) => operator === "boundary")).toMatchObject([
      { start: 5, was: "a < b", becomes: "a <= b" }
    ])
  })
})

/** None of its mutants runs for ever. */
const program = `
export const run = (a, b) => {
  const seen = []
  const note = (value, more) => seen.push(value, more)
  for (let i = 0; i < 3 && seen.length < 20; i++) {
    if (a > i || b?.[i] !== undefined) note(i, a)
    else note(a - 1, -i)
  }
  if (a === 2) seen.push("two"); else if (!b) seen.push(\`none \${a * 2}\`)
  let c = a
  let turns = 0
  while (c > 0 && turns++ < 9) c -= 2
  seen.push((a ?? 5) << 2, [a, ...(b ?? [])].map((each, at) => each + at), { a, c: c % 2 })
  return seen
}
`

describe("planting", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "planting-"))
  afterAll(() => fs.rmSync(folder, { recursive: true }))

  let modules = 0
  const globals = globalThis as unknown as Record<string, Planting.Switch>
  type Run = (a: number | undefined, b: ReadonlyArray<number> | undefined) => unknown
  const load = async (text: string): Promise<Run> => {
    const file = path.join(folder, `${modules++}.mjs`)
    fs.writeFileSync(file, text)
    return ((await import(/* @vite-ignore */ pathToFileURL(file).href)) as { readonly run: Run }).run
  }
  const inputs: ReadonlyArray<readonly [number | undefined, ReadonlyArray<number> | undefined]> = [
    [0, undefined],
    [1, [7]],
    [2, [1, 2, 3]],
    [3, undefined],
    [undefined, [4]]
  ]
  /** The result of a run, or its error. */
  const outcome = (run: Run): string =>
    JSON.stringify(inputs.map(([a, b]) => {
      try {
        return run(a, b)
      } catch (error) {
        // The message depends on how the program is written.
        return (error as Error).name
      }
    }))

  const mutants = mutantsOf(program).map((mutant, index) => ({ id: index + 1, mutant }))

  test("a switch that is on does what the mutant does by itself, and none what the module did", async () => {
    const asked: Planting.Switch = { id: 0, at: () => false }
    globals[Planting.globalName] = asked
    const planted = await load(Planting.plant(program, mutants, "switched"))
    const original = outcome(await load(program))
    expect(outcome(planted)).toBe(original)
    let different = 0
    for (const { id, mutant } of mutants) {
      const written = outcome(await load(alone(program, mutant, true)))
      asked.id = id
      expect(outcome(planted), `${mutant.operator} ${mutant.was}`).toBe(written)
      if (written !== original) different++
    }
    // Most of them behave differently for these inputs.
    expect(different).toBeGreaterThan(mutants.length * 0.8)
  })

  test("recording notes what is reached and changes nothing", async () => {
    const noted = new Set<number>()
    globals[Planting.globalName] = {
      id: 0,
      at: (id: number) => {
        noted.add(id)
        return false
      }
    }
    const run = await load(Planting.plant(program, mutants, "recording"))
    expect(noted.size).toBe(0)
    expect(outcome(run)).toBe(outcome(await load(program)))
    expect(noted.size).toBe(mutants.length)
    noted.clear()
    // Without a second argument and with nothing to compare, the branch for two is not taken.
    run(0, undefined)
    const two = mutants.filter(({ mutant }) => mutant.operator === "statement" && mutant.was.includes("two"))
    expect(two.length).toBe(1)
    expect(noted.has(two[0]!.id)).toBe(false)
  })

  test("edits that cross each other are no program", () => {
    const edit = (start: number, end: number) => ({ kind: "expression" as const, start, end, text: "x" })
    const crossing = { operator: "argument" as const, start: 0, was: "", becomes: "", edits: [edit(0, 3), edit(2, 5)] }
    expect(() => Planting.plant("a + b", [{ id: 1, mutant: crossing }], "switched")).toThrow("ends behind")
  })
})
