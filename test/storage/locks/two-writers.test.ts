/** A lock file is removed exactly between its check and the write. Only one of two real processes may write. */
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { LockKind } from '../../../src/schema/files.js'
import { openForRead } from '../../../src/session/load.js'
import { openForAppend } from '../../../src/session/session.js'
import { FileStore } from '../../../src/storage/file-store.js'
import { chooseLockKind } from '../../../src/storage/locks/kernel-lock.js'
import { frame } from '../../../src/storage/log/frame.js'
import { type AgentPaths, HomePaths } from '../../../src/storage/paths.js'
import { newAgent } from '../../support/sessions.js'
import { Child, useChildren } from '../../support/storage-process.js'
import { tempDirectory, tempStore } from '../../support/temp.js'

useChildren()

const HAS: Record<LockKind, boolean> = {
  ofd: chooseLockKind() === 'ofd',
  flock: spawnSync('flock', ['--version']).status === 0,
}

interface Stopped {
  store: FileStore
  agentId: string
  agent: AgentPaths
  holder: Child
  /** Its outcome: the id of the acknowledged message, or the error. */
  end: Promise<unknown>
  goOn(): void
}

/** A holder that has checked its lock and is paused before the step `at`. */
async function stoppedBefore(at: string, kind: LockKind): Promise<Stopped> {
  const { address: root, facts } = tempStore()
  writeFileSync(new HomePaths(root).homeFile, frame({ ...facts, lock: kind }))
  const store = FileStore.openForWrite(root)
  const agentId = await newAgent(store)
  const until = join(tempDirectory(), 'go on')
  const holder = await Child.start({ env: process.env })
  const end = holder.ask({ do: 'append', root, agentId, at, until }).catch((failure: unknown) => failure)
  await holder.heard('stopped')
  return {
    store,
    agentId,
    agent: new HomePaths(root).agent(agentId),
    holder,
    end,
    goOn: () => writeFileSync(until, ''),
  }
}

function replace(lock: string): void {
  renameSync(lock, `${lock}.old`)
  writeFileSync(lock, '')
}

function messagesIn({ log }: AgentPaths): unknown[] {
  const records = readFileSync(log, 'utf8').trimEnd().split('\n')
  return records.slice(1).map((line) => JSON.parse(line).message_id)
}

describe.each(['ofd', 'flock'] as const)('with locks of kind %s, a lock file that is', (kind) => {
  test.skipIf(!HAS[kind]).each<[string, (lock: string) => void]>([
    ['removed', (lock) => rmSync(lock)],
    ['replaced', replace],
  ])('%s before the holder writes lets no second writer in', async (_, take) => {
    const { store, agentId, agent, holder, end, goOn } = await stoppedBefore('log.append', kind)
    take(agent.lock)
    const other = await Child.start({ env: process.env })
    const order = { do: 'append', root: store.address, agentId } as const
    await expect(other.ask(order)).rejects.toMatchObject({ code: 'LOCKED' })
    expect(messagesIn(agent)).toEqual([])
    goOn()
    // Its record is whole and on disk, but not acknowledged.
    expect(await end).toMatchObject({ said: 'failed', code: 'LOCKED' })
    expect(messagesIn(agent)).toHaveLength(1)
    const next = await other.ask(order)
    expect(messagesIn(agent)[1]).toBe(next)
    expect(openForRead(store, agentId)?.state.last_seq).toBe(3)
    await Promise.all([holder, other].map((child) => child.kill()))
  })

  test.skipIf(!HAS[kind])(
    'removed between write and fsync keeps the record from being acknowledged',
    async () => {
      const { store, agentId, agent, holder, end, goOn } = await stoppedBefore('log.sync', kind)
      rmSync(agent.lock)
      goOn()
      expect(await end).toMatchObject({ said: 'failed', code: 'LOCKED' })
      await holder.kill()
      const next = await openForAppend(store, agentId, { command: 'test', waitMs: 0 })
      expect(next.state.last_seq).toBe(2)
      await next.close(() => false)
    },
  )
})
