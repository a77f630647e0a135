/** Rule 8: one writer at a time. */
import type { Mutant } from '../mutant.js'

export const LOCKS: Mutant[] = [
  {
    name: 'a lock is never taken',
    edits: [
      [
        "kind === 'ofd' ? tryOfd(file, sharing) : tryFlock(file, sharing)",
        'kind !== null && sharing !== null',
      ],
    ],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'two processes hold one OFD lock',
    edits: [["tryLock(file.fd, 0, 0, sharing === 'exclusive')", 'tryLock(file.fd, 0, 0, false)']],
    suites: ['storage/locks/lease', 'storage/locks/kernel-lock', 'storage/locks/kernel-lock-killed'],
  },
  {
    name: 'two processes hold one flock lock',
    edits: [["'-x'", "'-s'"]],
    suites: [
      'storage/locks/kernel-lock#of kind flock stays held while its holder is stopped',
      'storage/locks/kernel-lock-killed',
    ],
  },
  {
    name: "a lock uses the machine's default kind, not the kind of the home",
    edits: [
      [
        "kind === 'ofd' ? tryOfd(file, sharing) : tryFlock(file, sharing)",
        "chooseLockKind() === 'ofd' ? tryOfd(file, sharing) : tryFlock(file, sharing)",
      ],
    ],
    suites: ['storage/rules#cannot take'],
  },
  {
    name: 'a probe of a lock blocks other probes',
    edits: [["tryKernelLock(system.kind, path, 'shared')", "tryKernelLock(system.kind, path, 'exclusive')"]],
    suites: [
      'storage/locks/lease',
      'storage/store',
      'storage/locks/kernel-lock#can be probed',
      'storage/locks/kernel-lock-killed',
    ],
  },
  {
    name: 'a busy lock leaks its file descriptor',
    edits: [['if (!locked) io.close(file)', ';']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'release does not free the lock',
    edits: [
      [
        `if (this.log !== undefined) io.close(this.log)
         io.close(this.file)`,
        'if (this.log !== undefined) io.close(this.log)',
      ],
    ],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a process writes after releasing its lock',
    edits: [
      [
        'if (this.file === undefined) throw lostLeaseError()',
        'if (this.file !== undefined) this.assertNamed(this.file)',
      ],
      ['this.assertNamed(this.file)', ';'],
    ],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a process writes after losing its lock',
    edits: [
      [
        `assertHeld(): void {
           if (this.failure !== undefined) throw this.failure`,
        'assertHeld(): void {',
      ],
    ],
    suites: ['storage/rules#a lost lock', 'session/session'],
  },
  {
    name: 'a process writes after its lock file was removed',
    edits: [['this.assertNamed(this.file)', ';']],
    suites: ['session/removed'],
  },
  {
    name: 'a lock on an already removed file counts as held',
    edits: [['if (locked === undefined || hasItsName(locked)) return locked', 'return locked']],
    suites: ['session/removed'],
  },
  {
    name: 'the writer appends to a removed log',
    edits: [
      [
        `this.assertNamed()
         if (batch.length <= RECENT_BYTES_MAX) this.recent = { from: this.end, bytes: batch }`,
        'if (batch.length <= RECENT_BYTES_MAX) this.recent = { from: this.end, bytes: batch }',
      ],
    ],
    suites: ['session/removed'],
  },
  {
    name: 'a command uses a log that was removed during settling',
    edits: [
      [
        `io.fdatasync('log.resync', this.file)
         this.assertNamed()`,
        "io.fdatasync('log.resync', this.file)",
      ],
    ],
    suites: ['storage/log/log'],
  },
  {
    name: 'the log is not locked by its writer',
    edits: [["tryLockNamed(kind, 'exclusive', open)", 'open()']],
    suites: ['session/removed', 'storage/locks/two-writers'],
  },
  {
    name: 'a writer ignores the lock of another writer on the log',
    edits: [
      [
        "if (log === 'busy') return undefined",
        "lease = new KernelLease(file, releaseDirectory, typeof log === 'string' ? undefined : log)",
      ],
      ["lease = new KernelLease(file, releaseDirectory, log === 'none' ? undefined : log)", ';'],
    ],
    suites: ['session/removed', 'storage/locks/two-writers'],
  },
  {
    name: 'append does not check the lock before acknowledging',
    edits: [
      [
        `this.lastBatchId = id
           this.lock.assertHeld()
         }`,
        `this.lastBatchId = id
         }`,
      ],
    ],
    suites: ['session/session', 'session/removed'],
  },
  {
    name: 'a lost lock is valid again once its file is restored',
    edits: [
      [
        `})
         throw this.failure`,
        `})
             const { failure } = this
         this.failure = undefined
         throw failure`,
      ],
    ],
    suites: ['session/removed'],
  },
  {
    name: 'the log of a new agent is not locked',
    edits: [['{ ...log, path: agent.log }', "(io.close(log), io.open('log.open', agent.log, 'write'))"]],
    suites: ['storage/create-agent'],
  },
  {
    name: 'renaming a home in use loses its locks',
    edits: [
      [
        `const name = nameOf('lock.check', file)
         if (name === 'same' || name === 'unknown') return`,
        `const name = nameOf('lock.check', file)
         if (name === 'same') return`,
      ],
    ],
    suites: ['session/removed'],
  },
  {
    name: 'a name is reserved without checking the lock of the index',
    edits: [
      [
        `reserve(name: string, agentId: string): void {
           this.held?.assertHeld()`,
        'reserve(name: string, agentId: string): void {',
      ],
    ],
    suites: ['session/removed'],
  },
  {
    name: 'the loss of a lock is not reported',
    edits: [['lease?.markCompromised()', 'undefined']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'append does not check the lock before writing',
    edits: [
      [
        `append({ id, offset, bytes, blobs, isUpgrade }: Batch): void {
           this.lock.assertHeld()`,
        'append({ id, offset, bytes, blobs, isUpgrade }: Batch): void {',
      ],
    ],
    suites: ['session/session'],
  },
  {
    name: 'close does not check the lock before writing',
    edits: [
      [
        `async rest({ snapshot, needsVisit }: Rest): Promise<void> {
           this.lock.assertHeld()`,
        'async rest({ snapshot, needsVisit }: Rest): Promise<void> {',
      ],
    ],
    suites: ['storage/conformance'],
  },
  {
    name: 'the kernel lock suffices on a file system that is not local',
    edits: [
      [
        'if (!system.isLocal) releaseDirectory = await tryLockDirectory(file.path, () => lease?.markCompromised())',
        'void tryLockDirectory',
      ],
      ['if (!system.isLocal && releaseDirectory === undefined) return undefined', ';'],
    ],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an old lock directory is broken',
    edits: [['stale: Number.MAX_SAFE_INTEGER', 'stale: 5000']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a reader ignores the lock directory of another machine',
    edits: [["!system.isLocal && statIfThere('lock.stat', lockDirectory(path)) !== undefined", 'false']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a busy lock directory leaves the kernel lock held',
    edits: [['if (lease === undefined) await new KernelLease(file, releaseDirectory).release()', ';']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a network file system counts as local',
    edits: [['0x858458f6,', '0x6969, 0x858458f6,']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'a writer does not retry a busy lock',
    edits: [['Math.max(PATIENCE_MS, waitMs)', 'waitMs']],
    suites: ['storage/locks/lease'],
  },
  {
    name: 'an agent that cannot be opened stays locked',
    edits: [
      [
        `} catch (error) {
           await lease.release()`,
        '} catch (error) {',
      ],
    ],
    suites: ['session/session'],
  },
]
