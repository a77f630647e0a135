/** Shows a person at the terminal the calls that an agent asks to run, and asks what to do. */
import type { PendingCalls } from '../operations/pending-calls.js'
import { oneLine, printableText } from './output.js'
import { choose } from './prompt.js'

/** Undefined at the end of the input: nothing is decided. */
export async function askAboutCalls(
  agent: string,
  { calls }: PendingCalls,
): Promise<'yes' | 'no' | undefined> {
  for (const { tool, input } of calls) {
    const fields = Object.entries(input).map(([name, value]) => `  ${oneLine(name)}: ${valueText(value)}`)
    const text = [`${agent} asks to run ${tool}`, ...fields].join('\n')
    process.stderr.write(`${printableText(text, process.stderr)}\n`)
  }
  return choose(calls.length === 1 ? 'Run it? [y]es or [n]o: ' : 'Run them? [y]es or [n]o: ', ['yes', 'no'])
}

/** Further lines are indented, so that an argument cannot imitate another call or the question. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.includes('\n') ? `\n    ${text.trimEnd().replaceAll('\n', '\n    ')}` : text
}
