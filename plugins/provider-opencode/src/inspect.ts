/** What OpenCode's own store has of a turn whose process died: `opencode export` reads it, and starts no agent. */
import { spawn } from 'node:child_process'
import type { Inspection, ProviderSettings } from 'substrat/provider'
import { objectOf, objectsOf } from '../../program-lines/src/json.js'
import { answerTo } from './messages.js'
import { readSettings } from './settings.js'
import { decode } from './state.js'

const EXPORT_MS_MAX = 30_000
const EXPORT_BYTES_MAX = 256 * 1024 * 1024

export async function inspectTurn(state: Uint8Array | null, settings: ProviderSettings): Promise<Inspection> {
  if (state === null) return { outcome: 'unknown' }
  const { session_id, message_id } = decode(state)
  // It was never seen that OpenCode has the prompt; the answer before it is no answer to it.
  if (message_id === null) return { outcome: 'unknown' }
  const { command } = readSettings(settings)
  const text = await exported(`${command} export ${session_id}`, settings.workspace)
  const messages = objectsOf(objectOf(parsed(text))?.messages)
  if (messages.length === 0) return { outcome: 'unknown' }
  const answer = answerTo(messages, message_id)
  const isWhole = answer !== undefined && answer.error === undefined && WHOLE.includes(answer.finish ?? '')
  return isWhole ? { outcome: 'finished', reply: answer.reply } : { outcome: 'unfinished' }
}

/** After `tool-calls` another message was to come. */
const WHOLE = ['stop', 'length']

/** Its stdout; empty where it fails, takes too long, or says more than is sensible. */
function exported(command: string, cwd: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const pieces: Buffer[] = []
    let bytes = 0
    const kill = (): void => {
      try {
        process.kill(-(child.pid as number), 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    const timer = setTimeout(kill, EXPORT_MS_MAX)
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > EXPORT_BYTES_MAX) kill()
      else pieces.push(piece)
    })
    child.on('error', () => resolve(''))
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? Buffer.concat(pieces).toString('utf8') : '')
    })
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
