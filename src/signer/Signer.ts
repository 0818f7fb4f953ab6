/**
 * The signer's own decisions, over a store of records: keys that are made, pins that change, and what is signed. One request is
 * decided at a time. What an approval was used for, the passkey's counter and what the treasury gave are durable before a signature
 * leaves; so whoever asks again after a crash gets the same signature, or none.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { PasskeyVerifier } from "../identity/PasskeyVerifier.js"
import { type Site } from "./Assertions.js"
import * as Ed25519 from "./Ed25519.js"
import { KeyStore, StoreFailed } from "./KeyStore.js"
import { PartySigner, type SignerError, SignerRefused, SignerUnavailable } from "./PartySigner.js"
import * as Pins from "./Pins.js"
import type { Limits } from "./Policy.js"
import * as Records from "./Records.js"
import type { AccountKeys, NewParty, PartyKey, Repin, Signed, SignRequest, SignTopology } from "./Requests.js"
import * as Signing from "./Signing.js"
import * as Topology from "./Topology.js"
