/** The user's npm, which the PATH names. */
import { spawn } from 'node:child_process'
import { SubstratError } from '../errors.js'
import { isPlainObject } from '../format.js'

/** The output of npm for programs, or the reason of its failure in one line. */
export type NpmResult = { value: unknown } | { why: string }

export interface NpmRun {
  args: string[]
  /** The directory whose packages it changes. */
  directory: string
  /** Whether its own messages go to stderr. */
  isVerbose: boolean
}

const OUTPUT_CHARACTERS_MAX = 4_000_000

/** Throws USAGE if there is no npm. `unable`: the command that then cannot run. */
export async function runNpm({ args, directory, isVerbose }: NpmRun, unable: string): Promise<NpmResult> {
  const flags = ['--json', '--no-audit', '--no-fund', `--loglevel=${isVerbose ? 'notice' : 'silent'}`]
  const env = { ...process.env, npm_config_update_notifier: 'false' }
  const child = spawn('npm', [...args, ...flags], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', isVerbose ? 'inherit' : 'ignore'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    if (text.length < OUTPUT_CHARACTERS_MAX) text += piece
  })
  const end = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal))
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? noNpm(unable) : error
  })
  const value = parsed(text)
  if (end === 0) return { value }
  return { why: whyOf(value) ?? `npm ended with ${end}; its messages: add --verbose` }
}

function noNpm(unable: string): SubstratError {
  return new SubstratError('USAGE', `${unable} needs npm, and there is no npm in PATH`, {
    hint: 'install npm; or add a plugin without dependencies from its directory or tarball, without npm: substrat plugins add PATH',
  })
}

/** npm prints nothing if there is nothing to say, and scripts may print before it does. */
function parsed(text: string): unknown {
  const start = text.search(/^[[{"]/m)
  try {
    return start < 0 ? undefined : JSON.parse(text.slice(start))
  } catch {
    return undefined
  }
}

/** `{"error":{"code":"E404","summary":"Not Found - GET https://…"}}`. */
function whyOf(value: unknown): string | undefined {
  const error = isPlainObject(value) ? value.error : undefined
  if (!isPlainObject(error)) return undefined
  const [summary] = String(error.summary ?? '').split('\n')
  return (
    [error.code, summary].filter((part) => typeof part === 'string' && part !== '').join(': ') || undefined
  )
}
