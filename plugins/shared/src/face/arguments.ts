/** The arguments of a command that a client chose. */
import { FaceError } from './face-error.js'

/** Also for a value that begins with a hyphen. */
export function flags(given: Record<string, string | boolean | undefined>): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [value === true ? `--${name}` : `--${name}=${value}`]
  })
}

/** Throws USAGE for a name that the command would split elsewhere. */
export function optionFlags(options: Record<string, string>): string[] {
  return Object.entries(options).map(([name, value]) => {
    if (name === '' || name.includes('='))
      throw new FaceError(
        'USAGE',
        `${JSON.stringify(name.slice(0, 80))} cannot be the name of an option`,
        'give it a name without "="',
      )
    return `--option=${name}=${value}`
  })
}

/** An entry of `--allow`, which is a list with commas: a tool, or one with a pattern. Like `names` in src/schema/config.ts. */
const ALLOWED = /^[\w-]{1,128}(\([^()\n]{1,500}\))?$/

/** Throws USAGE for an entry that the command would split, or join with the next one. */
export function allowList(entries: string[] | undefined): string | undefined {
  const wrong = entries?.find((entry) => !ALLOWED.test(entry))
  if (wrong === undefined) return entries?.join(',')
  throw new FaceError(
    'USAGE',
    `${JSON.stringify(wrong.slice(0, 80))} in allow is not the name of a tool`,
    'give each tool an entry of its own, such as "write_file" or "shell(npm test*)"',
  )
}

/** Linux gives an argument at most 128 KiB, and all of them together with the environment 2 MiB. */
const WORD_BYTES_MAX = 128 * 1024 - 1
const BYTES_MAX = 1024 * 1024

/** Throws USAGE for words that no process can be started with. */
export function checkArguments(args: string[]): void {
  if (args.some((word) => word.includes('\0')))
    throw new FaceError('USAGE', 'a field has a NUL character', 'leave it out')
  let bytes = 0
  for (const word of args) {
    const size = Buffer.byteLength(word)
    bytes += size > WORD_BYTES_MAX ? BYTES_MAX : size
  }
  if (bytes >= BYTES_MAX)
    throw new FaceError(
      'USAGE',
      'the fields besides the message are larger than 128 KiB each, or 1 MiB together',
      'put a long text into a file of the workspace',
    )
}
