import { readFileSync } from 'node:fs'

/** Ignores SIGHUP if `nohup` or the shell ignored it. Node resets every signal to its default at its start. */
export function keepHangup(): void {
  if (!isHangupIgnored()) {
    delete process.env.SUBSTRAT_HANGUP
    return
  }
  // The shutdown of a turn reads this variable, and so does a substrat that this one starts.
  process.env.SUBSTRAT_HANGUP = 'ignored'
  process.on('SIGHUP', () => undefined)
}

/** For `node bin/run.js`: whether the parent process (`nohup` or a shell) ignores SIGHUP. */
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
