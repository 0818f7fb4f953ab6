/**
 * Responses of authenticators that are malformed, forged, replayed or somebody else's: each is refused with a 4xx in the native envelope
 * (which `ask` decodes), none with 500, and none leaves an account, a session or a passkey behind.
 */
import { isoCBOR } from "@simplewebauthn/server/helpers"
import { beforeAll, describe, expect, test } from "vitest"
import { Authenticator, base64url, type Forged } from "../../identity/Authenticator.js"
import { LiveVenue } from "../LiveVenue.js"
import { ask, creation, type Options, origin, Owner, proof, register, type Told, verify } from "./Owner.js"

interface Row {
  readonly why: string
  readonly forged: Forged
}

const changed = (change: (response: any) => void) => (response: any): any => {
  const copy = structuredClone(response)
  change(copy)
  return copy
}
const inner = (change: (response: any) => void): Forged => ({ response: changed(({ response }) => change(response)) })
const outer = (change: (response: any) => void): Forged => ({ response: changed(change) })
const text = (value: unknown): string => base64url(JSON.stringify(value))
/** The bytes of a text with one bit flipped. */
const turned = (value: string, at: number): string => {
  const bytes = Buffer.from(value, "base64url")
  bytes[at < 0 ? bytes.length + at : at]! ^= 1
  return base64url(bytes)
}

/** Errors that either response may have. */
const either: ReadonlyArray<Row> = [
  { why: "another origin", forged: { origin: "https://evil.example" } },
  { why: "the origin on another port", forged: { origin: "http://localhost:8081" } },
  { why: "the origin over another scheme", forged: { origin: "https://localhost:8080" } },
  { why: "a longer domain", forged: { origin: "http://localhost:8080.evil.example" } },
  { why: "another site's key store", forged: { rpId: "evil.example" } },
  { why: "no user present", forged: { flags: 0x44 } },
  { why: "no user verified", forged: { flags: 0x41 } },
  { why: "another challenge", forged: { challenge: base64url("somebody else's challenge") } },
  { why: "an empty challenge", forged: { challenge: "" } },
  { why: "a page inside another's", forged: { client: { crossOrigin: true } } },
  { why: "a page that may be inside another's", forged: { client: { crossOrigin: "no" } } },
  { why: "a page below another origin", forged: { client: { topOrigin: "https://evil.example" } } },
  { why: "a page below its own origin, said", forged: { client: { topOrigin: "http://localhost:8080" } } },
  { why: "no type", forged: outer((response) => delete response.type) },
  { why: "another type", forged: outer((response) => (response.type = "password")) },
  { why: "no id", forged: outer((response) => delete response.id) },
  { why: "an empty id", forged: outer((response) => (response.id = response.rawId = "")) },
  { why: "an id that is no base64url", forged: outer((response) => (response.id = response.rawId = "+++/==")) },
  { why: "an id with bits to spare", forged: outer((response) => (response.id = response.rawId = `${response.id.slice(0, -1)}B`)) },
  { why: "two ids", forged: outer((response) => (response.rawId = turned(response.rawId, 0))) },
  { why: "an id that is a number", forged: outer((response) => (response.id = 7)) },
  { why: "an id of 1,024 bytes", forged: outer((response) => (response.id = response.rawId = base64url(Buffer.alloc(1_024, 3)))) },
  { why: "an unknown member", forged: outer((response) => (response.extra = 1)) },
  { why: "no response", forged: outer((response) => delete response.response) },
  { why: "a response that is a list", forged: outer((response) => (response.response = [])) },
  { why: "no extension results", forged: outer((response) => delete response.clientExtensionResults) },
  { why: "no client data", forged: inner((response) => delete response.clientDataJSON) },
  { why: "client data that is no JSON", forged: inner((response) => (response.clientDataJSON = base64url("{"))) },
  { why: "client data that is a list", forged: inner((response) => (response.clientDataJSON = text([]))) },
  { why: "client data that is null", forged: inner((response) => (response.clientDataJSON = text(null))) },
  { why: "client data that is no UTF-8", forged: inner((response) => (response.clientDataJSON = base64url(Buffer.from([0xff, 0xfe])))) },
  { why: "client data of 40,000 characters", forged: inner((response) => (response.clientDataJSON = "A".repeat(40_000))) },
  { why: "client data without an origin", forged: { client: { origin: undefined } } }
]

