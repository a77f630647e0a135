/** The signs and colours that the terminal shows. */
import process from 'node:process'
import { isAscii } from '../output.js'

export interface Signs {
  arrow: string
  /** Between the parts of the status line. */
  dot: string
  ellipsis: string
  done: string
  failed: string
  /** Around text that is less important than the reply. */
  dim: [begin: string, end: string]
}

/** Whether colours help the reader of this stream. */
export function isColoured({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return isTTY === true && env.TERM !== 'dumb' && !env.NO_COLOR
}

export function signsOf(env: NodeJS.ProcessEnv = process.env): Signs {
  const dim: Signs['dim'] = env.NO_COLOR ? ['', ''] : ['\u001b[2m', '\u001b[22m']
  return isAscii(env)
    ? { arrow: '->', dot: '|', ellipsis: '...', done: 'ok', failed: 'failed', dim }
    : { arrow: '→', dot: '·', ellipsis: '…', done: '✓', failed: '✗', dim }
}
