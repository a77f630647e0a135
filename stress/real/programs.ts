import { claudeCode } from './claude-code.js'
import { codex } from './codex.js'
import { opencode, opencodeAcp } from './opencode.js'
import type { RealProgram } from './program.js'

/** In the order of the table. */
export const PROGRAMS: RealProgram[] = [claudeCode, codex, opencode, opencodeAcp]
