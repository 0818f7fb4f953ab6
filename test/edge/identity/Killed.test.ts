/**
 * The real process, killed: whoever was signed in is, what an owner has approved can be fetched, what was revoked stays revoked.
 * And whatever a run leaves behind (journal, snapshots, log) holds no credential of anybody's.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { bundled, VenueProcess } from "../../../scripts/load/VenueProcess.js"
import { Authenticator } from "../../identity/Authenticator.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-identity-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

const origin = "http://localhost:8080"
const verifier = "only-the-agent-knows-this-verifier-and-tells-it-once"
const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

interface Told {
  readonly status: number
  readonly body: any
}

/** Everything that was shown to somebody alone, to be looked for afterwards. */
const secrets: Array<string> = [verifier]

const asker = (venue: VenueProcess) => async (method: string, target: string, token = "", body?: object): Promise<Told> => {
  const response = await fetch(`http://127.0.0.1:${venue.port}${target}`, {
    method,
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
}

type Ask = ReturnType<typeof asker>

const must = async (told: Promise<Told>): Promise<any> => {
  const { body, status } = await told
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

const auth = "/v1/auth/passkeys"

const connect = async (ask: Ask, accountId: string, token: string): Promise<string> => {
  const scopes = ["read"]
  const asked = { clientName: "agent", scopes, keyLifetimeSeconds: 3_600, codeChallenge }
  const { deviceCode, userCode } = await must(ask("POST", "/v1/agent-connect", "", asked))
  await must(ask("POST", `/v1/accounts/${accountId}/agent-connect/approve`, token, { userCode, scopes }))
  secrets.push(deviceCode)
  return deviceCode
}

const fetchKey = (ask: Ask, deviceCode: string): Promise<Told> =>
  ask("POST", "/v1/agent-connect/exchange", "", { deviceCode, codeVerifier: verifier })

/** Every byte that the venue left in its folder, but for what its owner alone reads there. */
const leftBehind = (folder: string): Buffer =>
  Buffer.concat(
    fs.readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => path.join(folder, name))
      .filter((file) => fs.statSync(file).isFile() && !/(?:signer-secret|operator-token)$/.test(file))
      .map((file) => fs.readFileSync(file))
  )

test("sessions, approvals and revocations outlive a kill, and no credential is left anywhere", async () => {
  let venue = await VenueProcess.start(directory, { PUBLIC_ORIGIN: origin }, bundled)
  let ask = asker(venue)
  const authenticator = new Authenticator()
  const begun = await must(ask("POST", `${auth}/registration/options`, "", { displayName: "laptop" }))
  const { accessToken, accountId } = await must(ask("POST", `${auth}/registration/verify`, "", {
    challengeIdentifier: begun.challengeIdentifier,
    credential: authenticator.register(begun.options, origin)
  }))
  secrets.push(accessToken)
  const revokedCode = await connect(ask, accountId, accessToken)
  const { apiKey, key } = await must(fetchKey(ask, revokedCode))
  secrets.push(apiKey)
  await must(ask("DELETE", `/v1/accounts/${accountId}/api-keys/${key.keyId}`, accessToken))
  const approved = await connect(ask, accountId, accessToken)
  let { output } = venue
  await venue.kill()

  venue = await VenueProcess.start(directory, { PUBLIC_ORIGIN: origin }, bundled)
  ask = asker(venue)
  expect((await ask("GET", "/v1/auth/sessions/current", accessToken)).body).toMatchObject({ accountId })
  expect((await ask("GET", "/v1/api-keys/current", apiKey)).body).toMatchObject({ apiKeyRejection: "revoked" })
  const fetched = await must(fetchKey(ask, approved))
  secrets.push(fetched.apiKey)
  expect((await ask("GET", "/v1/api-keys/current", fetched.apiKey)).body).toMatchObject({ key: { accountId, scopes: ["read"] } })
  expect((await fetchKey(ask, approved)).body).toMatchObject({ code: "grant_expired" })
  const { challengeIdentifier, options } = await must(ask("POST", `${auth}/authentication/options`, "", { accountId }))
  const credential = authenticator.assert(options, origin)
  secrets.push((await must(ask("POST", `${auth}/authentication/verify`, "", { challengeIdentifier, credential }))).accessToken)
  expect(await venue.stop()).toBe(0)
  output += venue.output

  const bytes = leftBehind(directory)
  expect(bytes.includes(accountId) || bytes.includes(authenticator.credentialId)).toBe(true)
  for (const secret of secrets) {
    // The part that is secret, whatever stands before it.
    const part = secret.slice(-43)
    expect(bytes.includes(part)).toBe(false)
    expect(output).not.toContain(part)
  }
}, 60_000)
