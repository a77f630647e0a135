/** Rules 1 and 3: each sync, in the order of the files of src/storage; and what is told before its sync. */
import type { Mutant } from './mutant.js'

/** Nothing is acknowledged before it is on disk. */
export const ACKNOWLEDGED: Mutant[] = [
  {
    name: 'fdatasync reaches no disk',
    file: 'storage/io.ts',
    from: '() => fs.fdatasyncSync(file.fd)',
    to: '() => undefined',
    suites: ['storage/io'],
  },
  {
    name: 'fsync reaches no disk',
    file: 'storage/io.ts',
    from: '() => fs.fsyncSync(file.fd)',
    to: '() => undefined',
    suites: ['storage/io'],
  },
  {
    name: 'the sync of a directory reaches no disk',
    file: 'storage/io.ts',
    from: '      fs.fsyncSync(fd)\n',
    to: '',
    suites: ['storage/io'],
  },
  {
    name: 'an appended batch is not synced',
    file: 'storage/log.ts',
    from: `      io.fdatasync('log.sync', this.file)\n`,
    to: '',
    suites: ['storage/log'],
  },
  {
    name: 'a record is told to listeners before it is synced',
    file: 'session/session.ts',
    from: `    this.log.append(batch.bytes)
    this.current = batch.state
    for (const record of batch.records) for (const listener of this.listeners) listener(record)`,
    to: `    for (const record of batch.records) for (const listener of this.listeners) listener(record)
    this.log.append(batch.bytes)
    this.current = batch.state`,
    suites: ['session/session'],
  },
  {
    name: 'the state goes on before its records are synced',
    file: 'session/session.ts',
    from: `    this.log.append(batch.bytes)
    this.current = batch.state`,
    to: `    this.current = batch.state
    this.log.append(batch.bytes)`,
    suites: ['session/session'],
  },
  {
    name: 'a record is written before the blob that it names',
    file: 'session/session.ts',
    from: `    for (const blob of batch.blobs) this.store.writeBlob(this.id, blob)
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
    from: 'if (loaded !== undefined && loaded.state.log_bytes > loaded.snapshotBytes) store.syncLog(agentId)',
    to: '',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'the sync of who tells what another wrote is left out',
    file: 'storage/store.ts',
    from: `      io.fdatasync('log.sync_read', file)\n`,
    to: '',
    suites: ['storage/rules#is read without the lock'],
  },
  {
    name: 'a file that replaces another, or is new, is not synced',
    file: 'storage/replace.ts',
    from: '    io.fsync(`${point}.fsync`, file)\n',
    to: '',
    suites: ['storage/replace'],
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
    suites: ['turn/drive-tools'],
  },
  {
    name: 'what waits for one record is told of any',
    file: 'session/session.ts',
    from: '      if (record.kind !== kind) return\n',
    to: '',
    suites: ['turn/drive-tools', 'session/session'],
  },
  {
    name: 'what a person has answered is removed before the disk knows that it was taken',
    file: 'storage/mailboxes.ts',
    from: `    io.syncDirectory('mail.sync_taken', operatorTaken)\n`,
    to: '',
    suites: ['storage/mailboxes'],
  },
]

/** A new name: its directory is synced before anything is acknowledged; also where another made the name. */
export const NAMES_ON_DISK: Mutant[] = [
  {
    name: 'the name of what replaces another file is not synced',
    file: 'storage/replace.ts',
    from: '  if (options.durableName) io.syncDirectory(`${point}.sync_directory`, dirname(path))\n',
    to: '',
    suites: ['storage/replace'],
  },
  {
    name: 'the name of a new file is not synced',
    file: 'storage/replace.ts',
    from: '  }\n  io.syncDirectory(`${point}.sync_directory`, dirname(path))\n  return created',
    to: '  }\n  return created',
    suites: ['storage/replace'],
  },
  {
    name: 'a name that another made is not synced before it is relied on',
    file: 'storage/replace.ts',
    from: '  }\n  io.syncDirectory(`${point}.sync_directory`, dirname(path))\n  return created',
    to: '  }\n  if (created) io.syncDirectory(`${point}.sync_directory`, dirname(path))\n  return created',
    suites: ['storage/replace'],
  },
  {
    name: 'what is in the directory of a new agent is not synced',
    file: 'storage/birth.ts',
    from: `    io.syncDirectory('spawn.sync_directory', cradle.root)\n`,
    to: '',
    suites: ['storage/birth'],
  },
  {
    name: 'the rename of a new agent is not synced',
    file: 'storage/birth.ts',
    from: `    io.syncDirectory('spawn.sync_agents', paths.agents)\n`,
    to: '',
    suites: ['storage/birth'],
  },
  {
    name: 'a new agent is synced after its rename, not before',
    file: 'storage/birth.ts',
    from: `    io.syncDirectory('spawn.sync_directory', cradle.root)
    io.rename('spawn.rename', cradle.root, agent.root)`,
    to: `    io.rename('spawn.rename', cradle.root, agent.root)
    io.syncDirectory('spawn.sync_directory', agent.root)`,
    suites: ['storage/birth'],
  },
  {
    name: 'a directory of blobs that is made again is not synced',
    file: 'storage/blobs.ts',
    from: `if (io.mkdir('blob.mkdir', agent.blobs)) io.syncDirectory('blob.sync_directory', dirname(agent.blobs))`,
    to: `io.mkdir('blob.mkdir', agent.blobs)`,
    suites: ['storage/blobs'],
  },
  {
    name: 'an inbox that is made again is not synced',
    file: 'storage/maildir.ts',
    from: `if (io.mkdir('mail.mkdir', directory)) io.syncDirectory('mail.sync_directory', dirname(directory))`,
    to: `io.mkdir('mail.mkdir', directory)`,
    suites: ['storage/maildir'],
  },
  {
    name: 'the directory of what the operator took is not synced',
    file: 'storage/mailboxes.ts',
    from: `if (io.mkdir('mail.mkdir', operatorTaken)) io.syncDirectory('mail.sync_directory', operator)`,
    to: `io.mkdir('mail.mkdir', operatorTaken)`,
    suites: ['storage/mailboxes'],
  },
  {
    name: 'damaged mail is aside before the disk knows',
    file: 'storage/mailboxes.ts',
    from: `    io.syncDirectory('mail.sync_aside', dirname(path))\n`,
    to: '',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'an agent is taken apart before the disk knows that it is aside',
    file: 'storage/store.ts',
    from: `    io.syncDirectory('remove.sync_agents', this.paths.agents)\n`,
    to: '',
    suites: ['storage/store'],
  },
  {
    name: 'a damaged log is replaced before the disk has its other name',
    file: 'storage/aside.ts',
    from: `  io.syncDirectory('aside.sync_directory', agent.root)\n`,
    to: '',
    suites: ['recovery/rebuild-log'],
  },
  {
    name: 'a log that replaces a damaged one has no durable name',
    file: 'storage/aside.ts',
    from: `replace('aside.log', agent.log, bytes, { durableName: true })`,
    to: `replace('aside.log', agent.log, bytes, { durableName: false })`,
    suites: ['recovery/rebuild-log'],
  },
  {
    name: 'the entry of a name has no durable name',
    file: 'storage/names.ts',
    from: 'durableName: true',
    to: 'durableName: false',
    suites: ['storage/names'],
  },
  {
    name: 'that an index is complete is not synced',
    file: 'storage/names.ts',
    from: `    io.close(file)\n    io.syncDirectory('names.sync_directory', this.paths.directory)`,
    to: '    io.close(file)',
    suites: ['storage/names', 'tree/children'],
  },
  {
    name: 'a home.json that another made is not synced before it is relied on',
    file: 'storage/home.ts',
    from: `  } else {\n    io.syncDirectory('home.sync_directory', paths.root)\n  }`,
    to: '  }',
    suites: ['storage/home'],
  },
  {
    name: 'the directories of a new home are not synced',
    file: 'storage/home.ts',
    from: `    io.syncDirectory('home.sync_directory', directory)\n  io.mkdir('home.ready'`,
    to: `    void directory\n  io.mkdir('home.ready'`,
    suites: ['storage/home'],
  },
  {
    name: 'the operator has an inbox that no disk knows',
    file: 'storage/home.ts',
    from: '[paths.operator, paths.roots, paths.root]',
    to: '[paths.roots, paths.root]',
    suites: ['storage/home'],
  },
  {
    name: 'the name of a new home is not synced',
    file: 'storage/home.ts',
    from: `    io.syncDirectory('home.sync_directory', dirname(root))\n`,
    to: '',
    suites: ['storage/home'],
  },
  {
    name: 'the directories above a new home are not synced',
    file: 'storage/home.ts',
    from: `  io.syncDirectory('home.sync_directory', dirname(directory))\n`,
    to: '',
    suites: ['storage/home'],
  },
  {
    name: 'a home says that it is ready before its names are synced',
    file: 'storage/home.ts',
    from: `  for (const directory of directoriesOf(paths)) io.mkdir('home.mkdir', directory)\n`,
    to: `  io.mkdir('home.ready', paths.boots)
  for (const directory of directoriesOf(paths)) io.mkdir('home.mkdir', directory)\n`,
    suites: ['storage/home'],
  },
  {
    name: 'an agent that another made is opened before its name is synced',
    file: 'session/session.ts',
    from: '    store.syncNameOf(agentId)\n',
    to: '',
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'mail to an agent that another made is stored before its name is synced',
    file: 'mail/post.ts',
    from: '  store.syncNameOf(to)\n',
    to: '',
    suites: ['storage/rules#syncs the name before anything'],
  },
  {
    name: 'a child is born before the name of its parent is synced',
    file: 'tree/birth.ts',
    from: '  store.syncNameOf(parentId)\n',
    to: '',
    suites: ['tree/birth-below'],
  },
  {
    name: 'an agent that is there already is told before its name is synced',
    file: 'dispatch/spawn.ts',
    from: '  ctx.store.syncNameOf(agentId)\n',
    to: '',
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a name that nobody has synced counts as synced',
    file: 'storage/store.ts',
    from: `if (this.isMarked(agentId)) io.syncDirectory('agents.sync_directory', this.paths.agents)`,
    to: '',
    suites: ['storage/rules#syncs the name before anything'],
  },
]
