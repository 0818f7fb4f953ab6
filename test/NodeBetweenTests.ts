/**
 * Runs beside every suite: behind each test its worker reads what has come in. Tests that never wait run one behind the other
 * without the event loop getting a turn, and vitest gives up a report of a worker's that it has answered in time but the worker
 * has not read for a minute ("Timeout calling onTaskUpdate"), though no test failed.
 */
import { afterEach } from "vitest"

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))
