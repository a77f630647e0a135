/** docs/format.md lists the paths that a home may contain, and the fields of all files except the log. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OPERATOR } from '../../src/format.js'
import { post } from '../../src/mail/post.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { type Expected, HOME_LAYOUT } from '../../src/storage/layout.js'
import { draft } from '../support/mail.js'
import { sectionsOf, shapesOf } from '../support/markdown.js'
import { tempStore } from '../support/temp.js'

const page = readFileSync('docs/format.md', 'utf8')

test('docs/format.md lists every path of the layout with its kind, and no other path', () => {
  const paths = [...listedPaths('The home'), ...listedPaths('The directory of an agent', 'agents/<uuid>/')]
  const found = withParents(paths).map(({ path, kind }) => ({ path, kind, ...placeOf(path) }))
  expect(found.filter(({ kind, expected }) => kind !== expected).map(({ path }) => path)).toEqual([])
  const places = new Set(found.map(({ place }) => place))
  const lacking = placesIn(HOME_LAYOUT).filter((place) => !places.has(place))
  expect(lacking.filter((place) => !NEVER_WRITTEN.test(place))).toEqual([])
})

test('docs/format.md lists the fields of the small files that the store writes', async () => {
  const store = tempStore()
  const agentId = randomUUID()
  const index = store.names(null)
  const lock = await index.lock('test')
  index.reserve('notes', agentId)
  await lock.release()
  const [entry] = index.entries()
  const agent = agentIn(store, agentId)
  store.local.keptServers.writeHandle(agentId, randomUUID(), Buffer.from('handle'))
  expect(fieldsOf('home.json')).toEqual(namesIn(join(store.address, 'home.json')))
  expect(fieldsOf('roots/<sha256>')).toEqual(namesIn(entry?.path as string))
  expect(fieldsOf('server.json')).toEqual(namesIn(join(agent, 'server.json')))
  store.hosts.declare({ kernel_boot_id: 'b', host_id: 'h', host_name: null })
  expect(fieldsOf('gone/<boot-id>')).toEqual(namesIn(join(store.address, 'gone/b')))
  expect(fieldsOf('lock')).toEqual(namesIn(join(store.address, 'roots/lock')))
})

test('docs/format.md lists the fields of a message', () => {
  const store = tempStore()
  const message = { ...draft(OPERATOR, 'hi'), allow: ['shell'], steps_max: 1, fresh: true, actor: ACTOR }
  post(store, message)
  const names = namesIn(store.mail.pathOf(OPERATOR, message.message_id))
  expect(fieldsOf('message').sort()).toEqual([...names, 'crc'].sort())
})

const ACTOR = { face: 'cli' as const, uid: 1000 }

/** The layout has one table for all mailboxes. But the operator returns no message, and none in `taken/` is set aside. */
const NEVER_WRITTEN = /operator.*returned|taken.*damaged/

/** The paths of the layout as patterns, one for each name or form of a name. */
function placesIn(directory: Expected, above = ''): string[] {
  if (directory.kind !== 'directory') return []
  return (directory.names ?? []).filter(isListed).flatMap(([pattern, expected]) =>
    alternatives(pattern.source).flatMap((source) => {
      const place = `${above}/${source}`
      return [place, ...placesIn(expected, place)]
    }),
  )
}

/** Temporary files, lock directories and the owner's files have their own sections. */
function isListed([, { kind, standing }]: [RegExp, Expected]): boolean {
  return standing !== 'users' && standing !== 'lock' && !(kind === 'file' && standing === 'leftover')
}

/** The pattern and kind of that path in the layout. The kind is undefined if the layout lacks the path. */
function placeOf(path: string): { place: string; expected: string | undefined } {
  let [place, expected]: [string, Expected | undefined] = ['', HOME_LAYOUT]
  for (const name of sampleOf(path).split('/').filter(Boolean)) {
    const names: [RegExp, Expected][] = expected?.kind === 'directory' ? (expected.names ?? []) : []
    const match = names.filter(isListed).find(([pattern]) => pattern.test(name))
    const source = match && alternatives(match[0].source).find((each) => new RegExp(each).test(name))
    place += `/${source}`
    expected = match?.[1]
  }
  return { place, expected: expected?.kind }
}

function sampleOf(path: string): string {
  const samples = { uuid: randomUUID(), sha256: 'a'.repeat(64), hash: 'a'.repeat(16), offset: '12', n: '0' }
  return path.replaceAll(/<([\w-]+)>/g, (_, name: string) => samples[name as keyof typeof samples] ?? 'x')
}

/** Expands `(a|b)` and `(a)?`. */
function alternatives(source: string): string[] {
  const group = /\(([^()]*)\)(\??)/.exec(source)
  if (group === null) return [source]
  const [whole, words = '', isOptional] = group
  const choices = [...words.split('|'), ...(isOptional === '?' ? [''] : [])]
  return choices.flatMap((choice) => alternatives(source.replace(whole, () => choice)))
}

interface Listed {
  path: string
  kind: string
}

/** The paths listed below that heading. A line has a path, its form (except for a directory) and its meaning. */
function listedPaths(title: string, above = ''): Listed[] {
  const lines = sectionsOf(page).find(({ heading }) => heading === title)?.lines ?? []
  const [start, end] = [lines.indexOf('```'), lines.lastIndexOf('```')]
  return lines.slice(start + 1, end).flatMap((line) => {
    const [listed = '', form = ''] = line.split(/ {2,}/)
    const file = form === 'socket' ? form : 'file'
    return choicesOf(listed).map((path) => ({
      path: `${above}${path}`,
      kind: path.endsWith('/') ? 'directory' : file,
    }))
  })
}

/** Expands `{a,b}`. */
function choicesOf(path: string): string[] {
  const [group = '', names = ''] = /\{([^}]*)\}/.exec(path) ?? []
  return group === '' ? [path] : names.split(',').map((name) => path.replace(group, () => name))
}

/** Adds the parent directories of these paths. */
function withParents(paths: Listed[]): Listed[] {
  const parents = paths.flatMap(({ path }) => {
    const names = path.replace(/\/$/, '').split('/')
    return names.slice(1).map((_, index) => `${names.slice(0, index + 1).join('/')}/`)
  })
  return [...paths, ...[...new Set(parents)].map((path) => ({ path, kind: 'directory' }))]
}

function fieldsOf(name: string): string[] {
  const shape = shapesOf(page).find((each) => each.name === name)
  return shape?.fields.map((field) => field.slice(0, field.indexOf(':')).replace(/\?$/, '')) ?? []
}

/** Makes an empty agent directory. */
function agentIn({ address }: FileStore, agentId: string): string {
  const path = join(address, 'agents', agentId)
  mkdirSync(path)
  return path
}

/** The names of the fields, without the checksum of the framed line. */
function namesIn(path: string): string[] {
  const names = Object.keys(JSON.parse(readFileSync(path, 'utf8').split('\n')[0] as string))
  return names.filter((name) => name !== 'crc')
}
