/**
 * How much the suites draw. `DEPTH=full npm test` draws all that they can; without it each takes a share that finds what was
 * broken by hand, so that the whole test stays short.
 */
export const few = <A>(share: A, all: A): A => process.env["DEPTH"] === "full" ? all : share
