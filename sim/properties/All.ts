/** Every property of the simulator. All of them watch every run. */
import { addsUp } from "./addsUp.js"
import { agentsWait } from "./agentsWait.js"
import { answersEqualModel } from "./answersEqualModel.js"
import { answersInFull } from "./answersInFull.js"
import { answersWait } from "./answersWait.js"
import { approvalsAreTaken } from "./approvalsAreTaken.js"
import { authority } from "./authority.js"
import { band } from "./band.js"
import { batch } from "./batch.js"
import { blocks } from "./blocks.js"
import { book } from "./book.js"
import { booksOfTheirSequence } from "./booksOfTheirSequence.js"
import { botKeys } from "./botKeys.js"
import { cancel } from "./cancel.js"
import { challengesAnsweredOnce } from "./challengesAnsweredOnce.js"
import { closedSessions } from "./closedSessions.js"
import { commandsAreAsAsked } from "./commandsAreAsAsked.js"
import { connections } from "./connections.js"
import { conservation } from "./conservation.js"
import { conversations } from "./conversations.js"
import { damageIsDetected } from "./damageIsDetected.js"
import { delisting } from "./delisting.js"
import { directoriesAreKnown } from "./directoriesAreKnown.js"
import { disconnects } from "./disconnects.js"
import { dueActsBeforeMatching } from "./dueActsBeforeMatching.js"
import { dueInTime } from "./dueInTime.js"
import { dueIsDone } from "./dueIsDone.js"
import { durability } from "./durability.js"
import { endIsPrepared } from "./endIsPrepared.js"
import { eventsSayWhatWasDone } from "./eventsSayWhatWasDone.js"
import { everyCommandAnswered } from "./everyCommandAnswered.js"
import { everyRecordHasACause } from "./everyRecordHasACause.js"
import { failures } from "./failures.js"
import { feedRebuildsBook } from "./feedRebuildsBook.js"
import { factsAreTaken } from "./factsAreTaken.js"
import { favoritesAreTheirAccounts } from "./favoritesAreTheirAccounts.js"
import { fencedNeverActs } from "./fencedNeverActs.js"
import { followerOnlyByFaults } from "./followerOnlyByFaults.js"
import { funding } from "./funding.js"
import { fundsEqualModel } from "./fundsEqualModel.js"
import { givingUp } from "./givingUp.js"
import { grantsGiveOneKey } from "./grantsGiveOneKey.js"
import { historiesRebuilt } from "./historiesRebuilt.js"
import { historiesTellWhatWas } from "./historiesTellWhatWas.js"
import { idempotency } from "./idempotency.js"
import { identityEqualsModel } from "./identityEqualsModel.js"
import { identityIsAsAsked } from "./identityIsAsAsked.js"
import { identityRoom } from "./identityRoom.js"
import { inbox } from "./inbox.js"
import { keyAddresses } from "./keyAddresses.js"
import { keyUses } from "./keyUses.js"
import { keysLastTheirTime } from "./keysLastTheirTime.js"
import { lastWord } from "./lastWord.js"
import { lockIsHeld } from "./lockIsHeld.js"
import { ledgerAnswers } from "./ledgerAnswers.js"
import { ledgerBook } from "./ledgerBook.js"
import { ledgerCommands } from "./ledgerCommands.js"
import { ledgerIsSpared } from "./ledgerIsSpared.js"
import { ledgerMoney } from "./ledgerMoney.js"
import { liquidation } from "./liquidation.js"
import { leftAreLookedAt } from "./leftAreLookedAt.js"
import { listings } from "./listings.js"
import { lookups } from "./lookups.js"
import { markedFirst } from "./markedFirst.js"
import { marksBehind } from "./marksBehind.js"
import { marketPreviews } from "./marketPreviews.js"
import { marketsOfTheFile } from "./marketsOfTheFile.js"
import { metrics } from "./metrics.js"
import { moneyIsAsAsked } from "./moneyIsAsAsked.js"
import { noCredentialKept } from "./noCredentialKept.js"
import { noDefect } from "./noDefect.js"
import { oneCurrentTicketAFamily } from "./oneCurrentTicketAFamily.js"
import { orderOfThings } from "./orderOfThings.js"
import { ordersAreAsAsked } from "./ordersAreAsAsked.js"
import { watch, type Watcher } from "./Property.js"
import { pinned } from "./pinned.js"
import { previewsEqualDecisions } from "./previewsEqualDecisions.js"
import { pseudonymous } from "./pseudonymous.js"
import { quantity } from "./quantity.js"
import { rankings } from "./rankings.js"
import { rateLimit } from "./rateLimit.js"
import { readiness } from "./readiness.js"
import { readsAreAnswered } from "./readsAreAnswered.js"
import { readsAreAsAsked } from "./readsAreAsAsked.js"
import { readsEqualModel } from "./readsEqualModel.js"
import { readyAgain } from "./readyAgain.js"
import { reconciliations } from "./reconciliations.js"
import { reduceOnly } from "./reduceOnly.js"
import { replay } from "./replay.js"
import { restsOnDurable } from "./restsOnDurable.js"
import { revocations } from "./revocations.js"
import { roomIsFoundAgain } from "./roomIsFoundAgain.js"
import { roomIsKept } from "./roomIsKept.js"
import { schemaConformance } from "./schemaConformance.js"
import { sessionsOfCalendar } from "./sessionsOfCalendar.js"
import { shownIsDurable } from "./shownIsDurable.js"
import { spending } from "./spending.js"
import { staleRecovers } from "./staleRecovers.js"
import { snapshotsAreDurable } from "./snapshotsAreDurable.js"
import { snapshotsKeepUp } from "./snapshotsKeepUp.js"
import { solvency } from "./solvency.js"
import { standings } from "./standings.js"
import { startsAreGuarded } from "./startsAreGuarded.js"
import { stateEqualsModel } from "./stateEqualsModel.js"
import { streams } from "./streams.js"
import { tables } from "./tables.js"
import { toldAgain } from "./toldAgain.js"
import { streamedPrices } from "./streamedPrices.js"
import { transfersEnd } from "./transfersEnd.js"
import { versions } from "./versions.js"
import { waits } from "./waits.js"
import { whatIsOverIsForgotten } from "./whatIsOverIsForgotten.js"
import { wrongCodesAreCounted } from "./wrongCodesAreCounted.js"
import { zeroSum } from "./zeroSum.js"

