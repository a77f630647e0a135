import { claudeCode } from './claude-code.js'
import { codex, codexAcp } from './codex.js'
import { execAgent } from './exec-agent.js'
import { opencode, opencodeAcp } from './opencode.js'
import type { RealProgram } from './program.js'

/** In the order of the table. */
export const PROGRAMS: RealProgram[] = [claudeCode, codex, opencode, opencodeAcp]

/** The programs whose turns are killed. */
export const KILLED_PROGRAMS: RealProgram[] = [...PROGRAMS, codexAcp, execAgent]
