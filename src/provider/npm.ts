/**
 * The user's npm, which the PATH names. It dies with this process, as a program of an agent does.
 *
 * Settings of the user that would change where npm writes are overridden. Those for registries, proxies, certificates and scripts
 * hold.
 */
import { once } from 'node:events'
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'
import { randomUuid } from '../start/random.js'
import { environmentWithout } from './program.js'
import { startBehindBarrier } from './start-barrier.js'

/** The reason of its failure in one line. */
export type NpmResult = { why: string } | undefined

export interface NpmRun {
  args: string[]
  /** The directory whose packages it changes. */
  directory: string
  /** Whether its own messages go to stderr. */
  isVerbose: boolean
  /** Called once, if npm takes long. */
  onSlow(): void
}

const OUTPUT_CHARACTERS_MAX = 4_000_000
const SLOW_MS = 3000

const FLAGS = [
  '--json',
  '--no-audit',
  '--no-fund',
  '--global=false',
  '--location=project',
  '--workspaces=false',
  '--dry-run=false',
  '--package-lock-only=false',
]

/** By default, npm waits 70 s for a registry that cannot be reached. A user's own variables have precedence. */
const RETRIES = { npm_config_fetch_retry_mintimeout: '1000', npm_config_fetch_retry_maxtimeout: '4000' }

/** Statuses of a shell that cannot execute a program. */
const NOT_EXECUTED = [126, 127]

/** Throws USAGE if there is no npm. `unable`: the command that then cannot run. */
export async function runNpm(
  { args: [command = '', ...args], directory, isVerbose, onSlow }: NpmRun,
  unable: string,
): Promise<NpmResult> {
  const argv = ['npm', command, `--loglevel=${isVerbose ? 'notice' : 'silent'}`, ...FLAGS, ...args] as const
  const environment = {
    npm_config_update_notifier: 'false',
    ...RETRIES,
    ...process.env,
    ...environmentWithout(['SUBSTRAT_TOKEN']),
  }
  const { child, leash } = await startBehindBarrier(
    { argv: [...argv], cwd: directory },
    {
      environment,
      tag: { variable: 'SUBSTRAT_LAUNCH', value: randomUuid() },
      output: 'pipe',
      deadline: undefined,
    },
    { signal: new AbortController().signal },
    () => undefined,
  )
  let text = ''
  child.stdin?.end()
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    if (text.length < OUTPUT_CHARACTERS_MAX) text += piece
  })
  child.stderr?.resume()
  if (isVerbose) child.stderr?.pipe(process.stderr, { end: false })
  const timer = setTimeout(onSlow, SLOW_MS)
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  clearTimeout(timer)
  leash.release()
  if (code === 0) return undefined
  const why = whyOf(text)
  if (why === undefined && NOT_EXECUTED.includes(code ?? 0)) throw noNpm(unable)
  return { why: why ?? `npm ended with ${code ?? signal}; its messages: add --verbose` }
}

function noNpm(unable: string): SubstratError {
  return new SubstratError('USAGE', `${unable} needs npm, and there is no npm in PATH that can be executed`, {
    hint: 'install npm; or add a plugin without dependencies from its directory or tarball, without npm: substrat plugins add PATH',
  })
}

/** `{"error":{"code":"E404","summary":"Not Found - GET https://…"}}`, after the output of scripts. */
function whyOf(text: string): string | undefined {
  let error: unknown
  try {
    error = JSON.parse(text.slice(text.lastIndexOf('{\n  "error"'))).error
  } catch {
    return undefined
  }
  if (!isPlainObject(error)) return undefined
  const [summary] = String(error.summary ?? '').split('\n')
  const words = [error.code, summary].filter((part) => part !== undefined && part !== '')
  return words.length === 0 ? undefined : words.join(': ')
}
