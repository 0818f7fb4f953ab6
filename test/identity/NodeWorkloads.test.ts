/** The workload platform's settings, from files, URLs and lists; a wrong one is refused by its name. */
import { Effect, Exit } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import * as NodeWorkloads from "../../src/identity/NodeWorkloads.js"
import { WorkloadIdentity } from "../../src/identity/WorkloadIdentity.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "workloads-"))
afterAll(() => fs.rmSync(folder, { recursive: true }))

const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(folder, name), text)
  return path.join(folder, name)
}

const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
const jwks = file("jwks.json", JSON.stringify({ keys: [{ ...await exportJWK(publicKey), alg: "ES256", kid: "one" }] }))
const setting = { jwks, issuer: "https://platform.example", audience: "perpetuum", accounts: "maker-1=acc_1s" }

const verifying = (change: Partial<typeof setting>) =>
  Effect.runPromiseExit(Effect.provide(WorkloadIdentity, NodeWorkloads.layer({ ...setting, ...change })))

test.each([
  ["a list with one account of two", "maker-1=acc_1s,maker-0=acc_1s,spiffe://platform.example/ns=a/maker-2=acc_2k"],
  ["a list", "maker-1=acc_1s, spiffe://platform.example/ns=a/maker-2=acc_2k"],
  ["a file with = in its name",
    file("of=makers.json", JSON.stringify({ "maker-1": "acc_1s", "spiffe://platform.example/ns=a/maker-2": "acc_2k" }))],
  ["a file", file("accounts.json", JSON.stringify({ "maker-1": "acc_1s", "spiffe://platform.example/ns=a/maker-2": "acc_2k" }))]
])("accounts are bound by %s", async (_, accounts) => {
  const exit = await verifying({ accounts })
  if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
  for (const [subject, accountId] of [["maker-1", "acc_1s"], ["spiffe://platform.example/ns=a/maker-2", "acc_2k"]] as const) {
    const token = await new SignJWT({ iss: setting.issuer, aud: setting.audience, sub: subject, exp: 1_000 })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .sign(privateKey)
    expect(await Effect.runPromise(exit.value.verify(token, 999_000))).toEqual({ subject, accountId })
  }
})

test.each([
  ["WORKLOAD_JWKS", { jwks: path.join(folder, "nowhere.json") }],
  ["WORKLOAD_JWKS", { jwks: file("empty.json", `{"keys":[]}`) }],
  ["WORKLOAD_JWKS", { jwks: "http://platform.example/jwks" }],
  ["without a user and a password", { jwks: "https://u:hunter2@platform.example/jwks" }],
  ["without a user and a password", { jwks: "http://u@127.0.0.1:9000/jwks" }],
  ["WORKLOAD_ACCOUNTS", { accounts: "maker-1=acc_1s,maker-2" }],
  ["WORKLOAD_ACCOUNTS", { accounts: path.join(folder, "nowhere.json") }],
  ["WORKLOAD_ACCOUNTS", { accounts: file("odd.json", `{"maker-1":"somebody"}`) }],
  ["gives the subject maker-1 more than once", { accounts: "maker-1=acc_1s,maker-2=acc_2k, maker-1=acc_2k" }],
  ["gives the subject s:\"1 more than once", {
    accounts: file("twice.json", `{"s:\\"1": "acc_1s", "t": "acc_1s", "s:\\u00221" :"acc_2k"}`)
  }],
  ["gives the subject s more than once", { accounts: file("odd-twice.json", `{"s": {"t": ["s"]}, "s": "acc_2k"}`) }]
])("%s is refused: %j", async (name, change) => {
  const exit = await verifying(change)
  expect(Exit.isFailure(exit) && String(exit.cause)).toContain(name)
})

test("a wrong pair is refused with what a pair is, and is not taken for a file", async () => {
  const exit = await verifying({ accounts: "s=zzz" })
  expect(Exit.isFailure(exit) && String(exit.cause)).toContain("must be a list of subject=acc_..., parted by commas, or a JSON file")
})

test.each(["https://platform.example/jwks", "http://127.0.0.1:9000/jwks", "http://localhost/jwks"])("%s may have the keys", async (url) => {
  expect(Exit.isSuccess(await verifying({ jwks: url }))).toBe(true)
})
