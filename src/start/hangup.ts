import { readFileSync } from 'node:fs'

/** Ignores SIGHUP where `nohup`, or the shell, had it ignored: Node sets every signal to its default. */
export function keepHangup(): void {
  if (!isHangupIgnored()) {
    delete process.env.SUBSTRAT_HANGUP
    return
  }
  // For the turn that is stopped by signals, and for what substrat starts in its turn.
  process.env.SUBSTRAT_HANGUP = 'ignored'
  process.on('SIGHUP', () => undefined)
}

/** Of who runs bin/run.js with `node` itself: whether that was by `nohup`, or in a shell that ignores it. */
function isHangupIgnored(): boolean {
  const { SUBSTRAT_HANGUP: told, _: program = '' } = process.env
  if (told !== undefined) return told === 'ignored'
  if (program.endsWith('/nohup')) return true
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'utf8')
    const [, lastDigit = '0'] = /^SigIgn:.*(.)$/m.exec(status) ?? []
    return (Number.parseInt(lastDigit, 16) & 1) === 1
  } catch {
    return false
  }
}
