/** How commands about the venue as a whole are decided: its opening and its starts, halts, and the passing of time. */
import { assert } from "../../domain/Assert.js"
import { minutesOf } from "../../domain/Retention.js"
import { type Done, done } from "../../operations/Outcome.js"
import type { Versions } from "../../operations/Versions.js"
import { always, type Deciders } from "../Decider.js"
import * as Due from "../Due.js"
import { Event } from "../EventLog.js"
import { revive } from "../markets/Freshness.js"
import type { State } from "../State.js"

const setVersions = (state: State, { codec, program, rules }: Versions): void => {
  state.rules = rules
  state.codec = codec
  state.program = program
}

const setHalt = (state: State, halted: boolean): ReadonlyArray<Done> => {
  const wasHalted = state.halted
  state.halted = halted
  state.events.event1(Event.HaltSet, halted ? 1 : 0)
  // Lifting a halt that is not on changes nothing: no market resumes, and everything due has been done already.
  if (halted || !wasHalted) return [done]
  for (const market of state.markets) revive(state, market)
  // What fell due during the halt is done before anything can trade again.
  Due.run(state)
  return [done]
}

export const deciders: Deciders<"venue"> = {
  OpenVenue: {
    admit: always,
    decide: (state, command) => {
      assert(state.rules === 0, "a venue is opened once")
      state.environment = command.environment
      setVersions(state, command)
      state.events.event1(Event.VenueOpened, command.rules)
      return [done]
    }
  },
  StartVenue: {
    admit: always,
    decide: (state, command) => {
      assert(state.rules !== 0, "a venue is opened before it is started again")
      setVersions(state, command)
      state.events.event2(Event.VenueStarted, command.rules, command.codec)
      return [done]
    }
  },
  PassTime: {
    admit: always,
    decide: (state) => {
      state.events.event1(Event.TimePassed, state.atEpochMs)
      return [done]
    }
  },
  HaltEngine: {
    admit: always,
    decide: (state) => setHalt(state, true)
  },
  ResumeEngine: {
    admit: always,
    decide: (state) => setHalt(state, false)
  },
  SetLimits: {
    admit: always,
    decide: (state, { retentionMs }) => {
      state.setRetention(minutesOf(retentionMs))
      state.events.event1(Event.RetentionSet, retentionMs)
      return [done]
    }
  }
}
