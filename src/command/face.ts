/** Loads the code of a face: a server that shows agents to foreign programs. It is in a file of its own, so that no other command loads it. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { EXIT_STATUS, SubstratError } from '../errors.js'
import { isThere } from '../files/user-files.js'
import type { HomeAccess } from '../settings/home-address.js'

/** The place of substrat and of the home, and the options of the face. */
interface FaceOptions {
  /** The directory of substrat's package. */
  root: string
  home: string
  access: HomeAccess
  [option: string]: unknown
}

interface Face {
  run(options: FaceOptions): Promise<void>
}

/** Settles when the client has closed stdin. */
export async function runFace(name: 'acp' | 'operator', options: FaceOptions): Promise<void> {
  try {
    await loadFace(options.root, name).run(options)
  } catch (error) {
    const { code, message, hint } = Object(error) as Partial<SubstratError>
    // The face has a class of errors of its own.
    if (code === undefined || message === undefined || !Object.hasOwn(EXIT_STATUS, code)) throw error
    throw new SubstratError(code, message, hint == null ? {} : { hint })
  }
}

function loadFace(root: string, name: 'acp' | 'operator'): Face {
  const file = join(root, 'plugins', name, 'dist', 'index.cjs')
  if (!isThere(file))
    throw new SubstratError('UNEXPECTED', `${file} is missing`, {
      hint: 'install substrat again; in a checkout: npm run build',
    })
  return createRequire(file)(file) as Face
}
