/** The frozen homes of each format (test/formats). */
import { join } from 'node:path'
import { expect } from 'vitest'
import { sendOutbox } from '../../src/mail/answers.js'
import { ProviderRegistry } from '../../src/provider/registry.js'
import { settle } from '../../src/recovery/settle.js'
import { readRecordText } from '../../src/session/read.js'
import type { Session } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import { copyTree } from './copy-tree.js'
import { recordsOf } from './sessions.js'
import { tempDirectory } from './temp.js'
import { POLICY } from './turns.js'

export function frozenIn(format: number): string {
  return join(import.meta.dirname, `../formats/v${format}`)
}

export const FROZEN = frozenIn(1)

/** A copy, as from a backup: reading takes locks, and git stores no empty directories. */
export function frozenHome(name: string, format = 1): FileStore {
  const root = join(tempDirectory(), 'home')
  copyTree(join(frozenIn(format), name), root)
  return FileStore.openForRead(root) as FileStore
}

/** One line per record, for comparison with the lines stored when the home was frozen. */
export function recordLines(store: FileStore, id: string): string[] {
  return recordsOf(store, id).map((record) => {
    const text = readRecordText(store, id, record).replaceAll('\n', ' ')
    const start = text.length > 60 ? `${text.slice(0, 60)}… (${text.length})` : text
    return `  ${record.seq} ${record.ts} ${record.kind} ${start}`.trimEnd()
  })
}

/** Recovers the agent without a turn, and sends its outbox. */
export async function settleFrozen(session: Session): Promise<void> {
  await settle(session, {
    providers: new ProviderRegistry(() => []),
    policy: POLICY,
    unknownTool: 'stop',
    continuesTurn: false,
    note: () => undefined,
  })
  sendOutbox(session, { isRepeat: true, note: expect.unreachable })
}
