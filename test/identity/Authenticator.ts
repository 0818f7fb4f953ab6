/**
 * An authenticator with real keys in software: it answers as a phone or a security key would, with the system's own cryptography, and can
 * alter any part as a forger would.
 */
import { isoCBOR } from "@simplewebauthn/server/helpers"
import { createHash, createSign, generateKeyPairSync, type KeyObject } from "node:crypto"

const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest()
export const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64url")

/** What may differ from an honest authenticator's response. */
export interface Forged {
  readonly type?: string
  readonly origin?: string
  readonly challenge?: string
  readonly client?: Readonly<Record<string, unknown>>
  readonly rpId?: string
  /** User present 1, user verified 4, backup eligible 8, backed up 16, attested data 64. */
  readonly flags?: number
  readonly signCount?: number
  readonly credentialId?: Uint8Array
  readonly userHandle?: string | null
  /** Changes the finished response. */
  readonly response?: (response: any) => any
  /** COSE members by label. */
  readonly cose?: ReadonlyMap<number, number | Uint8Array>
  readonly signature?: (signature: Buffer) => Buffer
}

const coseOf = (key: KeyObject, alg: -7 | -257): Map<number, number | Uint8Array> => {
  const jwk = key.export({ format: "jwk" })
  const bytes = (text: string | undefined): Uint8Array => new Uint8Array(Buffer.from(text!, "base64url"))
  return alg === -7
    ? new Map<number, number | Uint8Array>([[1, 2], [3, -7], [-1, 1], [-2, bytes(jwk.x)], [-3, bytes(jwk.y)]])
    : new Map<number, number | Uint8Array>([[1, 3], [3, -257], [-1, bytes(jwk.n)], [-2, bytes(jwk.e)]])
}

export class Authenticator {
  readonly id: Uint8Array
  private readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
  signCount = 0
  userHandle: string | undefined = undefined

  constructor(private readonly alg: -7 | -257 = -7, modulusLength = 2_048) {
    this.keys = alg === -7
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength })
    this.id = new Uint8Array(sha256(this.keys.publicKey.export({ format: "der", type: "spki" }))).slice(0, 16)
  }

  get credentialId(): string {
    return base64url(this.id)
  }

  private data(rpId: string, flags: number, signCount: number, attested: Uint8Array = new Uint8Array(0)): Buffer {
    const head = Buffer.alloc(5)
    head[0] = flags
    head.writeUInt32BE(signCount, 1)
    return Buffer.concat([sha256(rpId), head, attested])
  }

  private client(type: string, challenge: string, origin: string, forged: Forged): string {
    return base64url(JSON.stringify({
      type: forged.type ?? type,
      challenge: forged.challenge ?? challenge,
      origin: forged.origin ?? origin,
      crossOrigin: false,
      ...forged.client
    }))
  }

  /** Answers a registration request, given as `PublicKeyCredentialCreationOptionsJSON`. */
  register(options: any, origin: string, forged: Forged = {}): any {
    this.userHandle = options.user.id
    const id = forged.credentialId ?? this.id
    const cose = new Map([...coseOf(this.keys.publicKey, this.alg), ...(forged.cose ?? [])])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const attested = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(cose as never)])
    const authData = new Uint8Array(
      this.data(forged.rpId ?? options.rp.id, forged.flags ?? 0x45, forged.signCount ?? this.signCount, attested)
    )
    const attestation = new Map<string, unknown>([["fmt", "none"], ["attStmt", new Map()], ["authData", authData]])
    const response = {
      id: base64url(id),
      rawId: base64url(id),
      type: "public-key",
      response: {
        clientDataJSON: this.client("webauthn.create", options.challenge, origin, forged),
        attestationObject: base64url(isoCBOR.encode(attestation as never)),
        transports: ["internal"]
      },
      clientExtensionResults: {}
    }
    return forged.response === undefined ? response : forged.response(response)
  }

  /** Answers an authentication request, given as `PublicKeyCredentialRequestOptionsJSON`. */
  assert(options: any, origin: string, forged: Forged = {}): any {
    const signCount = forged.signCount ?? ++this.signCount
    const authData = this.data(forged.rpId ?? options.rpId, forged.flags ?? 0x05, signCount)
    const clientDataJSON = this.client("webauthn.get", options.challenge, origin, forged)
    const signer = createSign("sha256").update(authData).update(sha256(Buffer.from(clientDataJSON, "base64url")))
    const signature = signer.sign(this.keys.privateKey)
    const userHandle = forged.userHandle === undefined ? this.userHandle : forged.userHandle
    const response = {
      id: this.credentialId,
      rawId: this.credentialId,
      type: "public-key",
      response: {
        clientDataJSON,
        authenticatorData: base64url(authData),
        signature: base64url(forged.signature === undefined ? signature : forged.signature(signature)),
        ...(userHandle === undefined || userHandle === null ? undefined : { userHandle })
      },
      clientExtensionResults: {}
    }
    return forged.response === undefined ? response : forged.response(response)
  }
}
