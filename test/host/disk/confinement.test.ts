import { beforeEach, expect, test } from 'vitest'
import { Confinement } from '../../../src/host/disk/confinement.js'

/** The existing paths and their kinds. No other path exists. */
let entries: Record<string, 'directory' | 'link'>
let looks: string[]
let confinement: Confinement

beforeEach(() => {
  entries = {
    '/home/agents': 'directory',
    '/home/agents/a': 'directory',
    '/home/agents/a/inbox': 'directory',
  }
  looks = []
  confinement = new Confinement((path) => {
    looks.push(path)
    return Object.hasOwn(entries, path) ? entries[path] === 'link' : undefined
  })
  confinement.add(['/home/agents'])
})

const exposed = (path: string): object => expect.objectContaining({ code: 'HOME_EXPOSED', facts: { path } })

test('each directory on the path to a file is checked once', () => {
  for (const name of ['log', 'log', 'lock', 'inbox/1', 'log'])
    confinement.refuseLinksTo(`/home/agents/a/${name}`)
  expect(looks).toEqual(['/home/agents', '/home/agents/a', '/home/agents/a/inbox'])
})

test('the file itself is not checked, because its open refuses a symlink', () => {
  entries['/home/agents/a/log'] = 'link'
  confinement.refuseLinksTo('/home/agents/a/log')
  expect(looks).not.toContain('/home/agents/a/log')
})

test('a symlink on the path is named in every error', () => {
  entries['/home/agents/a'] = 'link'
  for (let times = 0; times < 3; times++) {
    expect(() => confinement.refuseLinksTo('/home/agents/a/log')).toThrow(exposed('/home/agents/a'))
    expect(() => confinement.refuseLinksTo('/home/agents/a/inbox/1')).toThrow(exposed('/home/agents/a'))
    expect(() => confinement.refuseLinks('/home/agents/a')).toThrow(exposed('/home/agents/a'))
  }
})

test('a missing path is checked again', () => {
  const log = '/home/agents/b/log'
  confinement.refuseLinksTo(log)
  confinement.refuseLinksTo(log)
  expect(looks.filter((path) => path === '/home/agents/b')).toHaveLength(2)
  entries['/home/agents/b'] = 'link'
  expect(() => confinement.refuseLinksTo(log)).toThrow(exposed('/home/agents/b'))
})

test('each opening of the home checks again, also the path of the step before', () => {
  const log = '/home/agents/a/log'
  confinement.refuseLinksTo(log)
  entries['/home/agents/a'] = 'link'
  confinement.refuseLinksTo(log)
  confinement.add(['/home/agents'])
  expect(() => confinement.refuseLinksTo(log)).toThrow(exposed('/home/agents/a'))
})

test('no path outside a confined directory is checked', () => {
  entries['/work'] = 'link'
  confinement.refuseLinksTo('/work/file')
  confinement.refuseLinksTo('/home/home.json')
  expect(looks).toEqual([])
  confinement.add(['/work'])
  expect(() => confinement.refuseLinksTo('/work/file')).toThrow(exposed('/work'))
})

test('a directory from a listing is not checked again', () => {
  confinement.refuseLinks('/home/agents')
  confinement.learn('/home/agents', ['a'])
  confinement.refuseLinksTo('/home/agents/a/log')
  expect(looks).toEqual(['/home/agents'])
})

test('a directory from a listing of an unchecked directory is checked', () => {
  confinement.learn('/home/agents/a', ['inbox'])
  entries['/home/agents/a'] = 'link'
  expect(() => confinement.refuseLinksTo('/home/agents/a/inbox/1')).toThrow(exposed('/home/agents/a'))
})

test('the directories of a listing may be visited in any order', () => {
  for (const name of ['b', 'c', 'd']) entries[`/home/agents/${name}`] = 'directory'
  confinement.refuseLinks('/home/agents')
  confinement.learn('/home/agents', ['a', 'b', 'c'])
  for (const name of ['a', 'c', 'b', 'a', 'd']) confinement.refuseLinksTo(`/home/agents/${name}/log`)
  expect(looks).toEqual(['/home/agents', '/home/agents/d'])
})

test('a symlink below or beside the directories of a listing is refused', () => {
  Object.assign(entries, { '/home/agents/a/inbox': 'link', '/home/agents/b': 'link' })
  confinement.refuseLinks('/home/agents')
  confinement.learn('/home/agents', ['a'])
  expect(() => confinement.refuseLinksTo('/home/agents/a/inbox/1')).toThrow(exposed('/home/agents/a/inbox'))
  expect(() => confinement.refuseLinksTo('/home/agents/b/log')).toThrow(exposed('/home/agents/b'))
})
