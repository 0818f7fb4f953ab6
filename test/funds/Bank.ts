/**
 * A whole venue in memory over a development ledger and a signer that outlive it, on a clock that only the test moves: what an owner
 * with a passkey sees, and what the ledger holds. Faults of the ledger are a script; a crash leaves the disk, the ledger and the
 * signer as they are.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Exit, Layer } from "effect"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import * as Driver from "../../src/funds/Driver.js"
import { controls } from "../../src/ledger/development/DevelopmentLedger.js"
import type { Script } from "../../src/ledger/development/Faults.js"
import { Faucet, faucet } from "../../src/ledger/development/Faucet.js"
import { setting } from "../../src/ledger/development/Setting.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { Ledger } from "../../src/ledger/Ledger.js"
import { plan } from "../../src/ledger/Planned.js"
import { fingerprint } from "../../src/ledger/prepared/Topology.js"
import type { Transport } from "../../src/ledger/Transport.js"
import * as Ed25519 from "../../src/signer/Ed25519.js"
import { PartySigner } from "../../src/signer/PartySigner.js"
import * as Signer from "../../src/signer/Signer.js"
import type { Disk } from "../../src/journal/Disk.js"
import type { HistoriesDatabase } from "../../src/readmodel/HistoriesDatabase.js"
import * as SimLedger from "../../sim/world/SimLedger.js"
import type { Options } from "../../src/Venue.js"
import { VenueOver } from "../edge/VenueOver.js"
import { Authenticator } from "../identity/Authenticator.js"
import { Proofs } from "../identity/Proofs.js"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"

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

/** What a venue keeps its journal and its histories on. */
interface Kept {
  readonly disk: Layer.Layer<Disk>
  readonly histories?: Layer.Layer<HistoriesDatabase>
}

export class Bank {
  readonly disk = memoryDisk()
  private readonly ledger = SimLedger.make(chance("ledger"))
  /** The way to it, and where the venue and its signer deal. */
  private money: { readonly ledger: Layer.Layer<Ledger | Faucet>; readonly custody: typeof custody } = {
    ledger: this.ledger.layer,
    custody
  }
  private readonly keys = new SimKeyStore()
  private readonly random = chance("venue")
  private readonly proofs = new Proofs()
  /** What was logged. */
  readonly said: Array<string> = []
  private holds: "accountKeys" | "repin" | undefined
  private readonly held: Array<() => void> = []
  venue: VenueOver

  private constructor(
    private readonly more: Partial<Options> = {},
    private readonly histories?: Layer.Layer<HistoriesDatabase>,
    nowMs = 1_767_225_600_000
  ) {
    this.venue = this.over(nowMs)
  }

  private over(nowMs: number, { disk, histories }: Kept = this.kept, random = this.random): VenueOver {
    const signer = Signer.layer({
      custody: this.money.custody,
      site: { publicOrigin: origin, rpId: "localhost" },
      limits: { perWithdrawalAtoms: 1_000_000_000_000, dailyAtoms: 10_000_000_000_000 }
    }).pipe(Layer.provide(Layer.merge(this.keys.layer, this.proofs.layer)), Layer.orDie)
    const held = Layer.map(signer, (context) => Context.add(context, PartySigner, this.holding(Context.get(context, PartySigner))))
    const money = Layer.merge(this.money.ledger, held)
    const options = {
      ledger: this.money.custody,
      // Seldom enough that a quarter of an hour passes in no time.
      funds: { reconcileMs: 0, driver: { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 } },
      // What is prepared is larger than the blocks of other tests; a disk in memory writes all of a segment that it is to keep free.
      journal: { segmentBytes: 1024 * 1024, maxBlockBytes: 256 * 1024 },
      ...this.more
    }
    return new VenueOver(disk, options, nowMs, undefined, {
      money,
      random,
      proofs: this.proofs,
      logged: (line) => this.said.push(line),
      ...(histories === undefined ? {} : { histories })
    })
  }

  private get kept(): Kept {
    return { disk: this.disk.layer, ...(this.histories === undefined ? {} : { histories: this.histories }) }
  }

  /** Puts a venue over other files in the place of the one that has stopped: from any files that are the same it goes on likewise. */
  async goOnOver(kept: Kept, nowMs: number): Promise<void> {
    this.venue = this.over(nowMs, kept, chance("venue over other files"))
    await this.started()
  }

  /** A venue that has been told to start, and no more; `more`: what else it is set to. */
  static begin(more: Partial<Options> = {}): Bank {
    return new Bank(more)
  }

