/**
 * A whole venue in memory over a development ledger and a signer that outlive it, on a clock that only the test moves: what an owner with a
 * passkey sees, and what the ledger holds. Faults of the ledger are scripted; a crash leaves the disk, the ledger and the signer as they
 * are.
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
import { PartySigner, type SignerError } from "../../src/signer/PartySigner.js"
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

/** Random bytes that are the same in every run. */
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

/** The media on which a venue keeps its journal and its histories. */
interface Kept {
  readonly disk: Layer.Layer<Disk>
  readonly histories?: Layer.Layer<HistoriesDatabase>
}

export class Bank {
  readonly disk = memoryDisk()
  private readonly ledger = SimLedger.make(chance("ledger"))
  /** The connection to the ledger, and the custody settings of the venue and its signer. */
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
  /** How often withdrawals were let go on: a restarted venue would begin again with the keys of other requests. */
  private allowed = 0
  /** With what the signer fails every request, or only those for signatures; undefined while it does its work. */
  signerFault: SignerError | undefined
  signerFaultAt: "all" | "sign" = "all"
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
      // So rarely that a quarter of an hour of simulated time takes no time.
      funds: { reconcileMs: 0, signerMs: 0, driver: { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 } },
      // Prepared transactions are larger than the blocks of other tests; a disk in memory writes every segment in full.
      journal: { segmentBytes: 1024 * 1024, maxBlockBytes: 256 * 1024 },
      // The leaderboards, made every minute, would be most of what a day of simulated time costs.
      histories: { rollupMs: 86_400_000 },
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

  /** Replaces the stopped venue by one over other files: with the same files it continues in the same way. */
  async goOnOver(kept: Kept, nowMs: number): Promise<void> {
    this.venue = this.over(nowMs, kept, chance("venue over other files"))
    await this.started()
  }

  /** A venue whose start was only begun; `more`: further settings. */
  static begin(more: Partial<Options> = {}): Bank {
    return new Bank(more)
  }

  /** `histories`: where they are kept; in memory by default. */
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

  /** Stops the venue, and starts another over what it left. */
  async restart(): Promise<void> {
    await this.venue.stop()
    this.venue = this.over(this.venue.epochMs)
    await this.started()
  }

  /** The same over another connection to the ledger, possibly on another synchronizer or as another user. */
  async restartOver(
    way: (transport: Transport) => Transport,
    synchronizerId = setting.synchronizerId,
    userId = custody.userId
  ): Promise<void> {
    await this.venue.stop()
    const transport = way(this.ledger.transport)
    const ledger = Layer.merge(
      Layer.effect(Ledger, JsonLedger.make(transport, { ...setting, synchronizerId })),
      Layer.succeed(Faucet, faucet(transport))
    )
    this.money = { ledger, custody: { ...custody, synchronizerId, userId } }
    this.venue = this.over(this.venue.epochMs)
    await this.started()
  }

  /** Scripts the ledger's faults from now on. */
  async script(script: Script): Promise<void> {
    await this.venue.run(this.ledger.transport({ method: "POST", path: controls.script, body: script }))
  }

  /** Compares the books with the ledger, as the operator requests it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- an answer, whose shape is the test's matter
  async reconcile(): Promise<any> {
    const told: { json?: unknown } = {}
    void this.venue.ask("POST", "/v1/operator/reconciliation").then(({ json }) => {
      told.json = json
    })
    await this.venue.wait(() => told.json !== undefined)
    return told.json
  }

  /** Lets withdrawals go on, as the operator requests it: the books are compared for that. */
  async allow(accept?: string, idempotencyKey = `allow-${++this.allowed}`): Promise<Told> {
    const told: { answer?: Told } = {}
    const target = `/v1/operator/withdrawals/stop${accept === undefined ? "" : `?accept=${accept}`}`
    void this.venue.ask("DELETE", target, { idempotencyKey }).then((answer) => {
      told.answer = answer
    })
    await this.venue.wait(() => told.answer !== undefined)
    return told.answer!
  }

  /** Whether the signer fails: it cannot record, and signs nothing that it has not recorded. */
  set signerFails(isSo: boolean) {
    this.keys.failsWith = isSo ? "EIO" : undefined
  }

  /** The content of the signer's directory; setting it takes effect when the signer starts again. */
  get signersRecords(): ReadonlyMap<string, string> {
    return new Map(this.keys.records)
  }

  set signersRecords(records: ReadonlyMap<string, string>) {
    this.keys.records.clear()
    for (const [name, record] of records) this.keys.records.set(name, record)
  }

