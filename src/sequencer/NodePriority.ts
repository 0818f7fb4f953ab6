/** Lowers the priority of threads beside the writer. */
import * as os from "node:os"

/**
 * Lowers the priority of the current thread. Only Linux has priorities per thread: elsewhere this would affect the whole process.
 */
export const stepBack = (): void => {
  if (os.platform() === "linux") os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL)
}
