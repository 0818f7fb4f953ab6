/**
 * Owners and their agents: they open accounts with passkeys, sign in and out, add and remove passkeys, let agents have keys and
 * take them back, and look at all of it. They also do what they should not: answer twice, too late and with what is not theirs,
 * guess codes, poll too fast, act by what has ended. Each draws from a generator of its own, and all of them together make so many
 * calls and no more.
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
  /** Demo accounts, whose keys are tried on what is an owner's. */
  readonly demo: ReadonlyArray<Identity>
}

interface Passkey {
  readonly number: number
  /** The call whose answer said whose it is. */
  readonly owner: number
  /** What its authenticator counts to; 0 throughout of one that counts nothing. */
  signCount: number
  readonly counts: boolean
}

/** What came of a call, with its number. */
type Then = (answer: Answer | undefined, call: number) => void

/** An agent that waits. */
interface Waiting {
  readonly call: number
  readonly request: number
  readonly scopes: ReadonlyArray<string>
}

const unknownAccount = "acc_zzzzzz"
/** A code in the right form that hardly any agent has. */
const wrongCode = "ZZZZ-9999"

/** How often an owner insists on an answer, and so sends the same again after it was lost. */
const insistsShare = 0.3
/** How often what a passkey answers is wrong in one thing. */
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

/** How often owners do what they are bent on. */
const bentShare = 0.4
/** How often somebody waits for changes by what is about to be taken from him, and for how long. */
const waitingShare = 0.8
const waitedMs = 2_000
/** How often an owner answers a challenge where another one is due. */
const answeredElsewhereShare = 0.06
/** How often an owner who removes a passkey, or has just added one, removes the one that has opened the session which asks for it. */
const takenBackShare = 0.7
/** How often an owner names another account's key, revoked or not, as one of his own. */
const othersKeyShare = 0.15

class Owner implements Calls.KeyHolder {
  readonly passkeys: Array<Passkey> = []
  /** Calls that told tokens and keys: those that should stand, and those that were ended. */
  readonly sessions: Array<number> = []
  readonly keys: Array<number> = []
  readonly ended: Array<Calls.Bearer> = []
  /** Calls that told keys which were revoked. */
  readonly revoked: Array<number> = []
  /** What is done beside is drawn apart, and counts for none of the calls. */
  readonly #beside: SimRandom
  /** Others of this run. */
  others: ReadonlyArray<Owner> = []
  readonly client: string
  /** Who acts by his keys. */
  readonly agent: string
  readonly #agent: Calls.Bearer
  /** The passkeys whose registration opened sessions, by the call that told of each. */
  readonly #signers = new Map<number, Passkey>()
  /** Codes are guessed as soon as there are several sessions. */
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

