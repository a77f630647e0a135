/** The hosts of a mode: made for each home, closed together. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { usePlugin } from '../machine/commands.js'
import { repository } from '../support/lab.js'
import { MachineHost } from './machine-host.js'
import type { MakeHost } from './trial.js'

export type Mode = 'in-process' | 'processes'

const FOLDER = join(repository, 'stress/fuzz')
const MODEL = 'provider.mjs'

export async function openHosts(_mode: Mode, _directory: string): Promise<{ make: MakeHost; close(): void }> {
  // Once before any clock is ours: from then on it is there at once.
  await import(pathToFileURL(join(FOLDER, MODEL)).href)
  await usePlugin({
    name: 'fuzz',
    version: '1.0.0',
    root: FOLDER,
    pjson: { substrat: { providers: { fuzz: MODEL } } },
  })
  return { make: (name, salt) => new MachineHost(name, salt), close: () => undefined }
}
