/** Rule 1: nothing is acknowledged before it is on disk. */
import type { Mutant } from '../mutant.js'

export const ACKNOWLEDGED: Mutant[] = [
  {
    name: 'fdatasync does nothing',
    edits: [['fs.fdatasyncSync(file.fd)', 'undefined']],
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync does nothing',
    edits: [['fs.fsyncSync(file.fd)', 'undefined']],
    suites: ['host/disk/io'],
  },
  {
    name: 'fsync of a directory does nothing',
    edits: [['fs.fsyncSync(fd)', ';']],
    suites: ['host/disk/io'],
  },
  {
    name: 'append does not fsync the batch',
    step: 'log.sync',
    suites: ['storage/log/log'],
  },
  {
    name: 'listeners receive a record before it is fsynced',
    edits: [
      [
        'this.lease.append(this.placed(batch))',
        `for (const record of batch.records) for (const listener of this.listeners) listener(record)
         this.lease.append(this.placed(batch))`,
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'the state changes before its records are fsynced',
    edits: [
      [
        'this.lease.append(this.placed(batch))',
        `this.current = batch.state
         this.lease.append(this.placed(batch))`,
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'a record is written before the blob that it names',
    edits: [
      [
        'for (const blob of blobs) writeBlob(this.parts.paths.agent(this.agentId), blob)',
        `this.writer.append(bytes)
         for (const blob of blobs) writeBlob(this.parts.paths.agent(this.agentId), blob)`,
      ],
      ['if (blobs.length > 0) this.lock.assertHeld()', ';'],
      ['this.writer.append(bytes)', ';'],
    ],
    suites: ['session/session'],
  },
  {
    name: 'spawn does not write the blobs that the first batch references',
    edits: [['for (const content of files.blobs) writeBlob(staging, content)', ';']],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a reader acknowledges a record before it is fsynced',
    edits: [['if (isDurable && loaded.state.log_bytes > loaded.snapshotBytes) log.sync()', ';']],
    suites: ['storage/rules#read without the lock'],
  },
  {
    name: "a reader skips the fsync before it acknowledges another writer's record",
    step: 'log.sync_read',
    suites: ['storage/rules#read without the lock'],
  },
  {
    name: 'a new or replaced file is not fsynced',
    edits: [['if (isSynced) io.fsync(`${point}.fsync`, file)', ';']],
    suites: ['host/disk/replace'],
  },
  {
    name: 'spawn does not fsync the first batch of the log',
    edits: [['isSynced: true', 'isSynced: false']],
    suites: ['storage/create-agent'],
  },
  {
    name: 'the secret of a token is printed before its record is fsynced',
    edits: [
      [
        "this.session.onceDurable('run.waiting', () => this.ports.onToken(secret))",
        'this.ports.onToken(secret)',
      ],
    ],
    suites: ['turn/drive-tools#parks the run'],
  },
  {
    name: 'a listener for one kind of record receives every kind',
    edits: [['if (record.kind !== kind) return', ';']],
    suites: ['session/session'],
  },
  {
    name: 'the move of a delivered message to taken/ is not fsynced',
    step: 'mail.sync_taken',
    suites: ['storage/mailboxes'],
  },
  {
    name: 'send returns before the message is stored',
    edits: [
      [
        `storeMessage(store, { id: OPERATOR, path: OPERATOR }, state, request, messageId, recipient)
         ctx.reporter.note(
           \`queued as message \${messageId}; \${state.path} will run it \${whenDelivered(store, state, request.notBefore)}\`,
         )`,
        `ctx.reporter.note(
           \`queued as message \${messageId}; \${state.path} will run it \${whenDelivered(store, state, request.notBefore)}\`,
         )
         storeMessage(store, { id: OPERATOR, path: OPERATOR }, state, request, messageId, recipient)`,
      ],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'spawn prints the UUID before the agent is on disk',
    edits: [
      [
        `let session: Session
         try {`,
        `let session: Session
           listener.onAgent({ id } as never)
         try {`,
      ],
      ['listener.onAgent(session.state)', ';'],
    ],
    suites: ['dispatch/acknowledged'],
  },
  {
    name: 'a reply is printed before its record is written',
    edits: [
      [
        'appendStep(this.session, this.ports, records)',
        `for (const each of records)
         if (each.kind === 'message.agent') process.stdout.write(String(each.content) + '\\n')
         appendStep(this.session, this.ports, records)`,
      ],
    ],
    suites: ['turn/drive-model#a turn prints nothing'],
  },
]
