/** The pages' colours, light and dark: the contrast of all text with its background meets WCAG 2.2 (AA). */
import * as fs from "node:fs"
import { expect, test } from "vitest"

const sheet = fs.readFileSync("src/console/console.css", "utf8")

/** The custom properties of a `:root` block: the first one, or the one within the media query for the dark scheme. */
const colours = (scheme: "light" | "dark"): ReadonlyMap<string, string> => {
  const from = scheme === "light" ? 0 : sheet.indexOf("prefers-color-scheme: dark")
  const start = sheet.indexOf(":root", from)
  const block = sheet.slice(start, sheet.indexOf("}", start))
  return new Map([...block.matchAll(/--([a-z-]+):\s*(#[0-9a-f]{6});/g)].map(([, name, colour]) => [name!, colour!]))
}

const luminance = (colour: string): number => {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

const contrast = (one: string, other: string): number => {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((left, right) => left - right)
  return (lighter! + 0.05) / (darker! + 0.05)
}

const texts: ReadonlyArray<readonly [text: string, ground: string]> = [
  ...["ink", "soft", "accent", "up", "down"].map((text) => [text, "ground"] as const),
  ["ink", "tint"],
  ["on-accent", "accent"],
  ...["ink", "soft"].flatMap((text) => ["warning-ground", "trouble-ground", "notice-ground"].map((ground) => [text, ground] as const))
]

test.each(["light", "dark"] as const)("every text can be read in the %s", (scheme) => {
  const known = colours(scheme)
  const faint = texts.filter(([text, ground]) => contrast(known.get(text)!, known.get(ground)!) < 4.5)
  expect(faint).toEqual([])
})

test.each(["light", "dark"] as const)("every edge of a field, and of what has the focus, can be seen in the %s", (scheme) => {
  const known = colours(scheme)
  expect(["field", "accent"].filter((edge) => contrast(known.get(edge)!, known.get("ground")!) < 3)).toEqual([])
})

test("black on white is as far apart as it gets", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5)
})
