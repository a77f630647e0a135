/** The directory of a turn's programs. */
import { SubstratError } from '../errors.js'
import { isDirectory } from '../files/user-files.js'

/** Throws USAGE. */
export function checkWorkspace(workspace: string): void {
  if (isDirectory(workspace)) return
  throw new SubstratError('USAGE', `the workspace ${workspace} does not exist or is not a directory`, {
    hint: 'create it first, or choose another: spawn and set have --workspace DIR',
    facts: { workspace },
  })
}
