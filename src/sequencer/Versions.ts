/** The versions under which this program writes. */
import { programVersion } from "../domain/Version.js"
import { rulesVersion } from "../engine/Engine.js"
import { codecVersion } from "../journal/Block.js"
import type { Versions } from "../operations/Versions.js"

export const versions: Versions = { rules: rulesVersion, codec: codecVersion, program: programVersion }
