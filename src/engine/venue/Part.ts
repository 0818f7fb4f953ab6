/** The scalar values of the state. */
import { holds, type Part } from "../Part.js"
import { type State, valueNames, type Values } from "../State.js"

const valuesOf = (state: State): Readonly<Record<string, unknown>> => Object.fromEntries(valueNames.map((name) => [name, state[name]]))

export const part: Part = {
  encode: (state, into) => into.json("venue.values", valuesOf(state)),
  restore: (state, from) => {
    const values = from.json("venue.values") as Values
    for (const name of valueNames) restoreValue(state, values, name)
  },
  canonical: (state, feed) => feed(`venue ${JSON.stringify(valuesOf(state))}`),
  firstBroken: holds
}

const restoreValue = <K extends keyof Values>(state: Values, values: Values, name: K): void => {
  state[name] = values[name]
}
