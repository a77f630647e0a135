import type { TurnWork as KeptTurnWork } from '../../shared/src/program/kept-session.js'
import type { JsonProgram } from '../../shared/src/program/program.js'
import type { NativeState } from './state.js'

export type TurnWork = KeptTurnWork<NativeState, JsonProgram>
