/** What may not be read in a log, however it came there. That a process logs lines of JSON is told by `Running.test.ts`. */
import { expect, test } from "vitest"
import { withoutCredentials } from "../../src/observe/NodeLog.js"

const secret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF"

test.each([
  ["an API key", `key pk_dev_k1_${secret} was sent`, "key [hidden] was sent"],
  ["a session", `(ses_${secret})`, "([hidden])"],
  ["a device code", `dvc_${secret}`, "[hidden]"],
  ["a ticket, or a secret that the venue made", secret, "[hidden]"],
  ["a token that a platform signed", "workloadToken: eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtYWtlciJ9.c2ln, read",
    "workloadToken: [hidden], read"],
  ["one without a signature", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtYWtlciJ9.", "[hidden]"],
  ["whatever a bearer is", "authorization: Bearer operator,", "authorization: [hidden],"],
  ["a secret of the settings", "OPERATOR_TOKEN=a token with spaces!", "OPERATOR_TOKEN=[hidden]!"]
])("%s is hidden", (_, text, told) => {
  expect(withoutCredentials(text, { OPERATOR_TOKEN: "a token with spaces", SIGNER_SECRET: "", LEDGER_TOKEN: undefined })).toBe(told)
})

test("request ids, account ids and digests are told", () => {
  const text = `req_00112233445566778899aabb of acc_1s at ${"0123456789abcdef".repeat(4)}`
  expect(withoutCredentials(text, {})).toBe(text)
})
