/**
 * Owners and their agents: they open accounts with passkeys, sign in and out, add and remove passkeys, issue keys to agents and revoke
 * them, and read all of it. They also make mistakes: answer twice, too late and with other accounts' answers, guess codes, poll too fast,
 * act with ended credentials. Each draws from a generator of its own, and all of them together make a given number of calls.
 */
import type { Owners as Options } from "../faults/Options.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { SimTime } from "../world/SimTime.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { decimal, type Draft, type Identity } from "./Calls.js"
import * as Calls from "./OwnerCalls.js"
import { credentialIdOf, type Fault, faults, type Proof } from "./SoftwarePasskey.js"
import { of } from "./Wallet.js"

/** Where owners make their calls. */
export interface Desk {
  readonly time: SimTime
  readonly model: NaiveVenue
  readonly issue: (draft: Draft, settled: (answer: Answer | undefined) => void) => Call
  readonly isOpen: () => boolean
  /** Demo accounts, whose keys are tried on owners' routes. */
  readonly demo: ReadonlyArray<Identity>
}

interface Passkey {
  readonly number: number
  /** The call whose answer named its account. */
  readonly owner: number
  /** Its authenticator's counter; always 0 for one that does not count. */
  signCount: number
  readonly counts: boolean
}

/** Receives a call's answer, and its number. */
type Then = (answer: Answer | undefined, call: number) => void

/** An agent whose request is pending. */
interface Waiting {
  readonly call: number
  readonly request: number
  readonly scopes: ReadonlyArray<string>
}

const unknownAccount = "acc_zzzzzz"
/** A well-formed code that hardly any agent has. */
const wrongCode = "ZZZZ-9999"

/** How often an owner insists on an answer, so that the request is repeated after a loss. */
const insistsShare = 0.3
/** How often a passkey's answer has a fault. */
const faultShare = 0.12

const weights = {
  "sign in": 14,
  "sign in twice": 5,
  "clone signs in": 3,
  "sign in as another": 3,
  "wrong purpose": 2,
  "add passkey": 8,
  "add by what is gone": 4,
  "remove passkey": 6,
  "sign out": 3,
  "sign out elsewhere": 2,
  look: 14,
  "look elsewhere": 5,
  "let an agent": 16,
  "turn an agent down": 3,
  "approve more": 3,
  "guess codes": 3,
  "use a key": 12,
  "revoke a key": 8,
  "act by what has ended": 6,
  "key on an owner's route": 5
} as const
type Act = keyof typeof weights

/** How often owners do their preferred action. */
const bentShare = 0.4
/** How often a read waits for changes by a credential that is about to be revoked, and for how long, ms. */
const waitingShare = 0.8
const waitedMs = 2_000
/** How often an owner answers a challenge on another route than the one it is for. */
const answeredElsewhereShare = 0.06
/** How often an owner who removes a passkey, or has just added one, removes the one that opened the session in use. */
const takenBackShare = 0.7
/** How often an owner tries to revoke another account's key, revoked or not. */
const othersKeyShare = 0.15

class Owner implements Calls.KeyHolder {
  readonly passkeys: Array<Passkey> = []
  /** Calls whose answers contained tokens and keys: those that should be valid, and those that were ended. */
  readonly sessions: Array<number> = []
  readonly keys: Array<number> = []
  readonly ended: Array<Calls.Bearer> = []
  /** Calls whose answers contained keys that were revoked. */
  readonly revoked: Array<number> = []
  /** Additional acts are drawn separately, and are not counted among the calls. */
  readonly #beside: SimRandom
  /** Other owners of this run. */
  others: ReadonlyArray<Owner> = []
  readonly client: string
  /** Who uses the owner's keys. */
  readonly agent: string
  readonly #agent: Calls.Bearer
  /** The passkeys whose registration opened sessions, by the call whose answer contained each. */
  readonly #signers = new Map<number, Passkey>()
  /** Whether to guess codes, which begins once there are several sessions. */
  #mayGuess = false
  #made = 0
  #requests = 0
  #orders = 0

