/** The steps that the hint of an error gives a person: alternatives, each a list of steps. */
import { RUN_AGAIN } from '../../src/errors.js'

export type Step =
  | { kind: 'command'; args: string[] }
  /** The failed command, with these further arguments. */
  | { kind: 'again'; args: string[] }

const KEYED = /repeat the same substrat send and add (--retry(?: --turn-timeout \w+)?)/
const FLAG = /(?:\badd|message:) (--[a-z-]+(?: [a-z0-9]+)?)$/

/** Installs from outside, or does not end by itself: no step of the walker. */
const OUTSIDE = /\b(PATH|PACKAGE)\b|--follow\b/

/** A part of the hint without a step is words, and no alternative. */
export function alternativesIn(hint: string): Step[][] {
  const alternatives: Step[][] = []
  for (const part of hint.split(/(?:; |, (?=then\b)|, (?=or substrat )| && )/)) {
    const step = stepIn(part)
    if (step === undefined) continue
    if (/^then\b/.test(part) && alternatives.length > 0) alternatives.at(-1)?.push(step)
    else alternatives.push([step])
  }
  return alternatives
}

function stepIn(part: string): Step | undefined {
  if (OUTSIDE.test(part)) return undefined
  const [, keyed] = part.match(KEYED) ?? []
  if (keyed !== undefined) return { kind: 'again', args: keyed.split(' ') }
  if (part.includes(RUN_AGAIN)) return { kind: 'again', args: [] }
  const [, command] = part.match(/(?:^|[ :])substrat ([a-z].*)$/) ?? []
  if (command !== undefined) return { kind: 'command', args: wordsOf(command.replace(/ from cron$/, '')) }
  const [, flag] = part.match(FLAG) ?? []
  return flag === undefined ? undefined : { kind: 'again', args: flag.split(' ') }
}

/** The words of a command line, without their quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|\\'|[^\s'])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(')/g, (_, quoted, escaped) => quoted ?? escaped),
  )
}