/** Properties about the operator who looks after keys, the ledger and the markets. */
const ofOversight = (): ReadonlyArray<Watcher> => [
  watch(revocations),
  watch(reconciliations),
  watch(lastWord),
  watch(solvency),
  watch(marketPreviews)
]

/** Properties about the stream's clients. */
const ofStream = (): ReadonlyArray<Watcher> => [watch(streams), watch(toldAgain), watch(conversations), watch(disconnects)]

/** Properties about money on the ledger. */
const ofLedger = (): ReadonlyArray<Watcher> => [
  watch(ledgerMoney),
  watch(fundsEqualModel),
  watch(ledgerBook),
  watch(ledgerAnswers),
  watch(ledgerCommands),
  watch(ledgerIsSpared),
  watch(factsAreTaken),
  watch(moneyIsAsAsked),
  watch(givingUp),
  watch(approvalsAreTaken),
  watch(pinned),
  watch(spending),
  watch(restsOnDurable)
]

/** Properties about capacities. */
const ofRoom = (): ReadonlyArray<Watcher> => [watch(tables), watch(whatIsOverIsForgotten), watch(identityRoom)]

/** Properties about what is reported beside trading. */
const ofOperation = (): ReadonlyArray<Watcher> => [
  watch(noCredentialKept),
  watch(metrics),
  watch(readiness),
  watch(waits),
  watch(answersWait),
  watch(connections)
]

/** Properties about what a start begins from. */
const ofRecovery = (): ReadonlyArray<Watcher> => [watch(replay), watch(endIsPrepared), watch(snapshotsAreDurable), watch(snapshotsKeepUp)]

/** Liveness properties. */
const ofLiveness = (): ReadonlyArray<Watcher> => [
  watch(everyCommandAnswered),
  watch(readsAreAnswered),
  watch(dueIsDone),
  watch(dueInTime),
  watch(transfersEnd),
  watch(readyAgain),
  watch(roomIsFoundAgain),
  watch(staleRecovers)
]

/** Fresh watchers for one run, in the order in which they are asked. */
export const watchers = (): ReadonlyArray<Watcher> => [
  watch(noDefect),
  watch(orderOfThings),
  watch(versions),
  watch(everyRecordHasACause),
  watch(conservation),
  watch(zeroSum),
  ...ofLedger(),
  watch(book),
  watch(feedRebuildsBook),
  watch(eventsSayWhatWasDone),
  ...ofStream(),
  watch(band),
  watch(funding),
  watch(liquidation),
  watch(leftAreLookedAt),
  watch(markedFirst),
  watch(marksBehind),
  watch(delisting),
  watch(closedSessions),
  watch(sessionsOfCalendar),
  watch(booksOfTheirSequence),
  watch(quantity),
  watch(idempotency),
  watch(keysLastTheirTime),
  watch(keyUses),
  watch(commandsAreAsAsked),
  watch(previewsEqualDecisions),
  watch(batch),
  watch(cancel),
  watch(roomIsKept),
  watch(fencedNeverActs),
  watch(dueActsBeforeMatching),
  watch(lookups),
  watch(listings),
  watch(marketsOfTheFile),
  watch(inbox),
  watch(rateLimit),
  ...ofRoom(),
  watch(blocks),
  watch(durability),
  watch(lockIsHeld),
  watch(shownIsDurable),
  watch(damageIsDetected),
  watch(startsAreGuarded),
  watch(directoriesAreKnown),
  watch(streamedPrices),
  watch(addsUp),
  ...ofRecovery(),
  watch(followerOnlyByFaults),
  watch(historiesRebuilt),
  watch(reduceOnly),
  watch(answersEqualModel),
  watch(answersInFull),
  watch(ordersAreAsAsked),
  watch(stateEqualsModel),
  watch(readsEqualModel),
  watch(readsAreAsAsked),
  watch(historiesTellWhatWas),
  watch(favoritesAreTheirAccounts),
  watch(standings),
  watch(rankings),
  watch(pseudonymous),
  watch(schemaConformance),
  watch(authority),
  watch(identityIsAsAsked),
  watch(identityEqualsModel),
  watch(challengesAnsweredOnce),
  watch(grantsGiveOneKey),
  watch(agentsWait),
  watch(botKeys),
  watch(keyAddresses),
  ...ofOversight(),
  watch(wrongCodesAreCounted),
  watch(oneCurrentTicketAFamily),
  ...ofOperation(),
  watch(failures),
  ...ofLiveness()
]