  constructor(
    readonly index: number,
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly meanPauseMs: number,
    readonly bent: Act | "nothing",
    readonly spend: () => boolean
  ) {
    this.client = `owner-${index}`
    this.agent = `agent-${index}`
    this.#agent = Calls.stranger(this.agent)
    this.#beside = random.split("beside")
  }

  start(): void {
    this.#later(() => this.#act())
  }

  #later(then: () => void): void {
    this.desk.time.after(this.random.until(this.meanPauseMs), then)
  }

  /** Begins a call, unless all have been made. */
  #say(draft: Draft, then: Then): void {
    if (!this.desk.isOpen() || !this.spend()) return
    const persistent = this.random.chance(insistsShare)
    const { id } = this.desk.issue({ ...draft, persistent }, (answer) => then(answer, id))
  }

  /** Begins several calls at the same moment, and continues when the last is settled. */
  #sayAll(drafts: ReadonlyArray<Draft>, then: (answers: ReadonlyArray<readonly [Answer | undefined, number]>) => void): void {
    const answers: Array<readonly [Answer | undefined, number]> = []
    for (const draft of drafts) {
      this.#say(draft, (answer, call) => {
        answers.push([answer, call])
        if (answers.length === drafts.length) then(answers)
      })
    }
  }

  readonly #next = (): void => this.#later(() => this.#act())

  #act(): void {
    if (this.passkeys.length === 0) return this.#openAccount()
    if (this.sessions.length === 0) return this.#signIn(undefined)
    if (this.#mayGuess) return this.#guessCodes()
    if (this.#beside.chance(othersKeyShare)) this.revokeAnothersKey()
    if (this.#beside.chance(answeredElsewhereShare)) return this.#answerElsewhere()
    if (this.bent !== "nothing" && this.random.chance(bentShare)) return this.#acts[this.bent]()
    this.#acts[this.random.weighted(weights)]()
  }

  /** The latest session, or now and then an earlier one. */
  get #session(): Calls.Bearer {
    const call = this.random.chance(0.8) ? this.sessions.at(-1)! : this.random.pick(this.sessions)
    return Calls.holder(this.client, call)
  }

  get #other(): Owner | undefined {
    const others = this.others.filter(({ passkeys, sessions }) => passkeys.length > 0 && sessions.length > 0)
    return others.length === 0 ? undefined : this.random.pick(others)
  }

  /** One of some texts, or none. */
  #perhaps(texts: ReadonlyArray<string>): string | undefined {
    return texts[this.random.below(texts.length + 1)]
  }

  #fault(): Pick<Proof, "fault"> {
    return this.random.chance(faultShare) ? { fault: this.random.pick<Fault>(faults) } : {}
  }

  // ---- passkeys

  #newPasskey(owner: number): Passkey {
    const counts = this.random.chance(0.6)
    return { number: this.index * 1_000 + this.#made++, owner, signCount: counts ? 1 : 0, counts }
  }

  #create(passkey: Passkey): Proof {
    return { kind: "create", passkey: passkey.number, asked: passkey.owner, signCount: passkey.signCount, ...this.#fault() }
  }

  #sign(passkey: Passkey, asked: number): Proof {
    if (passkey.counts) passkey.signCount++
    const said = this.random.chance(0.5) ? { owner: passkey.owner } : {}
    return { kind: "get", passkey: passkey.number, asked, signCount: passkey.signCount, ...said, ...this.#fault() }
  }

  /** The passkey's answer; now and then that of a copy, whose counter continues from where the copy was made. */
  #signOrCopy(passkey: Passkey, asked: number): Proof {
    if (!passkey.counts || !this.random.chance(0.1)) return this.#sign(passkey, asked)
    return { kind: "get", passkey: passkey.number, asked, signCount: this.random.between(0, passkey.signCount) }
  }

  #kept(passkey: Passkey): Then {
    return (answer, call) => {
      if (answer?.status === 200) {
        this.passkeys.push(passkey)
        this.sessions.push(call)
        this.#signers.set(call, passkey)
        if (this.passkeys.length > 1 && this.#beside.chance(takenBackShare)) return this.#takeBack(passkey, call)
      }
      this.#next()
    }
  }

  /** Removes the passkey that opened a session, in that session and by another passkey's answer, and continues in the session. */
  #takeBack(opener: Passkey, session: number): void {
    const who = Calls.holder(this.client, session)
    const signer = this.passkeys.find((each) => each !== opener)!
    this.#ask(this.#accountId, "remove_passkey", (asked) => {
      this.#say(Calls.removePasskey(who, credentialIdOf(opener.number), this.#sign(signer, asked)), (answer) => {
        const at = this.passkeys.indexOf(opener)
        if (answer?.status !== 204 || at < 0) return this.#next()
        this.passkeys.splice(at, 1)
        this.#lose(who)
        this.#say(Calls.getCurrentSession(who), this.#next)
      })
    })
  }

  #openAccount(): void {
    const who = Calls.stranger(this.client)
    this.#say(Calls.beginRegistration(who, this.#perhaps(["phone", "clé bleue"]), undefined), (answer, asked) => {
      if (answer?.status !== 200) return this.#next()
      const passkey = this.#newPasskey(asked)
      this.#say(Calls.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
    })
  }

  /** Requests a challenge, and continues if it gets one. */
  #ask(accountId: string | undefined, purpose: string | undefined, then: (asked: number) => void): void {
    this.#say(Calls.beginAuthentication(Calls.stranger(this.client), accountId, purpose), (answer, asked) => {
      if (answer?.status === 200) then(asked)
      else this.#next()
    })
  }

  /** The owner's account, if any session's answer contained it. */
  get #accountId(): string | undefined {
    const [first] = this.sessions
    return first === undefined ? undefined : of(first, "accountId")
  }

  #signIn(accountId: string | undefined): void {
    this.#ask(accountId, this.#perhaps(["sign_in"]), (asked) => {
      const draft = Calls.finishAuthentication(Calls.stranger(this.client), this.#sign(this.random.pick(this.passkeys), asked))
      const answerNow = (): void => this.#say(draft, (answer, call) => this.#signedIn(answer, call))
      // A slow owner finds the challenge expired if the clock has advanced by then.
      if (this.random.chance(0.3)) this.desk.time.after(this.random.between(500, 4_000), answerNow)
      else answerNow()
    })
  }

  #signedIn(answer: Answer | undefined, call: number): void {
    if (answer?.status === 200) this.sessions.push(call)
    this.#next()
  }

  /** Sends the same answer of a passkey more than once: at the same moment, and again later. */
  #signInTwice(): void {
    this.#ask(undefined, undefined, (asked) => {
      const draft = Calls.finishAuthentication(Calls.stranger(this.client), this.#sign(this.random.pick(this.passkeys), asked))
      this.#sayAll(this.random.chance(0.5) ? [draft, draft] : [draft], (answers) => {
        for (const [answer, call] of answers) if (answer?.status === 200) this.sessions.push(call)
        this.#later(() => this.#say(draft, (answer, call) => this.#signedIn(answer, call)))
      })
    })
  }

  /** Signs in with a copy of a passkey, whose counter continues from where the copy was made. */
  #cloneSignsIn(): void {
    const passkey = this.passkeys.find(({ counts }) => counts)
    if (passkey === undefined) return this.#signIn(this.#accountId)
    this.#ask(undefined, undefined, (asked) => {
      const signCount = this.random.between(0, passkey.signCount)
      const proof: Proof = { kind: "get", passkey: passkey.number, asked, signCount }
      this.#say(Calls.finishAuthentication(Calls.stranger(this.client), proof), (answer, call) => this.#signedIn(answer, call))
    })
  }

  /** Signs in with its own passkey as another account, or as a non-existent one. */
  #signInAsAnother(): void {
    const other = this.#other
    this.#signIn(other === undefined || this.random.chance(0.3) ? unknownAccount : other.#accountId)
  }

  #wrongPurpose(): void {
    const session = this.#session
    const purpose = this.random.pick(["add_passkey", "remove_passkey", "nonsense", "sign_in", "sign_in"])
    this.#ask(undefined, purpose, (asked) => {
      const signer = this.random.pick(this.passkeys)
      const signsIn = (): Draft => Calls.finishAuthentication(Calls.stranger(this.client), this.#sign(signer, asked))
      const signedIn: Then = (answer, call) => this.#signedIn(answer, call)
      if (purpose !== "sign_in") return this.#say(signsIn(), signedIn)
      this.#say(Calls.beginRegistration(session, "by another purpose", this.#sign(signer, asked)), () => {
        // The answer proves nothing any more, not even for its own purpose.
        if (this.random.chance(0.6)) this.#say(signsIn(), signedIn)
        else this.#next()
      })
    })
  }

  /** Answers a challenge on a route for another purpose, and then on its own: by then it is spent. */
  #answerElsewhere(): void {
    const session = this.#session
    const signer = this.random.pick(this.passkeys)
    const removed = this.random.pick(this.passkeys)
    const signedIn: Then = (answer, call) => this.#signedIn(answer, call)
    const routes: Readonly<Record<string, (proof: Proof) => readonly [Draft, Then]>> = {
      sign_in: (proof) => [Calls.finishAuthentication(Calls.stranger(this.client), proof), signedIn],
      add_passkey: (proof) => [Calls.beginRegistration(session, "by another purpose", proof), this.#next],
      remove_passkey: (proof) => [Calls.removePasskey(session, credentialIdOf(removed.number), proof), (answer) => {
        const at = this.passkeys.indexOf(removed)
        if (answer?.status === 204 && at >= 0) this.#forget(at)
        this.#next()
      }]
    }
    const purpose = this.#beside.pick(["sign_in", "sign_in", "add_passkey", "remove_passkey"])
    const elsewhere = this.#beside.pick(Object.keys(routes).filter((other) => other !== purpose))
    this.#ask(undefined, purpose, (asked) => {
      const [wrong] = routes[elsewhere]!(this.#sign(signer, asked))
      this.#say(wrong, () => this.#say(...routes[purpose]!(this.#sign(signer, asked))))
    })
  }

  #addPasskey(): void {
    const session = this.#session
    const isForeign = this.random.chance(0.15)
    const signer = isForeign ? this.random.pick(this.#other?.passkeys ?? this.passkeys) : this.random.pick(this.passkeys)
    this.#ask(this.random.chance(0.5) && !isForeign ? this.#accountId : undefined, "add_passkey", (asked) => {
      const proof = this.random.chance(0.05) ? undefined : this.#signOrCopy(signer, asked)
      this.#say(Calls.beginRegistration(session, this.#perhaps(["tablet", "zweites Gerät"]), proof), (answer, begun) => {
        if (answer?.status !== 200) return this.#next()
        // Now and then a passkey that is already registered, or without the session.
        const known = this.random.chance(0.1) ? this.random.pick(this.passkeys) : undefined
        const passkey = known === undefined ? this.#newPasskey(begun) : { ...known, owner: begun }
        const who = this.random.chance(0.05) ? Calls.stranger(this.client) : session
        this.#say(Calls.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
      })
    })
  }

  /** Removes the passkey that authorized an addition before the addition is finished, both in a session of another passkey. */
  #addByWhatIsGone(): void {
    const [session, signer] = [...this.#signers].findLast(([call]) => this.sessions.includes(call)) ?? []
    const prover = this.passkeys.find((each) => each !== signer)
    if (session === undefined || !this.passkeys.includes(signer!) || prover === undefined) return this.#addPasskey()
    const who = Calls.holder(this.client, session)
    this.#ask(this.#accountId, "add_passkey", (asked) => {
      this.#say(Calls.beginRegistration(who, "third", this.#sign(prover, asked)), (answer, begun) => {
        if (answer?.status !== 200) return this.#next()
        this.#ask(this.#accountId, "remove_passkey", (removal) => {
          this.#say(Calls.removePasskey(who, credentialIdOf(prover.number), this.#sign(signer!, removal)), (removed) => {
            const at = this.passkeys.indexOf(prover)
            if (removed?.status === 204 && at >= 0) this.#forget(at)
            const passkey = this.#newPasskey(begun)
            this.#say(Calls.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
          })
        })
      })
    })
  }

  #removePasskey(): void {
    // Removing the last one is refused, so mostly a second is added first.
    if (this.passkeys.length === 1 && this.random.chance(0.7)) return this.#addPasskey()
    const [own, opener] = [...this.#signers].findLast(([call, passkey]) => this.sessions.includes(call) && this.passkeys.includes(passkey))
      ?? []
    if (own !== undefined && this.passkeys.length > 1 && this.#beside.chance(takenBackShare)) return this.#takeBack(opener!, own)
    const session = this.#session
    const removed = this.random.chance(0.1)
      ? this.random.pick(this.#other?.passkeys ?? this.passkeys)
      : this.random.pick(this.passkeys)
    const signer = this.random.chance(0.1) ? this.random.pick(this.#other?.passkeys ?? this.passkeys) : this.random.pick(this.passkeys)
    this.#ask(this.#accountId, this.random.chance(0.95) ? "remove_passkey" : "sign_in", (asked) => {
      const id = this.random.chance(0.05) ? "bm90aGluZw" : credentialIdOf(removed.number)
      this.#say(Calls.removePasskey(session, id, this.#signOrCopy(signer, asked)), (answer) => {
        const at = this.passkeys.indexOf(removed)
        if (answer?.status === 204 && at >= 0) this.#forget(at)
        this.#next()
      })
    })
  }

  /** Forgets a removed passkey. The sessions that it had opened are not known here: some that are used from now on have ended. */
  #forget(at: number): void {
    this.passkeys.splice(at, 1)
    const [oldest, ...rest] = this.sessions
    if (oldest !== undefined && rest.length > 0) this.ended.push(Calls.holder(this.client, oldest))
  }

  // ---- sessions and reads

  #signOut(): void {
    const at = this.random.below(this.sessions.length)
    const session = Calls.holder(this.client, this.sessions[at]!)
    const signOut = Calls.endCurrentSession(session)
    this.#waits(session)
    this.#sayAll(this.random.chance(0.5) ? [...this.#crowd(session), signOut] : [signOut], (answers) => {
      if (answers.some(([answer]) => answer?.status === 204 || answer?.status === 401)) this.sessions.splice(at, 1)
      this.ended.push(session)
      this.#next()
    })
  }

  /** Ends all other sessions; later they are tried as ended ones. */
  #signOutElsewhere(): void {
    const kept = this.random.pick(this.sessions)
    this.#sayAll([Calls.endOtherSessions(Calls.holder(this.client, kept))], ([told]) => {
      if (told?.[0]?.status === 204) {
        const others = this.sessions.filter((session) => session !== kept)
        this.sessions.splice(0, this.sessions.length, kept)
        this.ended.push(...others.map((session) => Calls.holder(this.client, session)))
      }
      this.#next()
    })
  }

  #looks(who: Calls.Bearer): ReadonlyArray<Draft> {
    return [
      Calls.getCurrentSession(who),
      Calls.listPasskeys(who),
      Calls.listApiKeys(who),
      Calls.listSecurityEvents(who, this.random.pick(["", "?limit=3", "?limit=100", "?limit=0", "?cursor=abc"])),
      Calls.readOwn(who, "getBalance", "balance")
    ]
  }

  #look(): void {
    const session = this.#session
    this.#say(this.random.pick(this.#looks(session)), (answer, call) => {
      const json = answer?.json as { readonly nextCursor?: string | null } | undefined
      if (answer?.status === 401) this.#lose(session)
      if (typeof json?.nextCursor !== "string") return this.#next()
      this.#say(Calls.listSecurityEvents(session, `?limit=3&cursor=${of(call, "nextCursor")}`), this.#next)
    })
  }

  /** Stops using a session that has ended, except to try it. */
  #lose(session: Calls.Bearer): void {
    const at = this.sessions.findIndex((call) => Calls.holder(this.client, call).token === session.token)
    if (at >= 0) this.sessions.splice(at, 1)
    this.ended.push(session)
  }

  /** Reads another account with a valid credential. */
  #lookElsewhere(): void {
    const other = this.#other
    const accountId = other === undefined ? this.random.pick(this.desk.demo).accountId : other.#accountId!
    const bearers = [this.#session, ...this.keys.slice(-1).map((call) => Calls.agent(this.#agent.client, call))]
    const who = { ...this.random.pick(bearers), accountId }
    this.#say(this.random.pick(this.#looks(who)), this.#next)
  }

  // ---- agents

  /** An agent requests a key; continues with its code. */
  #connect(then: (waiting: Waiting) => void): void {
    const request = this.index * 1_000 + this.#requests++
    const scopes = this.random.pick([["read"], ["trade"], ["read", "trade"], ["trade", "read"]])
    const lifetime = this.random.pick([300, 300, 300, 3_600, 604_800, 299])
    const name = this.random.pick(["market maker 3", "börsenbot 🤖", "<script>"])
    this.#say(Calls.beginAgentConnect(this.#agent, name, scopes, lifetime, request), (answer, call) => {
      if (answer?.status === 200) then({ call, request, scopes })
      else this.#next()
    })
  }

  #exchange({ call, request }: Waiting, isRight = true): Draft {
    return Calls.exchangeAgentConnect(this.#agent, of(call, "deviceCode"), Calls.verifierOf(isRight ? request : request + 500))
  }

  /** Fetches the key: perhaps with a wrong verifier first, perhaps twice at once, and perhaps again. */
  #fetch(waiting: Waiting): void {
    const draft = this.#exchange(waiting)
    const first = this.random.chance(0.1) ? [this.#exchange(waiting, false)] : []
    this.#sayAll([...first, draft, ...(this.random.chance(0.2) ? [draft] : [])], (answers) => {
      const got = answers.flatMap(([answer, call]) => answer?.status === 200 ? [call] : [])
      this.keys.push(...got)
      const [key] = got
      if (this.random.chance(0.2)) this.#say(draft, this.#next)
      // An agent that gets a key tries it at once.
      else if (key !== undefined) this.#sayAll(this.#usesOf(Calls.agent(this.#agent.client, key)), () => this.#next())
      else this.#next()
    })
  }

  #letAnAgent(): void {
    this.#connect((waiting) => {
      const session = this.#session
      const code = of(waiting.call, "userCode")
      const approve = (): void =>
        this.#say(Calls.approveAgentConnect(session, code, waiting.scopes), (answer) => {
          if (answer?.status === 401) this.#lose(session)
          // A lost answer is requested again, and must be repeated. Owners who prefer to revoke keys do not wait for that.
          if (answer?.status === 200 && this.bent !== "revoke a key" && this.random.chance(0.2)) {
            return this.#say(Calls.approveAgentConnect(session, code, waiting.scopes), () => this.#fetch(waiting))
          }
          // Owners who issue many keys leave some that nobody fetches.
          if (this.bent === "let an agent" && this.random.chance(0.5)) return this.#next()
          // An approved key is fetched at once, or later, when another process may be running.
          if (this.random.chance(0.4)) this.desk.time.after(this.random.between(500, 5_000), () => this.#fetch(waiting))
          else this.#fetch(waiting)
        })
      const show = (): void => this.#say(Calls.showAgentConnect(session, code), approve)
      // The agent also asks before approval, now and then too fast.
      if (this.random.chance(0.3)) this.#say(this.#exchange(waiting), () => this.#say(this.#exchange(waiting), approve))
      else if (this.random.chance(0.5)) show()
      else approve()
    })
  }

  #turnAnAgentDown(): void {
    this.#connect((waiting) => {
      const code = of(waiting.call, "userCode")
      // Some requests are left to expire.
      if (this.random.chance(0.3)) return this.#next()
      this.#say(Calls.denyAgentConnect(this.#session, code),
        () =>
          this.#say(this.#exchange(waiting), () => this.#say(Calls.approveAgentConnect(this.#session, code, waiting.scopes), this.#next)))
    })
  }

  /** Approves other scopes than the agent requested; then perhaps the right ones. */
  #approveMore(): void {
    this.#connect((waiting) => {
      const code = of(waiting.call, "userCode")
      const others = waiting.scopes.length === 2 ? ["read"] : ["read", "trade"]
      this.#say(Calls.approveAgentConnect(this.#session, code, others), () => this.#fetch(waiting))
    })
  }

  #guessCodes(): void {
    const session = this.#session
    // Like an owner who has several sessions of the account.
    this.#mayGuess = this.sessions.length < 2
    if (this.#mayGuess) return this.#signIn(this.#accountId)
    const latest = this.sessions.slice(-2)
    const guess = (): Draft => Calls.denyAgentConnect(Calls.holder(this.client, this.random.pick(latest)), wrongCode)
    const guesses = Array.from({ length: latest.length * 8 + 2 }, guess)
    this.#sayAll([...guesses.slice(0, 5), Calls.showAgentConnect(session, wrongCode), ...guesses.slice(5)],
      () =>
        this.#connect((waiting) => this.#say(Calls.approveAgentConnect(session, of(waiting.call, "userCode"), waiting.scopes), this.#next)))
  }

  // ---- keys

  #order(who: Calls.Bearer): Draft {
    const key = `${this.client}-o${this.#orders++}`
    const { markets } = this.desk.model
    if (markets.length === 0 || this.random.chance(0.2)) return Calls.cancelAll(who, key)
    const { parameters: { marketId, minQuantityAtoms, priceScale, quantityScale }, mark } = this.random.pick(markets)
    return Calls.place(who, key, marketId, decimal(Math.max(1, mark), priceScale), decimal(minQuantityAtoms, quantityScale))
  }

  #useAKey(): void {
    const [call] = this.keys.slice(-1)
    const who = call === undefined || this.random.chance(0.2) ? this.#session : Calls.agent(this.#agent.client, call)
    const ways = [this.#order(who), ...this.#usesOf(who)]
    this.#say(this.random.pick(ways), this.#next)
  }

  #usesOf(who: Calls.Bearer): ReadonlyArray<Draft> {
    return [
      this.#order(who),
      Calls.getCurrentApiKey(who),
      Calls.readOwn(who, "getBalance", "balance"),
      Calls.readOwn(who, "listOrders", "orders")
    ]
  }

  /** Orders at the same moment: now and then several, so that later commands find some of them waiting. */
  #crowd(who: Calls.Bearer): ReadonlyArray<Draft> {
    return Array.from({ length: this.random.chance(0.5) ? 5 : 1 }, () => this.#order(who))
  }

  /** Begins a read that waits for changes, just before its credential is revoked. */
  #waits(who: Calls.Bearer): void {
    if (!this.desk.isOpen() || !this.#beside.chance(waitingShare)) return
    this.desk.issue(Calls.waitForChanges(who, this.desk.model.sequence, waitedMs), () => {})
  }

  /** Tries to revoke another account's key: one that its owner has revoked, or a trader's. */
  revokeAnothersKey(): void {
    if (!this.desk.isOpen()) return
    const revoked = this.others.flatMap((other) => other.revoked)
    const [, , id = ""] = this.#beside.pick(this.desk.demo).apiKey.split("_")
    const keyId = revoked.length > 0 && this.#beside.chance(0.8) ? of(revoked.at(-1)!, "key.keyId") : `key_${id}`
    this.desk.issue(Calls.revokeApiKey(Calls.holder(this.client, this.sessions.at(-1)!), keyId), () => {})
  }

  /** Revokes a key while orders by it are in progress, now and then many, and sends another order after the revocation. */
  #revokeAKey(): void {
    if (this.keys.length === 0) return this.#letAnAgent()
    const at = this.random.below(this.keys.length)
    const who = Calls.agent(this.#agent.client, this.keys[at]!)
    const keyId = this.random.chance(0.05) ? "key_0" : of(this.keys[at]!, "key.keyId")
    const revoke = Calls.revokeApiKey(this.#session, keyId)
    this.#waits(who)
    this.#sayAll([...this.#crowd(who), revoke, this.#order(who)], (answers) => {
      if (answers.some(([answer]) => (answer?.text ?? "").includes("\"revoked\""))) {
        this.revoked.push(...this.keys.splice(at, 1))
        this.ended.push(who)
        for (const other of this.others) if (other.sessions.length > 0) other.revokeAnothersKey()
      }
      this.#sayAll(this.random.chance(0.5) ? [this.#order(who), revoke] : [this.#order(who)], this.#next)
    })
  }

  #actByWhatHasEnded(): void {
    if (this.ended.length === 0) return this.#look()
    const who = this.random.pick(this.ended)
    const ways = [...this.#looks(who), this.#order(who), this.#order(who), Calls.endCurrentSession(who)]
    this.#say(this.random.pick(ways), this.#next)
  }

  /** Uses a key on a route for owners only: an agent's, or a demo account's. */
  #keyOnAnOwnersRoute(): void {
    const demo: Calls.Bearer = (({ account, accountId, apiKey }) => ({
      client: this.#agent.client,
      credential: "trader" as const,
      token: apiKey,
      accountId,
      account
    }))(this.random.pick(this.desk.demo))
    const [call] = this.keys.slice(-1)
    const who = call === undefined || this.random.chance(0.4) ? demo : Calls.agent(this.#agent.client, call)
    const ways = [
      ...this.#looks(who).slice(0, 4),
      Calls.endCurrentSession(who),
      Calls.revokeApiKey(who, call === undefined ? "key_0" : of(call, "key.keyId")),
      Calls.denyAgentConnect(who, wrongCode),
      Calls.approveAgentConnect(who, wrongCode, ["read"]),
      Calls.beginRegistration(who, undefined, undefined)
    ]
    this.#say(this.random.pick(ways), this.#next)
  }

  readonly #acts: Readonly<Record<Act, () => void>> = {
    "sign in": () => this.#signIn(this.random.chance(0.5) ? this.#accountId : undefined),
    "sign in twice": () => this.#signInTwice(),
    "clone signs in": () => this.#cloneSignsIn(),
    "sign in as another": () => this.#signInAsAnother(),
    "wrong purpose": () => this.#wrongPurpose(),
    "add passkey": () => this.#addPasskey(),
    "add by what is gone": () => this.#addByWhatIsGone(),
    "remove passkey": () => this.#removePasskey(),
    "sign out": () => this.#signOut(),
    "sign out elsewhere": () => this.#signOutElsewhere(),
    look: () => this.#look(),
    "look elsewhere": () => this.#lookElsewhere(),
    "let an agent": () => this.#letAnAgent(),
    "turn an agent down": () => this.#turnAnAgentDown(),
    "approve more": () => this.#approveMore(),
    "guess codes": () => this.#guessCodes(),
    "use a key": () => this.#useAKey(),
    "revoke a key": () => this.#revokeAKey(),
    "act by what has ended": () => this.#actByWhatHasEnded(),
    "key on an owner's route": () => this.#keyOnAnOwnersRoute()
  }
}

/** Starts a run's owners. Returns those who hold keys. */
export const start = (
  desk: Desk,
  random: SimRandom,
  { bent = "nothing", calls, meanPauseMs, owners: count }: Options
): ReadonlyArray<Calls.KeyHolder> => {
  let left = calls
  const spend = (): boolean => left-- > 0
  const owners = Array.from({ length: count },
    (_, index) => new Owner(index, desk, random.split(`owner-${index}`), meanPauseMs, bent, spend))
  for (const owner of owners) {
    owner.others = owners.filter((other) => other !== owner)
    owner.start()
  }
  return owners
}
