/** Asks a person at the terminal before a command that cannot be undone. */
import { SubstratError, shellWord } from '../errors.js'
import { canAsk, choose } from './prompt.js'

const QUESTIONS = {
  terminate: (agents: string): string => `Terminate ${agents}? No turn runs after that; the log stays.`,
  remove: (agents: string): string => `Remove ${agents}, with logs and files? This cannot be undone.`,
}

/** Throws USAGE unless the person agrees. Without a terminal there is no question, and the command runs. */
export async function confirmLoss(
  verb: keyof typeof QUESTIONS,
  agent: string,
  isRecursive: boolean,
): Promise<void> {
  if (!canAsk()) return
  const name = shellWord(agent)
  const question = QUESTIONS[verb](isRecursive ? `${name} and every agent below it` : name)
  if ((await choose(`${question} yes or no: `, ['yes', 'no'])) === 'yes') return
  const command = `substrat ${verb} ${name}${isRecursive ? ' --recursive' : ''} --yes`
  throw new SubstratError('USAGE', 'nothing was changed', { hint: `without the question: ${command}` })
}
