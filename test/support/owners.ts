/** Gives files to another user, which only root can do. */
import { lchownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export function chownTree(root: string, owner: number): void {
  lchownSync(root, owner, owner)
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(root, name), owner, owner)
}
