/** Bundles that no command makes, and the files of a home before and after their import. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { filesOf, tarParts } from '../../src/files/tar.js'
import type { JsonObject } from '../../src/format.js'
import type { Bundle, BundledAgent } from '../../src/schema/bundle.js'
import { BatchLines } from '../../src/storage/store.js'
import { House, type Result } from './cli.js'

export interface Unpacked {
  files: Map<string, Buffer>
  manifest: Bundle
}

export function unpacked(file: string): Unpacked {
  const files = filesOf(gunzipSync(readFileSync(file)))
  return { files, manifest: JSON.parse(String(files.get('manifest.json'))) as Bundle }
}

export function archived(files: Map<string, Buffer>): Buffer {
  return Buffer.concat([...tarParts([...files].map(([path, bytes]) => ({ path, bytes })))])
}

export function packed(files: Map<string, Buffer>): Buffer {
  return gzipSync(archived(files))
}

/** Stores the bundle with its changed manifest and files. */
export function repack(file: string, { files, manifest }: Unpacked): void {
  files.set('manifest.json', Buffer.from(JSON.stringify(manifest)))
  writeFileSync(file, packed(files))
}

/** Replaces records in the log of the first agent. All checksums are right afterwards. */
export function forgeRecords(
  { files, manifest }: Unpacked,
  change: (record: JsonObject) => JsonObject | undefined,
): void {
  const agent = manifest.agents[0] as BundledAgent
  const path = `agents/${agent.id}/log`
  const lines = new BatchLines(0)
  for (const line of String(files.get(path)).trimEnd().split('\n')) {
    const { crc: _, ...record } = JSON.parse(line) as JsonObject
    lines.add(change(record) ?? record)
  }
  files.set(path, lines.bytes)
  agent.log_bytes = lines.bytes.length
  agent.log_sha256 = createHash('sha256').update(lines.bytes).digest('hex')
}

/** Each file, directory and link of the home, with its mode, size, time and checksum. */
function listing(home: string): string[] {
  return (readdirSync(home, { recursive: true }) as string[]).sort().map((name) => {
    const path = join(home, name)
    const { mode, size, mtimeNs } = lstatSync(path, { bigint: true })
    const content =
      mode & 0o40000n ? '' : (mode & 0o20000n) === 0n ? sha256(readFileSync(path)) : readlinkSync(path)
    return [name, mode.toString(8), size, mtimeNs, content].join(' ')
  })
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

let bystander: Promise<House> | undefined

/** Imports the bundle into a home with one agent, the same for all tests of a file, and expects that nothing in the home changes. */
export async function importChangesNothing(args: string[], home?: House): Promise<Result> {
  bystander ??= houseWithBystander()
  const house = home ?? (await bystander)
  const before = listing(house.home)
  const result = await house.run(['import', '--trust', ...args])
  expect(listing(house.home)).toEqual(before)
  return result
}

async function houseWithBystander(): Promise<House> {
  const house = new House()
  await house.spawn('bystander')
  await house.ok('send', 'bystander', 'hi')
  await house.ok('recover', '--all')
  return house
}