  /** Begins a call; nothing more follows once there are to be none. */
  #say(draft: Draft, then: Then): void {
    if (!this.desk.isOpen() || !this.spend()) return
    const persistent = this.random.chance(insistsShare)
    const { id } = this.desk.issue({ ...draft, persistent }, (answer) => then(answer, id))
  }

  /** Begins several at the same moment, and goes on once the last is settled. */
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

  /** The session that was begun last, or now and then an earlier one. */
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

  /** Now and then it is a copy of the passkey that signs, which counts from where it was made. */
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

  /** Removes a passkey by the session that it has opened, on another one's word, and goes on by that session. */
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

  /** Asks for a challenge and goes on where it is told. */
  #ask(accountId: string | undefined, purpose: string | undefined, then: (asked: number) => void): void {
    this.#say(Calls.beginAuthentication(Calls.stranger(this.client), accountId, purpose), (answer, asked) => {
      if (answer?.status === 200) then(asked)
      else this.#next()
    })
  }

  /** The owner's account, where any session told it. */
  get #accountId(): string | undefined {
    const [first] = this.sessions
    return first === undefined ? undefined : of(first, "accountId")
  }

  #signIn(accountId: string | undefined): void {
    this.#ask(accountId, this.#perhaps(["sign_in"]), (asked) => {
      const draft = Calls.finishAuthentication(Calls.stranger(this.client), this.#sign(this.random.pick(this.passkeys), asked))
      const answerNow = (): void => this.#say(draft, (answer, call) => this.#signedIn(answer, call))
      // Somebody who takes long finds the challenge over, where the clock has gone on by then.
      if (this.random.chance(0.3)) this.desk.time.after(this.random.between(500, 4_000), answerNow)
      else answerNow()
    })
  }

  #signedIn(answer: Answer | undefined, call: number): void {
    if (answer?.status === 200) this.sessions.push(call)
    this.#next()
  }

  /** The same answer of a passkey, more than once: at the same moment, and again later. */
  #signInTwice(): void {
    this.#ask(undefined, undefined, (asked) => {
      const draft = Calls.finishAuthentication(Calls.stranger(this.client), this.#sign(this.random.pick(this.passkeys), asked))
      this.#sayAll(this.random.chance(0.5) ? [draft, draft] : [draft], (answers) => {
        for (const [answer, call] of answers) if (answer?.status === 200) this.sessions.push(call)
        this.#later(() => this.#say(draft, (answer, call) => this.#signedIn(answer, call)))
      })
    })
  }

  /** A copy of a passkey counts from where it was made. */
  #cloneSignsIn(): void {
    const passkey = this.passkeys.find(({ counts }) => counts)
    if (passkey === undefined) return this.#signIn(this.#accountId)
    this.#ask(undefined, undefined, (asked) => {
      const signCount = this.random.between(0, passkey.signCount)
      const proof: Proof = { kind: "get", passkey: passkey.number, asked, signCount }
      this.#say(Calls.finishAuthentication(Calls.stranger(this.client), proof), (answer, call) => this.#signedIn(answer, call))
    })
  }

  /** With his own passkey as somebody else, or as nobody. */
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
        // It proves nothing any more, not even what it was asked for.
        if (this.random.chance(0.6)) this.#say(signsIn(), signedIn)
        else this.#next()
      })
    })
  }

  /** Answers a challenge where one of another purpose is due, and then where it belongs: it is over by then. */
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
        // Now and then one that is registered already, or without the session.
        const known = this.random.chance(0.1) ? this.random.pick(this.passkeys) : undefined
        const passkey = known === undefined ? this.#newPasskey(begun) : { ...known, owner: begun }
        const who = this.random.chance(0.05) ? Calls.stranger(this.client) : session
        this.#say(Calls.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
      })
    })
  }

  /** Removes the passkey that has proved an addition before the addition is finished, both from the session of another one. */
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
    // The last one is refused: who means to remove one has another, mostly.
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

  /** Which sessions a removed passkey had opened nobody has written down: some that are tried from now on have ended. */
  #forget(at: number): void {
    this.passkeys.splice(at, 1)
    const [oldest, ...rest] = this.sessions
    if (oldest !== undefined && rest.length > 0) this.ended.push(Calls.holder(this.client, oldest))
  }

  // ---- sessions, and what is told

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

  /** All of its other sessions end, and are tried later as what has ended is. */
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

  /** A session that has ended is gone on with no more, but for trying it. */
  #lose(session: Calls.Bearer): void {
    const at = this.sessions.findIndex((call) => Calls.holder(this.client, call).token === session.token)
    if (at >= 0) this.sessions.splice(at, 1)
    this.ended.push(session)
  }

  /** With a good credential at somebody else's account. */
  #lookElsewhere(): void {
    const other = this.#other
    const accountId = other === undefined ? this.random.pick(this.desk.demo).accountId : other.#accountId!
    const bearers = [this.#session, ...this.keys.slice(-1).map((call) => Calls.agent(this.#agent.client, call))]
    const who = { ...this.random.pick(bearers), accountId }
    this.#say(this.random.pick(this.#looks(who)), this.#next)
  }

  // ---- agents

  /** An agent asks for a key; goes on with its code. */
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
      // Whoever gets a key tries what it is good for.
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
          // An answer that was lost is asked for again, and the same is told. Whoever is bent on revoking the key does not wait for that.
          if (answer?.status === 200 && this.bent !== "revoke a key" && this.random.chance(0.2)) {
            return this.#say(Calls.approveAgentConnect(session, code, waiting.scopes), () => this.#fetch(waiting))
          }
          // Whoever lets one agent after the other has some whose keys nobody fetches.
          if (this.bent === "let an agent" && this.random.chance(0.5)) return this.#next()
          // What was approved is fetched at once, or when the process may be another one.
          if (this.random.chance(0.4)) this.desk.time.after(this.random.between(500, 5_000), () => this.#fetch(waiting))
          else this.#fetch(waiting)
        })
      const show = (): void => this.#say(Calls.showAgentConnect(session, code), approve)
      // The agent asks for it before, now and then too fast.
      if (this.random.chance(0.3)) this.#say(this.#exchange(waiting), () => this.#say(this.#exchange(waiting), approve))
      else if (this.random.chance(0.5)) show()
      else approve()
    })
  }

  #turnAnAgentDown(): void {
    this.#connect((waiting) => {
      const code = of(waiting.call, "userCode")
      // Some are let to run out.
      if (this.random.chance(0.3)) return this.#next()
      this.#say(Calls.denyAgentConnect(this.#session, code),
        () =>
          this.#say(this.#exchange(waiting), () => this.#say(Calls.approveAgentConnect(this.#session, code, waiting.scopes), this.#next)))
    })
  }

  /** Approves other scopes than the agent asked for; then perhaps the right ones. */
  #approveMore(): void {
    this.#connect((waiting) => {
      const code = of(waiting.call, "userCode")
      const others = waiting.scopes.length === 2 ? ["read"] : ["read", "trade"]
      this.#say(Calls.approveAgentConnect(this.#session, code, others), () => this.#fetch(waiting))
    })
  }

  #guessCodes(): void {
    const session = this.#session
    // As one who has several of the account's sessions would.
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

  /** Orders at the same moment: several now and then, so that what comes behind them finds some that wait. */
  #crowd(who: Calls.Bearer): ReadonlyArray<Draft> {
    return Array.from({ length: this.random.chance(0.5) ? 5 : 1 }, () => this.#order(who))
  }

  /** Somebody waits for what changes, just before what lets him is taken away. */
  #waits(who: Calls.Bearer): void {
    if (!this.desk.isOpen() || !this.#beside.chance(waitingShare)) return
    this.desk.issue(Calls.waitForChanges(who, this.desk.model.sequence, waitedMs), () => {})
  }

  /** A key of another account as one of his own: one that was revoked by its owner, or one of whoever trades. */
  revokeAnothersKey(): void {
    if (!this.desk.isOpen()) return
    const revoked = this.others.flatMap((other) => other.revoked)
    const [, , id = ""] = this.#beside.pick(this.desk.demo).apiKey.split("_")
    const keyId = revoked.length > 0 && this.#beside.chance(0.8) ? of(revoked.at(-1)!, "key.keyId") : `key_${id}`
    this.desk.issue(Calls.revokeApiKey(Calls.holder(this.client, this.sessions.at(-1)!), keyId), () => {})
  }

  /** While orders by the key are under way, a crowd of them now and then, and once more behind it. */
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

  /** A key where only the owner may ask: an agent's, or a demo account's. */
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

/** Begins what the owners of a run do; tells who has keys. */
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
