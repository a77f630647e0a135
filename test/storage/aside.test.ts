import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replaceLog } from '../../src/storage/aside.js'
import { frame } from '../../src/storage/log/frame.js'
import { AgentPaths } from '../../src/storage/paths.js'
import { operationsOf, unsyncedAfter } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'

test('a log that replaces a damaged one is durable on return, and so is its snapshot', () => {
  const agent = new AgentPaths(join(tempDirectory(), 'agent'))
  mkdirSync(agent.root)
  const operations = operationsOf(() => replaceLog(agent, Buffer.from('log'), { snapshot: 1 }))
  expect(unsyncedAfter(operations)).toEqual([])
  expect(readFileSync(agent.snapshot)).toEqual(frame({ snapshot: 1 }))
})

test('the name of a replacement log is durable before its snapshot is replaced', () => {
  const agent = new AgentPaths(join(tempDirectory(), 'agent'))
  mkdirSync(agent.root)
  const operations = operationsOf(() => replaceLog(agent, Buffer.from('log'), { snapshot: 1 }))
  const replacing = operations.findIndex(({ point }) => point === 'aside.snapshot.rename')
  const unsynced = unsyncedAfter(operations.slice(0, replacing))
  expect(unsynced.filter((what) => what.includes(agent.log))).toEqual([])
})
