/**
 * What processes are started with that run many seeds. Every start of a venue within a run takes tables of megabytes and drops them
 * again; glibc, as it comes, serves such from its heap once it has seen a few go, and what lies between them keeps that from
 * shrinking: 40 seeds took 870 MB so, and 530 MB with a threshold that stays, by which each goes back to the system as it is dropped;
 * some 95 MB of it are still in use between two seeds, behind the first as behind the fortieth.
 */
export const environment: NodeJS.ProcessEnv = { ...process.env, GLIBC_TUNABLES: "glibc.malloc.mmap_threshold=131072" }
