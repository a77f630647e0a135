/** The content of a directory: every path below it with its bytes, or undefined for a directory. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Parents come before their entries. */
export type Image = Map<string, Buffer | undefined>

export function readImage(root: string): Image {
  const image: Image = new Map()
  const walk = (prefix: string): void => {
    for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
      const path = prefix + entry.name
      if (entry.isDirectory()) {
        image.set(path, undefined)
        walk(`${path}/`)
      } else if (entry.isFile()) image.set(path, readFileSync(join(root, path)))
    }
  }
  walk('')
  return image
}

/** Makes the directory equal to the image. */
export function writeImage(root: string, image: Image): void {
  rmSync(root, { recursive: true, force: true })
  mkdirSync(root)
  for (const [path, bytes] of image) {
    if (bytes === undefined) mkdirSync(join(root, path), { mode: 0o700 })
    else writeFileSync(join(root, path), bytes, { mode: 0o600 })
  }
}

/** Equal for images with equal names and bytes. `sameness` can map bytes to a simpler value first. */
export function digestOf(
  image: Image,
  sameness: (path: string, bytes: Buffer) => Buffer | string = (_, bytes) => bytes,
): string {
  const hash = createHash('sha1')
  for (const path of [...image.keys()].sort()) {
    const bytes = image.get(path)
    const counts = bytes === undefined ? '' : sameness(path, bytes)
    hash.update(`${path}${bytes === undefined ? '/' : `\0${counts.length}`}\0`).update(counts)
  }
  return hash.digest('hex')
}

/** The paths that differ, or exist in only one of the two. */
export function differences(one: Image, other: Image): string[] {
  const paths = new Set([...one.keys(), ...other.keys()])
  return [...paths].filter((path) => {
    const [left, right] = [one.get(path), other.get(path)]
    if (left === undefined || right === undefined) return one.has(path) !== other.has(path) || left !== right
    return !left.equals(right)
  })
}
