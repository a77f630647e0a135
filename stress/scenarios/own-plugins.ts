/** A scenario that links a plugin for itself only. */
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** Its environment. `root`: the directory of the lab. */
export function ownPlugins(root: string, scenario: string): { XDG_DATA_HOME: string } {
  return { XDG_DATA_HOME: join(root, 'user', `data-of-${scenario}`) }
}

/** Call it before it links its plugin. It keeps the plugins of the lab: a home in a database needs one. */
export function takePlugins(root: string, scenario: string): void {
  const { XDG_DATA_HOME: own } = ownPlugins(root, scenario)
  mkdirSync(own, { recursive: true })
  const common = join(root, 'user', 'data')
  if (existsSync(common)) cpSync(common, own, { recursive: true })
}
