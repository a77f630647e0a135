/** The steps that the hint of an error gives a person: alternatives, each a list of steps. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RUN_AGAIN } from '../../src/errors.js'
import { repository } from '../support/lab.js'

export type Step =
  /** `into`: the command that gets its output on stdin. */
  | { kind: 'command'; args: string[]; env: Record<string, string>; into?: string[] }
  /** The failed command, with these further arguments. */
  | { kind: 'again'; args: string[] }
  /** A line of the shell without substrat. */
  | { kind: 'shell'; line: string }

const KEYED = /repeat the same substrat send and add (--retry(?: --turn-timeout \w+)?)/
const FLAG = /(?:\badd|message:) (--[a-z-]+(?: [a-z0-9]+)?)$/
const VALUE = /(?:'[^']*'|"[^"]*"|\\'|[^\s'"])+/
const COMMAND = new RegExp(`(?:^|[ :])((?:[A-Z_]+=${VALUE.source} )*)substrat ([a-z].*)$`)
const SHELL = /(?:^|: )((?:chmod|chown|mv|kill|rm) .*)$/

const NAMES = new Set(
  ['help', ...readdirSync(join(repository, 'commands'))].map((name) => name.replace(/\.ts$/, '')),
)

/** Installs from outside, or does not end by itself: no step of the walker. */
const OUTSIDE = /\b(PACKAGE|HOST)\b|\badd PATH\b|--follow\b|\bplugins install\b/

/** A part of the hint without a step is words, and no alternative. */
export function alternativesIn(hint: string): Step[][] {
  const alternatives: Step[][] = []
  for (const part of hint.split(/(?:; |, (?=then\b)|, (?=or substrat ))/)) {
    const steps = part.split(' && ').flatMap((words) => stepIn(words) ?? [])
    if (steps.length === 0) continue
    if (/^then\b/.test(part) && alternatives.length > 0) alternatives.at(-1)?.push(...steps)
    else alternatives.push(steps)
  }
  return alternatives
}

function stepIn(part: string): Step | undefined {
  if (OUTSIDE.test(part)) return undefined
  const [, keyed] = part.match(KEYED) ?? []
  if (keyed !== undefined) return { kind: 'again', args: keyed.split(' ') }
  if (part.includes(RUN_AGAIN)) return { kind: 'again', args: [] }
  const [, assigned = '', command] = part.match(COMMAND) ?? []
  // Not `use the version of substrat that …`.
  if (command !== undefined && NAMES.has(/^\w+/.exec(command)?.[0] ?? ''))
    return commandIn(assigned, command.replace(/ from cron$/, ''))
  const [, line] = part.match(SHELL) ?? []
  if (line !== undefined) return { kind: 'shell', line }
  const [, flag] = part.match(FLAG) ?? []
  return flag === undefined ? undefined : { kind: 'again', args: flag.split(' ') }
}

function commandIn(assigned: string, command: string): Step {
  const env = Object.fromEntries(
    wordsOf(assigned).map((word) => [word.split('=')[0] as string, word.slice(word.indexOf('=') + 1)]),
  )
  const [first = '', into] = command.split(' | substrat ')
  const args = wordsOf(first)
  // A channel runs until it is stopped. With --once the same command ends.
  if (args[0] === 'channel') args.push('--once')
  return { kind: 'command', args, env, ...(into && { into: wordsOf(into) }) }
}

/** The words of a command line, without their quotes. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(new RegExp(VALUE, 'g'))].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|"([^"]*)"|\\(')/g,
      (_, quoted, double, escaped) => quoted ?? double ?? escaped,
    ),
  )
}
