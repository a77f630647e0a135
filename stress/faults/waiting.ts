/** Turns that wait for a person, and what that person does. */
import type { MachineLab } from '../machine/lab.js'
import { type FaultScenario, type Prepared, SHELL, withModel } from './scenario.js'

/** The token is told on stderr, once. */
async function parked(lab: MachineLab): Promise<string> {
  await withModel(lab, 'a', [{ say: 'first', tools: [SHELL] }, { say: 'done' }])
  const { stderr } = await lab.run(['send', 'a', 'hello'])
  return /token (\S+)/.exec(stderr)?.[1] as string
}

export const WAITING: FaultScenario[] = [
  deciding('resume-token', (token) => ['resume', 'a', '--token', token, '--approve']),
  deciding('resume-token-input', (token) => ['resume', 'a', '--token', token, '--deny', '--reason', 'no']),
  deciding('approve', (token) => ['approve', 'a', token.split('_')[1] as string], ['resume', 'a']),
  deciding('deny', () => ['deny', 'a'], ['resume', 'a']),
  deciding('token-rotate', () => ['token', 'rotate', 'a'], ['show', 'a']),
  deciding('cancel', () => ['cancel', 'a'], ['cancel', 'a']),
  deciding('supersede', () => ['send', 'a', '--key', 'k', '--if-waiting', 'supersede', 'other']),
]

/** Its next command is the same again: the same decision is told the same outcome. */
function deciding(name: string, argv: (token: string) => string[], next?: string[]): FaultScenario {
  return {
    name,
    async prepare(lab): Promise<Prepared> {
      const token = await parked(lab)
      return { argv: argv(token), next: next ?? argv(token) }
    },
  }
}
