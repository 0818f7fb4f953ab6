/**
 * A whole venue in memory over a development ledger and a signer that outlive it, on a clock that only the test moves: what an owner
 * with a passkey sees, and what the ledger holds. Faults of the ledger are a script; a crash leaves the disk, the ledger and the
 * signer as they are.
 */
import { createHash } from "node:crypto"
import { Effect, Exit, Layer } from "effect"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import { controls } from "../../src/ledger/development/DevelopmentLedger.js"
import type { Script } from "../../src/ledger/development/Faults.js"
import { setting } from "../../src/ledger/development/Setting.js"
import * as Signer from "../../src/signer/Signer.js"
import * as SimLedger from "../../sim/world/SimLedger.js"
import { VenueOver } from "../edge/VenueOver.js"
import { Authenticator } from "../identity/Authenticator.js"
import { MemoryStore } from "../signer/MemoryStore.js"

export const origin = "http://localhost:8080"

/** Chance that is the same in every run. */
const chance = (name: string): { readonly bytes: (count: number) => Uint8Array } => {
  let drawn = 0
  return { bytes: (count) => new Uint8Array(createHash("shake256", { outputLength: count }).update(`${name} ${drawn++}`).digest()) }
}

const custody = {
  environment: "development",
  userId: "perpetuum",
  synchronizerId: setting.synchronizerId,
  custodyPackageId: setting.custodyPackageId,
  token: setting.token
}

interface Told {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every route, whose shape is the test's matter
  readonly json: any
}

export class Bank {
  private readonly disk = memoryDisk()
  private readonly ledger = SimLedger.make(chance("ledger"))
  private readonly keys = new MemoryStore()
  private readonly random = chance("venue")
  venue: VenueOver

  private constructor(nowMs = 1_767_225_600_000) {
    this.venue = this.over(nowMs)
  }

  private over(nowMs: number): VenueOver {
    const signer = Signer.layer({
      custody,
      site: { publicOrigin: origin, rpId: "localhost" },
      limits: { perWithdrawalAtoms: 1_000_000_000_000, dailyAtoms: 10_000_000_000_000 }
    }).pipe(Layer.provide(Layer.merge(this.keys.layer, NodePasskeyVerifier.layer)), Layer.orDie)
    const money = Layer.merge(this.ledger.layer, signer)
    return new VenueOver(this.disk.layer, { ledger: custody, funds: { reconcileMs: 0 } }, nowMs, undefined, { money, random: this.random })
  }

  static async open(): Promise<Bank> {
    const bank = new Bank()
    await bank.started()
    return bank
  }

  private async started(): Promise<void> {
    const exit = await this.venue.started
    if (Exit.isFailure(exit)) throw new Error(`the venue did not start: ${String(exit.cause)}`)
    await this.venue.settle()
  }

  /** Stops the venue, and starts another over what is left of it. */
  async restart(): Promise<void> {
    await this.venue.stop()
    this.venue = this.over(this.venue.epochMs)
    await this.started()
  }

  /** What befalls the ledger from here on. */
  async script(script: Script): Promise<void> {
    await Effect.runPromise(this.ledger.transport({ method: "POST", path: controls.script, body: script }))
  }

  async give(party: string, amountAtoms: number): Promise<void> {
    await Effect.runPromise(this.ledger.transport({ method: "POST", path: controls.faucet, body: { party, amountAtoms } }))
  }
}

export class Owner {
  accountId = ""
  token = ""

  constructor(readonly bank: Bank, readonly authenticator = new Authenticator()) {}

  async ask(method: string, target: string, body?: unknown, idempotencyKey?: string): Promise<Told> {
    let told: Told | undefined
    const answer = this.bank.venue.ask(method, target.replace("{account}", this.accountId), {
      key: this.token,
      ...(body === undefined ? {} : { body }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey })
    })
    void answer.then((got) => {
      told = got
    })
    // What is asked of the ledger may take its time.
    for (let waited = 0; told === undefined && waited < 60_000; waited += 1_000) {
      await this.bank.venue.settle()
      if (told === undefined) await this.bank.venue.pass(1_000)
    }
    return told ?? answer
  }

  async must(method: string, target: string, body?: unknown): Promise<any> {
    const { json, status } = await this.ask(method, target, body)
    if (status !== 200 && status !== 204) throw new Error(`${method} ${target}: ${status} ${JSON.stringify(json)}`)
    return json
  }

  static async open(bank: Bank): Promise<Owner> {
    const owner = new Owner(bank)
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", {})
    const { accessToken, accountId } = await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: owner.authenticator.register(begun.options, origin)
    })
    owner.token = accessToken
    owner.accountId = accountId
    return owner
  }

  /** What a passkey answers to a challenge. */
  factor(challenge: { readonly challenge: string; readonly rpId: string }, authenticator = this.authenticator): object {
    const { id, response } = authenticator.assert(challenge, origin)
    const { authenticatorData, clientDataJSON: clientData, signature } = response
    return { kind: "Fido2", credentialAssertion: { credId: id, clientData, signature, authenticatorData } }
  }
}