const registrations: ReadonlyArray<Row> = [
  ...either,
  { why: "the type of an assertion", forged: { type: "webauthn.get" } },
  { why: "no attestation", forged: inner((response) => delete response.attestationObject) },
  { why: "an attestation that is no CBOR", forged: inner((response) => (response.attestationObject = base64url("nonsense"))) },
  {
    why: "an attestation that is cut off",
    forged: inner((response) => (response.attestationObject = response.attestationObject.slice(0, 90)))
  },
  {
    why: "an attestation that is a number",
    forged: inner((response) => (response.attestationObject = base64url(isoCBOR.encode(7 as never))))
  },
  { why: "an attestation of an unknown format", forged: inner((response) => (response.attestationObject = format(response, "made-up"))) },
  {
    why: "a signed attestation without a signature",
    forged: inner((response) => (response.attestationObject = format(response, "packed")))
  },
  { why: "no attested data", forged: { flags: 0x05 } },
  {
    why: "a credential id other than its own",
    forged: outer((response) => (response.id = response.rawId = base64url(Buffer.alloc(16, 9))))
  },
  { why: "a credential id of 1,024 bytes, attested", forged: { credentialId: new Uint8Array(1_024).fill(5) } },
  { why: "a point off its curve", forged: { cose: new Map([[-3, new Uint8Array(32).fill(1)]]) } },
  { why: "a point at nothing", forged: { cose: new Map([[-2, new Uint8Array(32)], [-3, new Uint8Array(32)]]) } },
  { why: "a coordinate of 31 bytes", forged: { cose: new Map([[-2, new Uint8Array(31).fill(2)]]) } },
  { why: "another curve", forged: { cose: new Map([[-1, 2]]) } },
  { why: "an algorithm that was not asked for", forged: { cose: new Map([[3, -8]]) } },
  {
    why: "an attestation by certificates",
    forged: inner((response) => (response.attestationObject = format(response, "packed", ["x5c"])))
  },
  {
    why: "an attestation of a phone's maker",
    forged: inner((response) => (response.attestationObject = format(response, "android-safetynet")))
  },
  {
    why: "a statement where none was asked for",
    forged: inner((response) => (response.attestationObject = format(response, "none", ["sig"])))
  },
  { why: "a kind of key that was not asked for", forged: { cose: new Map([[1, 1]]) } },
  { why: "transports that are none", forged: inner((response) => (response.transports = ["<script>"])) },
  { why: "a hundred transports", forged: inner((response) => (response.transports = new Array(100).fill("usb"))) }
]

/** The same attestation in another format, with members in its statement. */
const format = (response: any, fmt: string, members: ReadonlyArray<string> = []): string => {
  const map = isoCBOR.decodeFirst<Map<string, unknown>>(new Uint8Array(Buffer.from(response.attestationObject, "base64url")))
  map.set("fmt", fmt)
  map.set("attStmt", new Map(members.map((name) => [name, new Uint8Array(8)])))
  return base64url(isoCBOR.encode(map as never))
}

const assertions: ReadonlyArray<Row> = [
  ...either,
  { why: "the type of a registration", forged: { type: "webauthn.create" } },
  { why: "no signature", forged: inner((response) => delete response.signature) },
  { why: "an empty signature", forged: inner((response) => (response.signature = "")) },
  { why: "a bit of the signature", forged: { signature: (signature) => Buffer.from(turned(base64url(signature), 20), "base64url") } },
  { why: "a signature that is cut off", forged: { signature: (signature) => signature.subarray(0, -1) } },
  { why: "a signature that is zeros", forged: { signature: (signature) => Buffer.alloc(signature.length) } },
  { why: "a signature that is no base64url", forged: inner((response) => (response.signature = "MEU=")) },
  { why: "no authenticator data", forged: inner((response) => delete response.authenticatorData) },
  {
    why: "authenticator data that is cut off",
    forged: inner((response) => (response.authenticatorData = response.authenticatorData.slice(0, 40)))
  },
  {
    why: "a bit of the authenticator data",
    forged: inner((response) => (response.authenticatorData = turned(response.authenticatorData, -1)))
  },
  { why: "authenticator data with more behind it", forged: inner((response) => (response.authenticatorData += "AAAA")) },
  { why: "flags of attested data without any", forged: { flags: 0x45 } },
  { why: "flags of extensions without any", forged: { flags: 0x85 } },
  { why: "no user handle, where no account was named", forged: { userHandle: null } },
  { why: "another user's handle", forged: { userHandle: base64url("somebody else") } },
  { why: "a user handle that is a number", forged: inner((response) => (response.userHandle = 7)) },
  { why: "a counter that goes back", forged: { signCount: 1 } },
  { why: "a counter that stands still", forged: { signCount: 5 } },
  { why: "a counter that is nothing any more", forged: { signCount: 0 } }
]

