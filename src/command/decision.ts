/** Reads the decision in `resume --token T` with `--approve`, `--deny`, `--input` or `--result`. */

import { readStdin } from '../console/input.js'
import { SubstratError, shellWord } from '../errors.js'
import { readUserFile } from '../files/user-files.js'
import type { Decision } from '../schema/words.js'

export interface DecisionFlags {
  token?: string | undefined
  approve: boolean
  deny: boolean
  input?: string | undefined
  result?: string | undefined
  reason?: string | undefined
  failed: boolean
  call?: string | undefined
}

interface Given {
  decision: Decision
  text: string
  isFailed?: boolean
  call?: string | null
}

/** Undefined without a decision. Throws USAGE for `--token` without a decision, and for a decision without a token. */
export async function parseDecision(
  agent: string,
  flags: DecisionFlags,
): Promise<(Given & { token: string }) | undefined> {
  if (flags.token === '-' && (flags.result === '-' || flags.input === '-')) {
    const other = flags.result === '-' ? 'result' : 'answer'
    throw new SubstratError('USAGE', `stdin cannot be both the token and the ${other}`, {
      hint: 'pass the token in SUBSTRAT_TOKEN',
    })
  }
  const decision = await decisionOf(flags)
  if (decision === undefined) {
    // A plain resume ignores SUBSTRAT_TOKEN in the environment.
    if (flags.token === undefined || flags.token === process.env.SUBSTRAT_TOKEN) return undefined
    throw new SubstratError('USAGE', '--token needs a decision', {
      hint: 'add --approve, --deny, --input TEXT or --result FILE',
    })
  }
  if (flags.token === undefined) {
    throw new SubstratError('USAGE', `--${decision.decision} needs a resume token`, {
      hint: `add --token TOKEN, or - to read it from stdin, or set SUBSTRAT_TOKEN; on this machine: ${commandWithoutToken(agent, decision.decision)}`,
    })
  }
  const token = flags.token === '-' ? (await readStdin()).trim() : flags.token
  return { token, ...decision }
}

/** The command that makes the same decision without a token that was handed out. It needs access to the home. */
function commandWithoutToken(agent: string, decision: Decision): string {
  const word = shellWord(agent)
  if (decision === 'input') return `substrat answer ${word} '…'`
  if (decision === 'result')
    return `substrat token rotate ${word} | substrat resume ${word} --token - --result FILE`
  return `substrat ${decision} ${word}`
}

async function decisionOf(flags: DecisionFlags): Promise<Given | undefined> {
  if (flags.approve) return { decision: 'approve', text: '' }
  if (flags.deny) return { decision: 'deny', text: flags.reason ?? '' }
  if (flags.input !== undefined)
    return { decision: 'input', text: flags.input === '-' ? await readStdin() : flags.input }
  if (flags.result !== undefined) {
    const text = flags.result === '-' ? await readStdin() : readResult(flags.result)
    return { decision: 'result', text, isFailed: flags.failed, call: flags.call ?? null }
  }
  return undefined
}

function readResult(path: string): string {
  try {
    return readUserFile(path)
  } catch (error) {
    throw new SubstratError('USAGE', `cannot read the file of --result: ${(error as Error).message}`, {
      hint: 'name an existing file',
    })
  }
}
