import type { TurnWork as KeptTurnWork } from '../../shared/src/program/kept-session.js'
import type { Server } from './server.js'
import type { NativeState } from './state.js'

export type TurnWork = KeptTurnWork<NativeState, Server>
