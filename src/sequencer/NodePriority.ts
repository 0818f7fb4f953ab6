/** How threads beside the writer let it go first where there is little of the processor. */
import * as os from "node:os"

/** Sets the thread at hand back. Only Linux has priorities of threads: elsewhere the whole process would be set back. */
export const stepBack = (): void => {
  if (os.platform() === "linux") os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL)
}
