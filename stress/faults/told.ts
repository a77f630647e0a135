/** Checks the exit status and the message of a command that met a fault. */
import type { Operation } from '../../src/host/disk/operation.js'
import type { LabEnded } from '../machine/lab.js'
import { isSync } from './synced.js'

export interface Told extends LabEnded {
  /** The steps that the fault hit. */
  hit: Operation[]
  /** The same command has succeeded since. */
  isDone?: boolean
}

/** The line that acknowledges a stored message. */
const ACKNOWLEDGED = /^substrat: (?:queued|sent to .+) as message /m
const MISCONFIGURED = 8
const STORAGE_FAILED = 11
const SYNC_FAILED = 15

/**
 * Checks the exit status against the documented table: 11 if storage failed, 15 if a sync failed, otherwise the usual
 * one. The message must say what failed, where, and what to run next.
 */
export function* wrongInEnd(
  { status, stderr, hit, isHung }: Told,
  usual: Pick<LabEnded, 'status' | 'stdout'>,
  argv: string[],
): Iterable<string> {
  const command = argv.slice(0, 2).join(' ')
  if (isHung) return yield `${command} ends`
  if (status === 'killed') return
  if (ACKNOWLEDGED.test(stderr) && status !== 0 && status !== usual.status)
    yield `${command} exits 0 after it has acknowledged a message, not ${status}: ${stderr.trim()}`
  if (/\n {4}at /.test(stderr)) yield `${command} prints no stack: ${stderr.slice(0, 400)}`
  const isSynced = hit.some(isSync)
  const isOther = !hit.every(isSync)
  // The provider reports errors of the user's own files.
  const isProviders = hit.some(({ point }) => point === 'user_file.read')
  const allowed = [
    ...(isProviders ? [MISCONFIGURED] : []),
    usual.status,
    0,
    // The new settings were not synced, so they never replaced the old ones.
    ...(isOther || hit.some(({ point }) => point === 'user_file.fsync') ? [STORAGE_FAILED] : []),
    ...(isSynced ? [SYNC_FAILED] : []),
  ]
  if (!allowed.includes(status))
    yield `${command} exits ${[...new Set(allowed)].join(' or ')}, not ${status}: ${stderr.trim()}`
  if (status !== STORAGE_FAILED && status !== SYNC_FAILED) return
  const lines = stderr.trimEnd().split('\n')
  if (!lines.some((line) => /^substrat: .*\/.*\(.+\)$/.test(line)))
    yield `${command} says what failed, where, and what to run next: ${lines.at(-1)}`
}
