/** Makes one host for each home of a mode, and closes all of them together. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usePlugin } from '../machine/commands.js'
import { Databases } from '../support/databases.js'
import { Lab, repository } from '../support/lab.js'
import type { Host } from './host.js'
import { MachineHost } from './machine-host.js'
import type { Mode, Pace } from './pace.js'
import { ProcessHost } from './process-host.js'

const FOLDER = join(repository, 'stress/fuzz')
const MODEL = 'provider.mjs'
const PLUGIN = {
  name: 'substrat-fuzz',
  version: '1.0.0',
  type: 'module',
  oclif: {},
  substrat: { providers: { fuzz: MODEL } },
}

export interface Hosts {
  /** `directory` is unique to the home. */
  make(directory: string, salt: number, pace: Pace): Promise<Host>
  close(): void
}

export async function openHosts(mode: Mode): Promise<Hosts> {
  if (mode !== 'in-process') return withProcesses(mode === 'postgres')
  // Loads the module before the clock is virtual, so that later imports resolve at once.
  await import(pathToFileURL(join(FOLDER, MODEL)).href)
  const { name, version } = PLUGIN
  await usePlugin({ name, version, root: FOLDER, pjson: PLUGIN })
  return {
    make: async (directory, salt, pace) => new MachineHost(directory, salt, pace),
    close: () => undefined,
  }
}

async function withProcesses(inPostgres: boolean): Promise<Hosts> {
  const lab = Lab.open()
  await lab.warm()
  linkModel(lab)
  const databases = inPostgres ? new Databases(lab) : undefined
  return {
    make: async (directory, _salt, pace) => new ProcessHost(directory, lab, pace, await databases?.newHome()),
    close: () => {
      databases?.close()
      lab.close()
    },
  }
}

function linkModel(lab: Lab): void {
  const root = join(lab.root, 'model')
  mkdirSync(root)
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ ...PLUGIN, substrat: { providers: { fuzz: './provider.mjs' } } }),
  )
  writeFileSync(
    join(root, MODEL),
    `export { default } from ${JSON.stringify(pathToFileURL(join(FOLDER, MODEL)).href)}\n`,
  )
  lab.linkPlugin(PLUGIN.name, root)
}
