/**
 * The real process, killed: sessions survive, an owner's approved grant can be fetched, and what was revoked stays revoked. Whatever a run
 * leaves behind (journal, snapshots, log) holds nobody's credential.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { StreamConnection } from "../../../scripts/load/StreamConnection.js"
import { VenueProcess } from "../../../scripts/load/VenueProcess.js"
import * as Bundle from "../../../src/cli/bundle/Bundle.js"
import * as Tool from "../../cli/Tool.js"
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

/** Every credential that was shown to one party alone; nothing left behind may contain one. */
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

/** Sends a credential where it does not belong, as clients do by mistake and attackers on purpose; returns the answers. */
const misused = async (venue: VenueProcess, credential: string): Promise<ReadonlyArray<string>> => {
  const url = `http://127.0.0.1:${venue.port}`
  const bearer = { authorization: `Bearer ${credential}` }
  const json = { "content-type": "application/json" }
  const tries: ReadonlyArray<readonly [string, RequestInit]> = [
    [`/v1/accounts/${credential}/balance`, {}],
    [`/v1/accounts/${credential}/balance`, { headers: bearer }],
    [`/nowhere/${credential}`, { headers: bearer }],
    [`/v1/markets?cursor=${credential}&apiKey=${credential}`, {}],
    ["/v1/api-keys/current", { headers: { authorization: `Bearer ${credential}0` } }],
    ["/v1/api-keys/current", { headers: { authorization: `Basic ${credential}` } }],
    ["/v1/realtime/ticket", { method: "PUT", headers: json, body: JSON.stringify({ ticket: credential }) }],
    ["/v1/realtime/ticket", { method: "POST", headers: { ...json, ...bearer }, body: JSON.stringify({ scopes: [credential] }) }],
    ["/v1/agent-connect", { method: "POST", headers: json, body: `{"clientName":"${credential}"` }],
    ["/v1/agent-connect/exchange", {
      method: "POST",
      headers: json,
      body: JSON.stringify({ deviceCode: credential, codeVerifier: credential })
    }]
  ]
  const answers: Array<string> = []
  for (const [target, init] of tries) {
    const response = await fetch(`${url}${target}`, init)
    answers.push([...response.headers].join("\n") + await response.text())
  }
  const came = await misusedOverStream(venue, credential)
  expect(came.length).toBeGreaterThanOrEqual(2)
  return [...answers, ...came]
}

/** The same over a stream, as a ticket and in a malformed frame; returns what was received. */
const misusedOverStream = (venue: VenueProcess, credential: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve) => {
    const came: Array<string> = []
    // Each frame is sent after the answer to the previous one; the venue greets first.
    const frames = [JSON.stringify({ op: "auth", id: "1", ticket: credential }), `{"op":"${credential}"`]
    const connection = new StreamConnection(venue.port, {
      text: (text) => {
        came.push(text.toString())
        const frame = frames[came.length - 1]
        if (frame === undefined) connection.close()
        else connection.send(frame)
      },
      ended: () => resolve(came)
    })
  })

/** The content of a bundle of the journal, decompressed. */
const bundleOf = async (folder: string): Promise<Buffer> => {
  const file = path.join(os.tmpdir(), `${path.basename(folder)}.bundle`)
  try {
    const made = await Tool.run("dist/tools/venue.js", ["bundle", "--data", folder, "--out", file])
    if (made.code !== 0) throw new Error(made.stderr)
    const { base, blocks, manifest } = Bundle.read(fs.readFileSync(file))
    return Buffer.concat([Buffer.from(JSON.stringify(manifest)), ...(base?.sections ?? []).map(({ bytes }) => bytes),
      ...blocks.map(({ bytes }) => bytes)])
  } finally {
    fs.rmSync(file, { force: true })
  }
}

/** Every byte that the venue left in its folder, except in the files that only its owner can read. */
const leftBehind = (folder: string): Buffer =>
  Buffer.concat(
    fs.readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => path.join(folder, name))
      .filter((file) => fs.statSync(file).isFile() && !/(?:signer-secret|operator-token)$/.test(file))
      .map((file) => fs.readFileSync(file))
  )

test("sessions, approvals and revocations outlive a kill, and no credential is left anywhere", async () => {
  let venue = await VenueProcess.start(directory, { PUBLIC_ORIGIN: origin })
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

  venue = await VenueProcess.start(directory, { PUBLIC_ORIGIN: origin })
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
  // A trader's key and its tickets, and the operator's token.
  const [demo] = await venue.demoAccounts(1)
  const { ticket } = await must(ask("POST", "/v1/realtime/ticket", demo!.apiKey, { scopes: ["read", "trade"] }))
  const { ticket: rotated } = await must(ask("PUT", "/v1/realtime/ticket", "", { ticket }))
  const operatorToken = fs.readFileSync(path.join(directory, "operator-token"), "utf8").trim()
  secrets.push(demo!.apiKey, ticket, rotated, operatorToken)
  const answers: Array<string> = []
  for (const secret of [apiKey, accessToken, demo!.apiKey, rotated, operatorToken]) answers.push(...await misused(venue, secret))
  const own = `/v1/accounts/${accountId}`
  for (const target of ["/metrics", "/readyz", `${own}/security-events`, `${own}/api-keys`, `${own}/passkeys`]) {
    const response = await fetch(`http://127.0.0.1:${venue.port}${target}`, { headers: { authorization: `Bearer ${accessToken}` } })
    expect([target, response.status]).toEqual([target, 200])
    answers.push(await response.text())
  }
  expect(await venue.stop()).toBe(0)
  output += venue.output

  const audited = await Tool.run("dist/tools/venue.js", ["audit", "--data", directory])
  expect([audited.code, audited.stdout.includes(accountId)]).toEqual([0, true])
  answers.push(audited.stdout)

  const bytes = Buffer.concat([leftBehind(directory), await bundleOf(directory)])
  expect(bytes.includes(accountId) || bytes.includes(authenticator.credentialId)).toBe(true)
  for (const secret of secrets) {
    // The secret part, without its prefix.
    const part = secret.slice(-43)
    expect(bytes.includes(part)).toBe(false)
    expect(output).not.toContain(part)
    expect(answers.filter((answer) => answer.includes(part))).toEqual([])
  }
})
