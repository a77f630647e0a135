import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'
import type { Place } from './program.js'

/** The place of a program in the lab, with its directories. */
export function placeIn(lab: Lab, modelUrl: string, program: string): Place {
  const home = join(lab.root, 'user')
  const folders = { config: join(home, 'config'), data: join(home, 'data'), cache: join(home, 'cache') }
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true })
  return { home, ...folders, workspace: lab.workspace, modelUrl, program }
}
