/** Questions to a person at the terminal. */
import { isTerminal } from '../host/streams.js'
import { stderr } from './stdio.js'

/** Whether a person can be asked: stdin and stderr are terminals. stdout is for the result, and may be a pipe. */
export function canAsk(): boolean {
  return isTerminal(0) && stderr.isTTY
}

/**
 * Asks until the answer is one of the words or its first letter. Undefined at the end of the input, and after Ctrl-C
 * while a command handles signals. Otherwise Ctrl-C ends the process, because the terminal stays in its line mode.
 */
export async function choose<T extends string>(
  question: string,
  words: readonly T[],
): Promise<T | undefined> {
  for (;;) {
    const line = await readLine(question)
    if (line === undefined) return undefined
    const typed = line.trim().toLowerCase()
    const found = words.find((word) => word === typed || word[0] === typed)
    if (found !== undefined) return found
    stderr.line(`substrat: type ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
  }
}

/** One line from the terminal, without its line break. */
async function readLine(question: string): Promise<string | undefined> {
  const { createInterface } = await import('node:readline')
  stderr.write(stderr.shown(question))
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin, terminal: false })
    const stop = (): void => lines.close()
    let line: string | undefined
    const end = (): void => {
      process.off('SIGINT', stop)
      // The prompt has no line break of its own if the input ended there.
      if (line === undefined) stderr.write('\n')
      process.stdin.pause()
      resolve(line)
    }
    if (process.listenerCount('SIGINT') > 0) process.once('SIGINT', stop)
    lines.once('close', end)
    lines.once('line', (text) => {
      line = text
      lines.close()
    })
  })
}