const refused = (told: Told, codes: ReadonlyArray<string>): void => {
  expect(told.status).toBeGreaterThanOrEqual(400)
  expect(told.status).toBeLessThan(500)
  expect(codes).toContain(told.body.code)
}

/** Its own key is replaced by others. */
const rsa = new Authenticator(-257)

describe("a registration with", () => {
  test.each(registrations.map((row) => [row.why, row] as const))("%s is refused, and opens nothing", async (_, { forged }) => {
    const venue = LiveVenue.make()
    const { challengeIdentifier, options } = await creation(venue)
    const accounts = venue.engine.occupancy.accounts
    refused(await register(venue, challengeIdentifier, new Authenticator().register(options, origin, forged)), ["invalid_request"])
    expect(venue.engine.occupancy.accounts).toBe(accounts)
    expect(venue.engine.state.identity.sessions.count).toBe(0)
  })

  test.each([1_024, 1_536])("an RSA key of %i bits is refused", async (modulusLength) => {
    const venue = LiveVenue.make()
    const { challengeIdentifier, options } = await creation(venue)
    refused(await register(venue, challengeIdentifier, new Authenticator(-257, modulusLength).register(options, origin)), [
      "invalid_request"
    ])
  })

  /** An odd number of so many bytes, as long as that. */
  const modulusOf = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(0xa5)
  test.each([
    ["of 4,096 bits", modulusOf(512), [1, 0, 1], 200],
    ["of 4,104 bits", modulusOf(513), [1, 0, 1], 400],
    ["with the exponent 3", modulusOf(256), [3], 200],
    ["with the exponent 1, by which everything is its own signature", modulusOf(256), [1], 400],
    ["with an even exponent", modulusOf(256), [1, 0, 0], 400],
    ["with an exponent of four bytes", modulusOf(256), [1, 0, 0, 1], 200],
    ["with an exponent of five bytes", modulusOf(256), [1, 0, 0, 0, 1], 400]
  ])("an RSA key %s is registered or refused", async (_, n, e, status) => {
    const venue = LiveVenue.make()
    const { challengeIdentifier, options } = await creation(venue)
    const cose = new Map([[-1, n], [-2, new Uint8Array(e)]])
    const told = await register(venue, challengeIdentifier, rsa.register(options, origin, { cose }))
    expect(told.status).toBe(status)
  })
})

describe("an assertion with", () => {
  let venue: LiveVenue
  let owner: Owner
  beforeAll(async () => {
    venue = LiveVenue.make()
    owner = await Owner.open(venue)
    owner.authenticator.signCount = 4
    await owner.signIn()
  })

  test.each(assertions.map((row) => [row.why, row] as const))("%s is refused, and signs nobody in", async (_, { forged }) => {
    const sessions = venue.engine.state.identity.sessions.total
    // So that no row is refused for a signature counter that an earlier row has used.
    owner.authenticator.signCount = venue.engine.findPasskey(owner.authenticator.credentialId)!.signCount
    refused(await owner.signIn(forged), ["passkey_assertion_invalid", "invalid_request"])
    expect(venue.engine.state.identity.sessions.total).toBe(sessions)
  })
})