  /** `histories`: where they are kept; in memory unless given. */
  static async open(more: Partial<Options> = {}, histories?: Layer.Layer<HistoriesDatabase>): Promise<Bank> {
    const bank = new Bank(more, histories)
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

  /** The same over another way to the ledger, on a synchronizer that may be another one. */
  async restartOver(way: (transport: Transport) => Transport, synchronizerId = setting.synchronizerId): Promise<void> {
    await this.venue.stop()
    const transport = way(this.ledger.transport)
    const ledger = Layer.merge(
      Layer.effect(Ledger, JsonLedger.make(transport, { ...setting, synchronizerId })),
      Layer.succeed(Faucet, faucet(transport))
    )
    this.money = { ledger, custody: { ...custody, synchronizerId } }
    this.venue = this.over(this.venue.epochMs)
    await this.started()
  }

  /** What befalls the ledger from here on. */
  async script(script: Script): Promise<void> {
    await this.venue.run(this.ledger.transport({ method: "POST", path: controls.script, body: script }))
  }

  /** The comparison of books, as the operator asks for it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- an answer, whose shape is the test's matter
  async reconcile(): Promise<any> {
    const told: { json?: unknown } = {}
    void this.venue.ask("POST", "/v1/operator/reconciliation").then(({ json }) => {
      told.json = json
    })
    await this.venue.wait(() => told.json !== undefined)
    return told.json
  }

  /** Whether the signer cannot sign: it signs nothing that it cannot note first. */
  set signerFails(isSo: boolean) {
    this.keys.failsWith = isSo ? "EIO" : undefined
  }

  /** What the signer's directory holds: what it is set to is there when the signer starts again. */
  get signersRecords(): ReadonlyMap<string, string> {
    return new Map(this.keys.records)
  }

  set signersRecords(records: ReadonlyMap<string, string>) {
    this.keys.records.clear()
    for (const [name, record] of records) this.keys.records.set(name, record)
  }

  private holding(signer: Context.Tag.Service<PartySigner>): Context.Tag.Service<PartySigner> {
    return {
      ...signer,
      accountKeys: (accountId) => Effect.zipRight(this.whileHeld("accountKeys"), signer.accountKeys(accountId)),
      repin: (request) => Effect.zipRight(this.whileHeld("repin"), signer.repin(request))
    }
  }

  private whileHeld(what: "accountKeys" | "repin"): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.holds !== what) return Effect.void
      return Effect.async<void>((resume) => void this.held.push(() => resume(Effect.void)))
    })
  }

  /** The signer does nothing of this that it is asked for, until it is let go on. */
  hold(what: "accountKeys" | "repin"): void {
    this.holds = what
  }

  /** How many questions the signer holds back. */
  get heldBack(): number {
    return this.held.length
  }

  letGo(): void {
    this.holds = undefined
    for (const goOn of this.held.splice(0)) goOn()
  }

  /** Somebody who has come by the treasury's key takes something out of it. */
  async take(amountAtoms: number): Promise<void> {
    const [text] = [...this.keys.records.values()].filter((record) => "key" in JSON.parse(record))
    const { key: { party: { partyId }, seed } } = JSON.parse(text!)
    const treasury = new Uint8Array(Buffer.from(seed, "base64url"))
    const signedBy = fingerprint(Ed25519.publicKeyOf(treasury))
    const facts = { step: "treasury_withdrawal", transferId: `wdr_${amountAtoms}`, receiver: setting.token.admin, amountAtoms } as const
    const maxRecordTimeEpochMs = this.venue.epochMs + 600_000
    await this.venue.run(Effect.provide(
      Effect.gen(function*() {
        const ledger = yield* Ledger
        const prepared = yield* ledger.prepare(plan({ ...custody, treasury: partyId }, facts), maxRecordTimeEpochMs)
        const signature = Ed25519.sign(treasury, prepared.hash)
        yield* ledger.execute({
          ...prepared,
          signature,
          signedBy,
          party: partyId,
          submissionId: facts.transferId,
          userId: custody.userId,
          deduplicateFromOffset: 0
        })
      }),
      this.ledger.layer
    ))
    await this.venue.leap(10_000)
  }

  async give(party: string, amountAtoms: number): Promise<void> {
    await this.venue.run(this.ledger.transport({ method: "POST", path: controls.faucet, body: { party, amountAtoms } }))
  }
}

/** An owner's answers are looked at by tests. */
export class Owner {
  accountId = ""
  token = ""

  constructor(readonly bank: Bank, readonly authenticator = new Authenticator()) {}

