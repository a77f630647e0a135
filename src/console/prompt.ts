/** Questions to a person at the terminal. */
import { isTerminal } from '../host/streams.js'
import { stderr } from './stdio.js'

/** Whether a person can be asked: stdin and stderr are terminals. stdout is for the result, and may be a pipe. */
export function canAsk(): boolean {
  return isTerminal(0) && stderr.isTTY
}

/**
 * Asks until the answer is one of the words or its first letter. Undefined at the end of the input, when `signal` aborts,
 * and after Ctrl-C while a command handles signals. Otherwise Ctrl-C ends the process, because the terminal stays in its
 * line mode.
 */
export async function choose<T extends string>(
  question: string,
  words: readonly T[],
  signal?: AbortSignal,
): Promise<T | undefined> {
  for (;;) {
    const line = await readLine(question, signal)
    if (line === undefined) return undefined
    const typed = line.trim().toLowerCase()
    const found = words.find((word) => word === typed || word[0] === typed)
    if (found !== undefined) return found
    stderr.line(`substrat: type ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
  }
}

/**
 * One line from the terminal, without its line break. Undefined as for `choose`. With `typed`, the person changes that text
 * instead of an empty line.
 */
export async function readLine(
  question: string,
  signal?: AbortSignal,
  typed?: string,
): Promise<string | undefined> {
  if (signal?.aborted === true) return undefined
  const { createInterface } = await import('node:readline')
  if (typed === undefined) stderr.write(stderr.shown(question))
  return new Promise((resolve) => {
    const lines =
      typed === undefined
        ? createInterface({ input: process.stdin, terminal: false })
        : createInterface({ input: process.stdin, output: process.stderr, prompt: question })
    const stop = (): void => lines.close()
    let line: string | undefined
    const end = (): void => {
      process.off('SIGINT', stop)
      process.stdin.off('error', stop)
      signal?.removeEventListener('abort', stop)
      // The prompt has no line break of its own if the input ended there.
      if (line === undefined) stderr.write('\n')
      process.stdin.pause()
      resolve(line)
    }
    if (process.listenerCount('SIGINT') > 0) process.once('SIGINT', stop)
    signal?.addEventListener('abort', stop)
    // A terminal that was closed.
    process.stdin.on('error', stop)
    lines.once('close', end)
    lines.once('line', (text) => {
      line = text
      lines.close()
    })
    if (typed === undefined) return
    // In its own line mode, readline gets Ctrl-C as a key.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    lines.prompt()
    lines.write(typed)
  })
}

/**
 * Discards what was typed before the question was there: it does not answer it. Left there, the terminal would
 * give it to the next read, here or in the shell.
 */
export async function discardTyped(): Promise<void> {
  const { stdin } = process
  if (!stdin.isTTY) return
  let isInterrupted = false
  const onData = (bytes: Buffer): void => {
    isInterrupted ||= bytes.includes(3)
  }
  const ignore = (): void => undefined
  stdin.on('error', ignore)
  try {
    // Outside of the line mode, a line without its end is readable too.
    stdin.setRawMode(true)
    stdin.on('data', onData)
    await new Promise((resolve) => setTimeout(resolve, DISCARD_MS))
  } catch {
    // A terminal that was closed.
  } finally {
    stdin.off('data', onData)
    stdin.pause()
    try {
      stdin.setRawMode(false)
    } catch {
      // As above.
    }
    stdin.off('error', ignore)
  }
  // In this mode, the terminal sends Ctrl-C as a character.
  if (isInterrupted) process.kill(process.pid, 'SIGINT')
}

/** Enough for the bytes that the terminal has. More may come later, and are then an answer. */
const DISCARD_MS = 20
