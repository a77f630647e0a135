import { claudeCode } from './claude-code.js'
import { opencode } from './opencode.js'
import type { RealProgram } from './program.js'

/** In the order of the table. */
export const PROGRAMS: RealProgram[] = [claudeCode, opencode]
