/** Prints a story line by line, for debugging. */
import type { Harm } from './steps.js'
import type { StepDone } from './story.js'

const WORDS_MAX = 160
const SHORT_MAX = 40
const NOBODY_THERE = 3
const IN_ALL = /^--(json|provider|workspace|allow)$|^fuzz$|^\/.*\/workspace$|^spawn_agent,/

export function tell(steps: StepDone[]): string[] {
  return steps.flatMap((step, index) =>
    linesOf(step).map((line, at) => `${at === 0 ? String(index).padStart(4) : '    '}  ${line}`),
  )
}

function linesOf({ step, done, isHarmed }: StepDone): string[] {
  if (step.kind === 'clock') return [`the clock is set by ${step.ms} ms`]
  if (step.kind === 'cut') return ['the power is cut; recovery']
  const lines = done.map(({ command, told }) => {
    if (told.status === NOBODY_THERE && !told.isHarmed)
      return `${told.argv.slice(0, 2).join(' ').slice(0, SHORT_MAX)}…: no such agent`
    const words = told.argv
      .filter((word) => !IN_ALL.test(word))
      .map((word) => (word.length > WORDS_MAX ? `${word.slice(0, WORDS_MAX)}…` : word))
      .join(' ')
    const harm =
      told.isHarmed && command.harm !== null
        ? `  [${harmText(command.harm)}]`
        : told.isHarmed
          ? '  [killed with the others]'
          : ''
    const why =
      told.status === 0 ? '' : `  ${told.stderr.trim().split('\n').at(-1)?.slice(0, WORDS_MAX) ?? ''}`
    return `${words}${harm} -> ${told.status}${why}`
  })
  if (step.clockOffMs !== 0) lines.unshift(`the clock is off by ${step.clockOffMs} ms for:`)
  return isHarmed
    ? [...lines, `recovery${step.recoveryHarms.map((harm) => ` [${harmText(harm)}]`).join('')}`]
    : lines
}

function harmText(harm: Harm): string {
  const { harm: what, ...rest } = harm
  return `${what} ${Object.values(rest).join(' ')}`
}
