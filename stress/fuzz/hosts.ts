/** Makes one host for each home of a mode, and closes all of them together. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usePlugin } from '../machine/commands.js'
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
  make(directory: string, salt: number, pace: Pace): Host
  close(): void
}

export async function openHosts(mode: Mode): Promise<Hosts> {
  if (mode === 'processes') return withProcesses()
  // Loads the module before the clock is virtual, so that later imports resolve at once.
  await import(pathToFileURL(join(FOLDER, MODEL)).href)
  const { name, version } = PLUGIN
  await usePlugin({ name, version, root: FOLDER, pjson: PLUGIN })
  return { make: (directory, salt, pace) => new MachineHost(directory, salt, pace), close: () => undefined }
}

async function withProcesses(): Promise<Hosts> {
  const lab = Lab.open()
  await lab.warm()
  linkModel(lab)
  return { make: (directory, _salt, pace) => new ProcessHost(directory, lab, pace), close: () => lab.close() }
}

/** Writes the same files as `substrat plugins link`. */
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
  const data = join(lab.environment('').XDG_DATA_HOME as string, 'substrat')
  mkdirSync(data, { recursive: true })
  const plugins = [{ type: 'link', name: PLUGIN.name, root }]
  writeFileSync(
    join(data, 'package.json'),
    JSON.stringify({ name: 'substrat', private: true, dependencies: {}, oclif: { schema: 1, plugins } }),
  )
}
