/**
 * oclif's `plugins` commands, which write the list of plugins in place: a kill then leaves it empty, and the next one of them
 * would forget every plugin. Here oclif replaces the list, and the command keeps a copy of it while npm may write it.
 *
 * After a kill, the list is the old one or the new one, or it is cut short beside its copy (src/files/plugin-list.ts).
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { keepCopy, settleCopy, writePluginList } from '../files/plugin-list.js'
import { exclusivelyInList } from '../operations/exclusively.js'

const WRITING = /^(add|i|install|link|remove|reset|uninstall|unlink|update)$/

/** The class of @oclif/plugin-plugins through which all its commands write the list. */
interface PluginsClass {
  prototype: { savePJSON(list: object): Promise<void>; config: { name: string } }
}

/** Throws CONFIG_INVALID for a list that cannot be read. */
export async function guardingPluginList(
  root: string,
  listPath: string,
  argv: string[],
  run: () => Promise<unknown>,
): Promise<unknown> {
  const [first = '', second = ''] = argv
  const [topic, action = second] = first.split(':')
  if (topic !== 'plugins' || !WRITING.test(action)) return run()
  const work = { what: 'changing the list of plugins', command: `substrat plugins ${action}` }
  return exclusivelyInList(listPath, work, async () => {
    keepCopy(listPath)
    await replaceOnSave(root, listPath)
    try {
      return await run()
    } finally {
      settleCopy(listPath)
    }
  })
}

async function replaceOnSave(root: string, listPath: string): Promise<void> {
  const entry = createRequire(join(root, 'package.json')).resolve('@oclif/plugin-plugins')
  const file = pathToFileURL(join(dirname(entry), 'plugins.js')).href
  const { default: Plugins } = (await import(file)) as { default: PluginsClass }
  Plugins.prototype.savePJSON = async function (list) {
    writePluginList(listPath, { name: this.config.name, ...list })
  }
}
