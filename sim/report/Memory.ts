/**
 * What processes are started with that run many seeds. Every start of a venue within a run takes tables of megabytes and drops them
 * again; glibc, as it comes, serves such from its heap once it has seen a few go, and what lies between them keeps that from
 * shrinking: 40 seeds took 870 MB so, and 530 MB with a threshold that stays, by which each goes back to the system as it is dropped;
 * some 95 MB of it are still in use between two seeds, behind the first as behind the fortieth.
 */
export const environment: NodeJS.ProcessEnv = { ...process.env, GLIBC_TUNABLES: "glibc.malloc.mmap_threshold=131072" }

/**
 * What such processes are run with, two of them at once on two processors. Most of a run's code runs a few hundred times and not more:
 * the cheap compiler is given all of it at once, the dear one only what has run seven times as long as it usually waits for, and garbage
 * is collected by the thread that made it, since there is no other to spare. That takes a fifth less of the processors.
 */
export const flags: ReadonlyArray<string> = [
  "--max-semi-space-size=64",
  "--always-sparkplug",
  "--interrupt-budget=1000000",
  "--single-threaded-gc"
]
