/**
 * Refuses a home that another user could have written: its files name the programs that run as this user. A new home is made for
 * its owner alone.
 *
 * The rule is that of plugins (src/start/trust.ts): the home, and each directory above it, belongs to this user or to root, and no
 * other user may write to it. A command that only reads runs no program, so it may read any home, except config.json.
 */
import { join } from 'node:path'
import { SubstratError, shellWord } from '../errors.js'
import { changeMode, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { step } from '../host/disk/operation.js'
import { whyUntrusted } from '../start/trust.js'
import type { HomePaths } from './paths.js'

/** Call before the first file of a home is made. On return, no other user can write there, and none has. */
export function closeNewHome({ root }: HomePaths): void {
  const self = process.geteuid?.()
  const facts = statIfThere('home.stat', root)
  // An empty volume of a container is often open to all.
  if (facts !== undefined && facts.owner === self && (facts.mode & 0o077) !== 0)
    changeMode('home.close', root, 0o700)
  const names = facts === undefined ? [] : io.listDirectory('home.list', root)
  refuseUntrusted(root, [root, ...names.map((name) => join(root, name))])
}

/** For a home that exists: its mode is not changed, because others may have written to it before. */
export function refuseExposedHome({ root, homeFile, agents }: HomePaths): void {
  refuseUntrusted(root, [root, homeFile, agents])
}

/** The settings name MCP servers, targets, channels and options of providers. */
export function refuseExposedConfig({ root, configFile }: HomePaths): void {
  refuseUntrusted(root, [configFile])
}

function refuseUntrusted(root: string, paths: string[]): void {
  const why = step({ point: 'home.trust', name: 'read', path: root }, () => whyUntrusted(paths))
  if (why === undefined) return
  const isConfig = paths.length === 1 && paths[0] !== root
  throw new SubstratError(
    'HOME_EXPOSED',
    `${isConfig ? 'the settings' : 'the home'} ${paths[0]} ${isConfig ? 'are' : 'is'} not used: ${why}`,
    {
      hint: `read config.json there: it names programs that would run as you; then: chmod -R go-w ${shellWord(root)}; or set SUBSTRAT_HOME to a directory of your own`,
      facts: { path: paths[0] as string },
    },
  )
}
