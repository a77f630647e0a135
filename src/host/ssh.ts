/** Runs a command on another machine, through the user's own `ssh`. */
import { spawn } from 'node:child_process'
import { SubstratError } from '../errors.js'

export interface SshPlace {
  /** With the user, if the URL has one. */
  host: string
  port: string | null
  /** SUBSTRAT_HOME there. Null: the default. */
  home: string | null
}

/** `ssh://[user@]host[:port][/home]`. A host cannot pass for an option of ssh. */
export function parseSshUrl(url: string): SshPlace {
  const found = /^ssh:\/\/((?:[\w.][\w.-]*@)?(?:\w[\w.-]*|\[[\da-f:]+\]))(?::(\d{1,5}))?(\/.*)?$/i.exec(url)
  if (found?.[1] === undefined)
    throw new SubstratError('USAGE', `${JSON.stringify(url.slice(0, 200))} is not the URL of a home`, {
      hint: 'write ssh://HOST, ssh://USER@HOST:PORT or ssh://HOST/PATH/OF/HOME',
    })
  const path = found[3] === '/' ? undefined : found[3]
  return { host: found[1].replace(/[[\]]/g, ''), port: found[2] ?? null, home: path ?? null }
}

/** `command`: a line for the shell there. Resolves with its exit status. Its messages go to stderr. */
export function runOver({ host, port }: SshPlace, command: string, stdin: Buffer): Promise<number | null> {
  const args = [...(port === null ? [] : ['-p', port]), '--', host, command]
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', args, { stdio: ['pipe', 'ignore', 'inherit'] })
    child.on('error', ({ message }) =>
      reject(new SubstratError('PROVIDER_FAILED', `ssh cannot be run: ${message}`, { hint: 'install ssh' })),
    )
    // The exit status says why the input was not read.
    child.stdin.on('error', () => undefined)
    child.stdin.end(stdin)
    child.on('close', (code) => resolve(code))
  })
}
