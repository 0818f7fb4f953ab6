/**
 * The environment of processes that run many seeds. Every start of a venue within a run allocates tables of megabytes and frees them
 * again; by default glibc serves such blocks from its heap after a few were freed, where small blocks between them keep the heap from
 * shrinking. 40 seeds took 870 MB that way, and 530 MB with a fixed threshold, with which each block returns to the system when it is
 * freed; some 95 MB are still in use between two seeds, after the first as after the fortieth.
 */
export const environment: NodeJS.ProcessEnv = { ...process.env, GLIBC_TUNABLES: "glibc.malloc.mmap_threshold=131072" }

/**
 * The flags of such processes, two of which run on two processors. Most of a run's code is executed only a few hundred times: all of it
 * goes to the cheap compiler at once, only what has run seven times as long as usual goes to the expensive one, and garbage is collected
 * on the main thread, since there is no other processor to spare. That saves a fifth of the processor time.
 */
export const flags: ReadonlyArray<string> = [
  "--max-semi-space-size=64",
  "--always-sparkplug",
  "--interrupt-budget=1000000",
  "--single-threaded-gc"
]
