/**
 * Runs with every suite: after each test its worker yields, to read incoming messages. Tests that never wait follow each other without a
 * turn of the event loop, and vitest gives up on a worker's report whose answer the worker has not read for a minute ("Timeout calling
 * onTaskUpdate"), though no test failed.
 */
import { afterEach } from "vitest"

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))
