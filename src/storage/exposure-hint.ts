/** The commands that close a home to other users, by the cause: the owner of a file, or its mode. */
import { shellWord } from '../errors.js'
import type { Untrusted } from '../start/trust.js'

const ELSEWHERE = 'set SUBSTRAT_HOME to a directory of your own'

/** Names at most `namedMax` files of other users, and the whole home for more. */
export function exposureHint(found: Untrusted[], root: string, namedMax: number): string {
  const isInside = ({ path }: Untrusted): boolean => path === root || path.startsWith(`${root}/`)
  const above = found.filter((each) => !isInside(each))
  const inside = found.filter(isInside)
  const takeAbove = ofCause(above, 'owner').map(({ path }) => takeOver('chown', [path]))
  const first = [...takeAbove, ...closeAbove(above), ...closeInside(inside, root)]
  const theirs = ofCause(inside, 'owner').map(({ path }) => path)
  if (theirs.length === 0)
    return above.length === 0
      ? `${first.join(' && ')}; or ${ELSEWHERE}`
      : `${ELSEWHERE}; or, if no other user needs ${above[0]?.path}: ${first.join(' && ')}`
  const named = theirs.length > namedMax ? [root] : theirs
  return [
    `look at ${named.join(', ')} first: programs that are named there would run as you`,
    // With -h, a symlink that another user has planted changes no file outside the home.
    `to keep what is there: ${[...first, takeOver('chown -hR', named)].join(' && ')}`,
    ...(named.every((path) => isRemovable(path, root))
      ? [`or to remove it with all its content: ${[...first, asRoot(`rm -r ${words(named)}`)].join(' && ')}`]
      : []),
  ].join('; ')
}

/** Other commands work without them. An inbox is not among them: it has mail of the person. */
function isRemovable(path: string, root: string): boolean {
  const name = path.slice(root.length + 1)
  return /^(config\.json|agents\/[^/]+(\/(session\.json|keys|server\.json|requests))?)$/.test(name)
}

function closeAbove(above: Untrusted[]): string[] {
  return ofCause(above, 'writable').map(({ path, owner }) => {
    const line = `chmod go-w ${shellWord(path)}`
    return owner === process.geteuid?.() ? line : asRoot(line)
  })
}

function closeInside(inside: Untrusted[], root: string): string[] {
  return ofCause(inside, 'writable').length === 0 ? [] : [`chmod -R go-w ${shellWord(root)}`]
}

/** Only root can change the owner of a file. */
function takeOver(command: string, paths: string[]): string {
  return asRoot(`${command} ${process.geteuid?.()} ${words(paths)}`)
}

function asRoot(line: string): string {
  return process.geteuid?.() === 0 ? line : `sudo ${line}`
}

function words(paths: string[]): string {
  return paths.map(shellWord).join(' ')
}

function ofCause(found: Untrusted[], cause: Untrusted['cause']): Untrusted[] {
  return found.filter((each) => each.cause === cause)
}