  /** Sends a request, and lets no time pass for it. */
  send(method: string, target: string, body?: unknown, idempotencyKey?: string): Promise<Told> {
    return this.bank.venue.ask(method, target.replace("{account}", this.accountId), {
      key: this.token,
      ...(body === undefined ? {} : { body }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey })
    })
  }

  async ask(method: string, target: string, body?: unknown, idempotencyKey?: string): Promise<Told> {
    const { venue } = this.bank
    const answer = this.send(method, target, body, idempotencyKey)
    const told: { answer?: Told } = {}
    void answer.then((got) => {
      told.answer = got
    })
    await venue.wait(() => told.answer !== undefined)
    if (told.answer === undefined) throw new Error(`${method} ${target} has no answer`)
    return told.answer
  }

  async must(method: string, target: string, body?: unknown): Promise<any> {
    const { json, status } = await this.ask(method, target, body)
    if (status !== 200 && status !== 204) throw new Error(`${method} ${target}: ${status} ${JSON.stringify(json)}`)
    return json
  }

  static async open(bank: Bank, authenticator = new Authenticator()): Promise<Owner> {
    const owner = new Owner(bank, authenticator)
    const begun = await owner.must("POST", "/v1/auth/passkeys/registration/options", {})
    const { accessToken, accountId } = await owner.must("POST", "/v1/auth/passkeys/registration/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: owner.authenticator.register(begun.options, origin)
    })
    owner.token = accessToken
    owner.accountId = accountId
    return owner
  }

  /** One whose first deposit is confirmed. */
  static async funded(bank: Bank, amountAtoms: number, authenticator = new Authenticator()): Promise<Owner> {
    const owner = await Owner.open(bank, authenticator)
    const id = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, amountAtoms)
    const status = await owner.confirm("deposit", id)
    if (status !== "ledger_confirmed") throw new Error(`the first deposit is ${status}`)
    return owner
  }

  /** Signs in anew, with the passkey that it has. */
  async signIn(): Promise<void> {
    const begun = await this.must("POST", "/v1/auth/passkeys/authentication/options", { purpose: "sign_in" })
    const session = await this.must("POST", "/v1/auth/passkeys/authentication/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: this.authenticator.assert(begun.options, origin)
    })
    this.token = session.accessToken
  }

  /** Asks for a deposit or a withdrawal; its id. */
  async request(kind: "deposit" | "withdrawal", amountAtoms: number, destinationPartyId?: string): Promise<string> {
    const body = { asset: "USDC", amountAtoms: String(amountAtoms), ...(destinationPartyId === undefined ? {} : { destinationPartyId }) }
    return (await this.must("POST", `/v1/accounts/{account}/${kind}s`, body))[`${kind}Id`]
  }

  /** One turn of whoever confirms: asks what is due, and approves it. The status that was told last, and the approvals that were given. */
  async turn(kind: "deposit" | "withdrawal", id: string, approvals: Array<string>): Promise<string> {
    const path = `/v1/accounts/{account}/${kind}s/confirm`
    const begun = await this.ask("POST", path, { action: "initiate", [`${kind}Id`]: id })
    if (begun.status !== 200) return begun.json.code
    const { signingStep, status } = begun.json
    if (status !== "approval_required") return status
    const done = await this.ask("POST", path, { [`${kind}Id`]: id, ...this.completion(begun.json) })
    if (done.status !== 200) return done.json.code
    approvals.push(signingStep)
    return done.json.status
  }

  /** Confirms until it is over, for so long; what it has come to. `at` is called around each turn. */
  async confirm(
    kind: "deposit" | "withdrawal",
    id: string,
    approvals: Array<string> = [],
    minutes = 30,
    at: (point: "before" | "between" | "after") => Promise<void> = async () => {}
  ): Promise<string> {
    let status = ""
    const until = this.bank.venue.epochMs + minutes * 60_000
    while (this.bank.venue.epochMs < until) {
      await at("before")
      status = await this.turn(kind, id, approvals)
      await at("between")
      if (["ledger_confirmed", "rejected", "expired"].includes(status)) return status
      await this.bank.venue.leap(10_000, 2_500)
      await at("after")
    }
    return status
  }

  get party(): Promise<string> {
    return this.must("GET", "/v1/accounts/{account}/ledger-party").then(({ partyId }) => partyId)
  }

  get collateralAtoms(): Promise<number> {
    return this.must("GET", "/v1/accounts/{account}/balance").then(({ collateralAtoms }) => Number(collateralAtoms))
  }

  /** What a passkey of the account's answers to a challenge for a purpose: that its owner asks. */
  async proof(purpose: string, authenticator = this.authenticator): Promise<object> {
    const asked = { accountId: this.accountId, purpose }
    const { challengeIdentifier, options } = await this.must("POST", "/v1/auth/passkeys/authentication/options", asked)
    return { challengeIdentifier, credential: authenticator.assert(options, origin) }
  }

  /** What a passkey of the account's answers where it is asked to approve a step, but for the transfer's id. */
  completion({ challenge, signingStep }: any, authenticator = this.authenticator): object {
    const { challengeIdentifier } = challenge
    return { action: "complete", signingStep, challengeIdentifier, firstFactor: this.factor(challenge, authenticator) }
  }

  /** What a passkey answers to a challenge. */
  factor(challenge: { readonly challenge: string; readonly rpId: string }, authenticator = this.authenticator): object {
    const { id, response } = authenticator.assert(challenge, origin)
    const { authenticatorData, clientDataJSON: clientData, signature } = response
    return { kind: "Fido2", credentialAssertion: { credId: id, clientData, signature, authenticatorData } }
  }
}
