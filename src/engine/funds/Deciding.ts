/**
 * How commands about money on the ledger are decided: requests and approvals of owners, facts from the ledger and the signer, and
 * the stop of withdrawals.
 */
import { Refusal } from "../../domain/Refusal.js"
import { acceptedBy } from "../../domain/Shortfall.js"
import { done } from "../../operations/Outcome.js"
import { always, type Deciders } from "../Decider.js"
import { Event } from "../EventLog.js"
import * as Facts from "./Facts.js"
import * as Moving from "./Moving.js"
import * as Requests from "./Requests.js"

export const deciders: Deciders<"funds"> = {
  RequestDeposit: {
    admit: Requests.refusesRoom("deposit"),
    decide: (state, command) => [Requests.requestDeposit(state, command)]
  },
  RequestWithdrawal: {
    admit: Requests.refusesWithdrawal,
    decide: (state, command) => [Requests.requestWithdrawal(state, command)]
  },
  RequestPartyChange: {
    admit: Requests.refusesRoom("party_change"),
    decide: (state, command) => [Requests.requestPartyChange(state, command)]
  },
  CancelTransfer: {
    admit: Requests.refusesCancel,
    decide: (state, command) => [Requests.cancelTransfer(state, command)]
  },
  ApproveStep: {
    admit: Requests.refusesApproval,
    decide: (state, command) => [Requests.approveStep(state, command)]
  },
  BindParty: {
    admit: Facts.judgeParty,
    decide: (state, command) => [Facts.bindParty(state, command)]
  },
  PrepareStep: {
    admit: Facts.refuses(Facts.judgePreparation),
    decide: (state, command) => [Facts.prepareStep(state, command)]
  },
  BeginSubmission: {
    admit: Facts.refuses(Facts.judgeSubmission),
    decide: (state, command) => [Facts.beginSubmission(state, command)]
  },
  NoteSubmission: {
    admit: Facts.refuses(Facts.judgeAnswer),
    decide: (state, command) => [Facts.noteSubmission(state, command)]
  },
  NoteCompletion: {
    admit: Facts.refuses(Facts.judgeCompletion),
    decide: (state, command) => [Facts.noteCompletion(state, command)]
  },
  NoteScan: {
    admit: Facts.refuses(Facts.judgeScan),
    decide: (state, command) => [Facts.noteScan(state, command)]
  },
  RejectStep: {
    admit: Facts.refuses(Facts.judgeRejection),
    decide: (state, command) => [Facts.rejectStep(state, command)]
  },
  NoteLedgerOffset: {
    admit: ({ funds }, { offset }) => offset > funds.offset ? Refusal.none : Refusal.ledgerFactKnown,
    decide: ({ events, funds }, { offset, recordTimeEpochMs }) => {
      funds.offset = offset
      // The ledger does not always report its time; the latest one reported stays valid.
      funds.recordTimeEpochMs = Math.max(funds.recordTimeEpochMs, recordTimeEpochMs)
      events.event2(Event.LedgerOffsetNoted, offset, funds.recordTimeEpochMs)
      return [done]
    }
  },
  StopWithdrawals: {
    admit: always,
    decide: (state, stop) => {
      Moving.stop(state, stop)
      return [done]
    }
  },
  AllowWithdrawals: {
    admit: always,
    decide: ({ events, funds }) => {
      if (funds.stop !== null) {
        events.event1(Event.WithdrawalsStopped, 0)
        funds.acceptedAtoms = acceptedBy(funds.stop, funds.acceptedAtoms)
      }
      funds.stop = null
      return [done]
    }
  }
}
