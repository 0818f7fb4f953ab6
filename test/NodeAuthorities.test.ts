/** The file of further authorities is refused where Node would go on without it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { ConfigProvider, Effect } from "effect"
import { afterAll, expect, test } from "vitest"
import { check } from "../src/NodeAuthorities.js"
import { inWords } from "../src/SettingTexts.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "authorities-"))
afterAll(() => fs.rmSync(folder, { recursive: true }))

const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(folder, name), text)
  return path.join(folder, name)
}

const said = (value: string): string =>
  Effect.runSync(Effect.withConfigProvider(
    Effect.match(inWords(check), { onFailure: ({ message }) => message, onSuccess: () => "" }),
    ConfigProvider.fromMap(new Map([["NODE_EXTRA_CA_CERTS", value]]))
  ))

test.each([
  ["that is not there", path.join(folder, "nowhere.pem"), "a file of certificates that can be read"],
  ["without a certificate", file("no.pem", "no certificate"), "a file of certificates in PEM"],
  ["with one", "fixtures/tls/test-only.cert.pem", ""],
  ["without a name", "", "NODE_EXTRA_CA_CERTS is empty: it must have a value, or be left out"]
])("a file %s", (_, name, expected) => {
  expect(said(name)).toContain(expected)
  expect(said(name) === "").toBe(expected === "")
})
