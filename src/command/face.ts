/** Loads the code of a face: a server that shows agents to foreign programs. It is in a file of its own, so that no other command loads it. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { SubstratError } from '../errors.js'
import { isThere } from '../files/user-files.js'

/** The place of substrat and of the home, and the options of the face. */
interface FaceOptions {
  root: string
  home: string
  [option: string]: unknown
}

interface Face {
  /** Settles when the client has closed stdin. */
  run(options: FaceOptions): Promise<void>
}

/** `root`: the directory of substrat's package. */
export function loadFace(root: string, name: 'acp' | 'operator'): Face {
  const file = join(root, 'plugins', name, 'dist', 'index.cjs')
  if (!isThere(file))
    throw new SubstratError('UNEXPECTED', `${file} is missing`, {
      hint: 'install substrat again; in a checkout: npm run build',
    })
  return createRequire(file)(file) as Face
}
