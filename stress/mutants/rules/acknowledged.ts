/** Rule 1: nothing is acknowledged before it is on disk. */
import type { Mutant } from '../mutant.js'

export const ACKNOWLEDGED: Mutant[] = [
  {
    name: 'fdatasync reaches no disk',
    file: 'host/disk/io.ts',
    from: '() => fs.fdatasyncSync(file.fd)',
    to: '() => undefined',
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync reaches no disk',
    file: 'host/disk/io.ts',
    from: '() => fs.fsyncSync(file.fd)',
    to: '() => undefined',
    suites: ['host/disk/io'],
  },
  {
    name: 'the sync of a directory reaches no disk',
    file: 'host/disk/io.ts',
    from: '      fs.fsyncSync(fd)\n',
    to: '',
    suites: ['host/disk/io'],
  },
  {
    name: 'an appended batch is not synced',
    file: 'storage/log/log.ts',
    from: `      io.fdatasync('log.sync', this.file)\n`,
    to: '',
    suites: ['storage/log/log'],
  },
  {
    name: 'a record is told to listeners before it is synced',
    file: 'session/session.ts',
    from: `    this.log.append(batch.bytes)\n`,
    to: `    for (const record of batch.records) for (const listener of this.listeners) listener(record)
    this.log.append(batch.bytes)\n`,
    suites: ['session/session'],
  },
  {
    name: 'the state goes on before its records are synced',
    file: 'session/session.ts',
    from: `    this.log.append(batch.bytes)\n`,
    to: `    this.current = batch.state\n    this.log.append(batch.bytes)\n`,
    suites: ['session/session'],
  },
  {
    name: 'a record is written before the blob that it names',
    file: 'session/session.ts',
    from: `    for (const blob of batch.blobs) this.store.writeBlob(this.id, blob)
    // Their syncs take time.
    if (batch.blobs.length > 0) this.lease.assertHeld()
    this.log.append(batch.bytes)`,
    to: `    this.log.append(batch.bytes)
    for (const blob of batch.blobs) this.store.writeBlob(this.id, blob)`,
    suites: ['session/session'],
  },
  {
    name: 'an agent is born with a record that names a blob that is not there yet',
    file: 'storage/birth.ts',
    from: `    for (const content of birth.blobs) writeBlob(cradle, content)
    writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })`,
    to: `    writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })`,
    suites: ['storage/birth'],
  },
  {
    name: 'what is read without the lock is told before it is synced',
    file: 'session/open-for-read.ts',
    from: 'if (loaded !== undefined && loaded.state.log_bytes > loaded.snapshotBytes) store.logs.sync(agentId)',
    to: '',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'the sync of who tells what another wrote is left out',
    file: 'storage/logs.ts',
    from: `      io.fdatasync('log.sync_read', file)\n`,
    to: '',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'a file that replaces another, or is new, is not synced',
    file: 'host/disk/replace.ts',
    from: '    if (isSynced) io.fsync(`${point}.fsync`, file)\n',
    to: '',
    suites: ['host/disk/replace'],
  },
  {
    name: 'the first records of an agent are not synced',
    file: 'storage/birth.ts',
    from: `writeNew('spawn.log', cradle.log, birth.log, { isSynced: true })`,
    to: `writeNew('spawn.log', cradle.log, birth.log, { isSynced: false })`,
    suites: ['storage/birth'],
  },
  {
    name: 'the secret of a token is told before its record is synced',
    file: 'turn/drive.ts',
    from: `this.session.onceDurable('run.waiting', () => this.ports.onToken(secret))`,
    to: 'this.ports.onToken(secret)',
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'what waits for one record is told of any',
    file: 'session/session.ts',
    from: '      if (record.kind !== kind) return\n',
    to: '',
    suites: ['session/session'],
  },
  {
    name: 'what a person has answered is removed before the disk knows that it was taken',
    file: 'storage/mailboxes.ts',
    from: `    io.syncDirectory('mail.sync_taken', operatorTaken)\n`,
    to: '',
    suites: ['storage/mailboxes'],
  },
]