describe("a challenge", () => {
  test("makes room for another one of its address alone, the oldest of sixty-four first", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const from = async (remoteAddress: string) => {
      const told = await ask(venue, { target: "/v1/auth/passkeys/authentication/options", body: {}, remoteAddress })
      expect(told.status).toBe(200)
      return told.body as Options
    }
    const answer = ({ challengeIdentifier, options }: Options) =>
      verify(venue, challengeIdentifier, owner.authenticator.assert(options, origin))
    const others = await from("192.0.2.1")
    const [first, second] = [await from("192.0.2.2"), await from("192.0.2.2")]
    for (let open = 3; open <= 65; open++) await from("192.0.2.2")
    refused(await answer(first), ["passkey_assertion_invalid"])
    expect((await answer(second)).status).toBe(200)
    expect((await answer(others)).status).toBe(200)
    // An answered challenge is closed, and does not count against the limit.
    const next = await from("192.0.2.2")
    await from("192.0.2.2")
    expect((await answer(next)).status).toBe(200)
  })

  test("is answered once: the same response again is refused, also at the same time", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const { challengeIdentifier, options } = await proof(venue)
    const response = owner.authenticator.assert(options, origin)
    const told = await Promise.all([1, 2, 3].map(() => verify(venue, challengeIdentifier, response)))
    expect(told.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    refused(await verify(venue, challengeIdentifier, response), ["passkey_assertion_invalid"])
  })

  test("is consumed by a failed attempt", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const { challengeIdentifier, options } = await proof(venue)
    refused(await verify(venue, challengeIdentifier, owner.authenticator.assert(options, origin, { flags: 0x01 })), [
      "passkey_assertion_invalid"
    ])
    refused(await verify(venue, challengeIdentifier, owner.authenticator.assert(options, origin)), ["passkey_assertion_invalid"])
  })

  test("of a registration is consumed likewise, and good for no other ceremony", async () => {
    const venue = LiveVenue.make()
    const begun = await creation(venue)
    const authenticator = new Authenticator()
    refused(await register(venue, begun.challengeIdentifier, authenticator.register(begun.options, origin, { flags: 0x41 })), [
      "invalid_request"
    ])
    refused(await register(venue, begun.challengeIdentifier, authenticator.register(begun.options, origin)), ["invalid_request"])
    const asked = await proof(venue)
    refused(await register(venue, asked.challengeIdentifier, authenticator.register({ ...begun.options, ...asked.options }, origin)), [
      "invalid_request"
    ])
  })

  test("is over after five minutes", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const [one, other] = [await proof(venue), await proof(venue)]
    venue.atEpochMs += 5 * 60_000 - 1
    expect((await verify(venue, one.challengeIdentifier, owner.authenticator.assert(one.options, origin))).status).toBe(200)
    venue.atEpochMs += 1
    refused(await verify(venue, other.challengeIdentifier, owner.authenticator.assert(other.options, origin)), [
      "passkey_assertion_invalid"
    ])
  })

  test("is over where the clock was set back behind its beginning: it would be good for longer", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const { challengeIdentifier, options } = await proof(venue)
    venue.atEpochMs -= 1
    refused(await verify(venue, challengeIdentifier, owner.authenticator.assert(options, origin)), ["passkey_assertion_invalid"])
  })

  test("of one account is answered by no other's passkey", async () => {
    const venue = LiveVenue.make()
    const [one, other] = [await Owner.open(venue), await Owner.open(venue)]
    const asked = await proof(venue, { accountId: one.accountId })
    refused(await verify(venue, asked.challengeIdentifier, other.authenticator.assert(asked.options, origin)), [
      "passkey_assertion_invalid"
    ])
  })

  test("that nobody asked is none", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const { options } = await proof(venue)
    const answer = (challengeIdentifier: unknown) =>
      ask(venue, {
        target: "/v1/auth/passkeys/authentication/verify",
        body: { challengeIdentifier, credential: owner.authenticator.assert(options, origin) }
      })
    for (const identifier of ["chl_x", "", 7, null, "__proto__", "x".repeat(129)]) {
      refused(await answer(identifier), ["passkey_assertion_invalid", "invalid_request"])
    }
  })
})

test("what an authenticator puts beside its key is not kept", async () => {
  const venue = LiveVenue.make()
  const { challengeIdentifier, options } = await creation(venue)
  const authenticator = new Authenticator()
  const told = await register(venue, challengeIdentifier,
    authenticator.register(options, origin, { cose: new Map([[99, new Uint8Array(20_000)]]) }))
  expect(told.status).toBe(200)
  expect(venue.engine.findPasskey(authenticator.credentialId)!.publicKey.length).toBeLessThan(120)
})

test("a passkey that is known already opens no second account, whoever's it is", async () => {
  const venue = LiveVenue.make()
  const owner = await Owner.open(venue)
  const { challengeIdentifier, options } = await creation(venue)
  const told = await register(venue, challengeIdentifier, owner.authenticator.register(options, origin))
  expect(told).toMatchObject({ status: 400, body: { code: "invalid_request", rejectionGuard: "passkey_known" } })
})

test("there are at least sixty of these", () => {
  expect(registrations.length + assertions.length).toBeGreaterThanOrEqual(60)
})
