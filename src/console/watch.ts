/** `--watch`: draws a screen again when it has changed, until Ctrl-C. */
import { clock, sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import { columnsOf } from './print/hanging.js'
import { stdout } from './stdio.js'

const PAUSE_MS_MIN = 500

function canRedraw(): boolean {
  return stdout.isTTY && process.env.TERM !== 'dumb'
}

export function refuseWithoutTerminal(isJson: boolean): void {
  if (canRedraw() && !isJson) return
  throw new SubstratError('USAGE', '--watch needs a terminal', {
    hint: 'in a script, run the same command without --watch, or follow one agent: substrat log AGENT --follow',
  })
}

/** The size of the terminal. One row stays free for the cursor. */
export function terminalSize(): { columns: number; rows: number } {
  return { columns: columnsOf(stdout), rows: (stdout.rows || 24) - 1 }
}

/** `isOpen` is false once the terminal is gone. A home with very many agents is read less often. */
export async function redraw(draw: () => string, isOpen: () => boolean): Promise<void> {
  let drawn = ''
  while (isOpen()) {
    const began = clock.monotonic()
    const lines = draw().split('\n').slice(0, terminalSize().rows)
    const text = lines.map((line) => `${line}\u001b[K\n`).join('')
    if (text !== drawn) stdout.write(`\u001b[H${drawn === '' ? '\u001b[2J' : ''}${text}\u001b[J`)
    drawn = text
    await sleep(Math.max(PAUSE_MS_MIN, 4 * (clock.monotonic() - began)))
  }
}
