/** Shows a person what the agents of another home's bundle may run, and asks whether to import them. */
import { SubstratError, shellWord } from '../errors.js'
import { oneLine } from './output.js'
import { canAsk, choose } from './prompt.js'
import { stderr } from './stdio.js'

/** Throws USAGE unless the person agrees. */
export async function confirmImport(file: string, agents: string[]): Promise<void> {
  const from = file === '-' ? 'stdin' : file
  const trusting = `substrat import ${shellWord(file)} --trust`
  const what = `this home did not make the bundle ${from}`
  if (!canAsk()) {
    throw new SubstratError(
      'USAGE',
      `${what}, and its agents may run programs as you: ${agents.join(' | ')}`,
      {
        hint: `if you trust its author with that: ${trusting}`,
        facts: { agents },
      },
    )
  }
  stderr.line(`substrat: ${oneLine(what)}; its agents may run programs as you:`)
  for (const agent of agents) stderr.line(`  ${oneLine(agent)}`)
  if ((await choose('Import them? yes or no: ', ['yes', 'no'])) === 'yes') return
  throw new SubstratError('USAGE', `nothing was imported from ${from}`, {
    hint: `if you trust its author: ${trusting}`,
    facts: { agents },
  })
}