  private holding(signer: Context.Tag.Service<PartySigner>): Context.Tag.Service<PartySigner> {
    const up = <A>(request: Effect.Effect<A, SignerError>, what = "other"): Effect.Effect<A, SignerError> =>
      Effect.suspend(() => {
        const fails = this.signerFaultAt === "all" || this.signerFaultAt === what
        return this.signerFault !== undefined && fails ? Effect.fail(this.signerFault) : request
      })
    return {
      newParty: (request) => up(signer.newParty(request)),
      treasuryKey: up(signer.treasuryKey),
      knownTreasuryKey: up(signer.knownTreasuryKey),
      signTopology: (request) => up(signer.signTopology(request)),
      sign: (request) => up(signer.sign(request), "sign"),
      claim: (request) => up(signer.claim(request)),
      accountKeys: (accountId) => up(Effect.zipRight(this.whileHeld("accountKeys"), signer.accountKeys(accountId))),
      repin: (request) => up(Effect.zipRight(this.whileHeld("repin"), signer.repin(request)))
    }
  }

  private whileHeld(what: "accountKeys" | "repin"): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.holds !== what) return Effect.void
      return Effect.async<void>((resume) => void this.held.push(() => resume(Effect.void)))
    })
  }

  /** Holds back such requests to the signer until they are released. */
  hold(what: "accountKeys" | "repin"): void {
    this.holds = what
  }

  /** How many requests the signer holds back. */
  get heldBack(): number {
    return this.held.length
  }

  letGo(): void {
    this.holds = undefined
    for (const goOn of this.held.splice(0)) goOn()
  }

  /** An attacker with the treasury's key takes money out of it. */
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
        // As far back as the ledger still deduplicates, whatever it has pruned.
        const { offset: deduplicateFromOffset } = yield* ledger.end
        const prepared = yield* ledger.prepare(plan({ ...custody, treasury: partyId }, facts), maxRecordTimeEpochMs)
        const signature = Ed25519.sign(treasury, prepared.hash)
        yield* ledger.execute({
          ...prepared,
          signature,
          signedBy,
          party: partyId,
          submissionId: facts.transferId,
          userId: custody.userId,
          deduplicateFromOffset
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

/** Answers are returned untyped, for tests to examine. */
export class Owner {
  accountId = ""
  token = ""

  constructor(readonly bank: Bank, readonly authenticator = new Authenticator()) {}

  /** Sends a request, without letting time pass for it. */
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

  /** An owner whose first deposit is confirmed. */
  static async funded(bank: Bank, amountAtoms: number, authenticator = new Authenticator()): Promise<Owner> {
    const owner = await Owner.open(bank, authenticator)
    const id = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, amountAtoms)
    const status = await owner.confirm("deposit", id)
    if (status !== "ledger_confirmed") throw new Error(`the first deposit is ${status}`)
    return owner
  }

  /** Signs in again, with the existing passkey. */
  async signIn(): Promise<void> {
    const begun = await this.must("POST", "/v1/auth/passkeys/authentication/options", { purpose: "sign_in" })
    const session = await this.must("POST", "/v1/auth/passkeys/authentication/verify", {
      challengeIdentifier: begun.challengeIdentifier,
      credential: this.authenticator.assert(begun.options, origin)
    })
    this.token = session.accessToken
  }

  /** Requests a deposit or a withdrawal; returns its id. */
  async request(kind: "deposit" | "withdrawal", amountAtoms: number, destinationPartyId?: string): Promise<string> {
    const body = { asset: "USDC", amountAtoms: String(amountAtoms), ...(destinationPartyId === undefined ? {} : { destinationPartyId }) }
    return (await this.must("POST", `/v1/accounts/{account}/${kind}s`, body))[`${kind}Id`]
  }

  /**
   * Takes one step as the owner's page does: asks what is due and approves it. Returns the latest status, and adds to the approvals given.
   */
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

  /** Confirms until the transfer has ended, for a limited time; returns its final status. `at` is called around each step. */
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

  /** A passkey's proof for a purpose, with a challenge that the owner requests. */
  async proof(purpose: string, authenticator = this.authenticator): Promise<object> {
    const asked = { accountId: this.accountId, purpose }
    const { challengeIdentifier, options } = await this.must("POST", "/v1/auth/passkeys/authentication/options", asked)
    return { challengeIdentifier, credential: authenticator.assert(options, origin) }
  }

  /** A passkey's answer to the approval of a step, without the transfer's id. */
  completion({ challenge, signingStep }: any, authenticator = this.authenticator): object {
    const { challengeIdentifier } = challenge
    return { action: "complete", signingStep, challengeIdentifier, firstFactor: this.factor(challenge, authenticator) }
  }

  /** A passkey's answer to a challenge. */
  factor(challenge: { readonly challenge: string; readonly rpId: string }, authenticator = this.authenticator): object {
    const { id, response } = authenticator.assert(challenge, origin)
    const { authenticatorData, clientDataJSON: clientData, signature } = response
    return { kind: "Fido2", credentialAssertion: { credId: id, clientData, signature, authenticatorData } }
  }
}
