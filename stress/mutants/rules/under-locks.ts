/** Rule 8: work that needs a lock: creating, sweeping, indexing and removing agents; slots; the edges of waits. */
import type { Mutant } from '../mutant.js'

export const UNDER_LOCKS: Mutant[] = [
  {
    name: 'a new agent is visible before it is locked',
    edits: [
      [
        `io.mkdir('spawn.mkdir', staging.root)
         lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')`,
        `io.mkdir('spawn.mkdir', staging.root)
         lock = io.open('spawn.open', staging.unlocked, 'create')`,
      ],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes the staging directory of a living spawn',
    edits: [["lockOpenFile(locks.kind, named, 'exclusive')", 'named']],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes a staging directory that its spawn is about to lock',
    edits: [
      [
        `lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')
         } catch (error) {`,
        `lock = io.open('sweep.open', staging.unlocked, 'create')
         } catch (error) {`,
      ],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes a staging directory that its spawn has just locked',
    edits: [
      [
        "lock === undefined || statIfThere('sweep.stat', staging.lock) === undefined",
        'lock !== undefined || Number.isNaN(0)',
      ],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'a sweep removes an old temporary file of a living writer',
    edits: [
      [
        `const writer = writerOf(name)
         if (writer !== 'unknown') return writer === 'dead'`,
        `const writer = writerOf(name)
         if (writer === 'dead') return true`,
      ],
    ],
    suites: ['storage/maildir'],
  },
  {
    name: 'a writer does not retry after its temporary file was swept',
    edits: [['if (sweeps === SWEEPS_MAX || !isOfSweptTemp(error)) throw error', 'throw error']],
    suites: ['host/disk/replace'],
  },
  {
    name: 'the lock file of a new agent gets its name before it is locked',
    edits: [
      [
        `io.mkdir('spawn.mkdir', staging.root)
         lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')`,
        `io.mkdir('spawn.mkdir', staging.root)
               io.close(io.open('lock.open', staging.lock, 'create'))
         lock = tryKernelLock(locks.kind, staging.unlocked, 'exclusive')`,
      ],
    ],
    suites: ['storage/create-agent'],
  },
  {
    name: 'each holder of an index locks a file of its own',
    edits: [
      [
        'waitForLease(this.locks, this.paths.lock, command, LOCK_WAIT_MS)',
        'waitForLease(this.locks, `${this.paths.lock}.${Math.random()}`, command, LOCK_WAIT_MS)',
      ],
    ],
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: "a child is created without the lock of its parent's index",
    edits: [
      [
        'index.reserve(name ?? id, id)',
        `await lock.release()
         index.reserve(name ?? id, id)`,
      ],
    ],
    suites: ['tree/create-agent-below', 'operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'spawn keeps the lock of the index',
    edits: [
      [
        `return await createOnDisk(store, agent, { path, scope: inherited }, () => lock.assertHeld())
         } finally {
           await lock.release()
         }`,
        `return await createOnDisk(store, agent, { path, scope: inherited }, () => lock.assertHeld())
         } finally {
         }`,
      ],
    ],
    suites: ['tree/create-agent', 'tree/names'],
  },
  {
    name: 'terminate does not lock the index of children',
    edits: [
      [
        `if (session.state.state === 'terminated') return
         await stopKeptServer(session, (text) => ctx.reporter.note(text))
         const { lock } = await lockChildren(ctx.store, session.id, ctx.command)
         try {`,
        `if (session.state.state === 'terminated') return
         await stopKeptServer(session, (text) => ctx.reporter.note(text))
         const lock = { release: async () => undefined }
         try {`,
      ],
    ],
    suites: ['operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'terminate does not check for children under their lock',
    edits: [["checkChildless(ctx.store, session.state, 'terminate')", ';']],
    suites: ['operations/terminate', 'operations/terminate-killed'],
  },
  {
    name: 'a completed agent is terminated despite a living child',
    edits: [['!mayHaveLivingChild(ctx.store, session.id)', 'mayHaveLivingChild !== undefined']],
    suites: ['dispatch/visit', 'commands/tools-mail'],
  },
  {
    name: 'remove does not lock the agent',
    edits: [
      [
        'await store.hold(state.id, { command: ctx.command, waitMs: ctx.bounds.waitMs })',
        '{ release: async () => undefined, assertHeld: () => undefined }',
      ],
    ],
    suites: ['operations/remove', 'operations/remove-killed'],
  },
  {
    name: 'remove does not check the agent again under its lock',
    edits: [
      [
        `const keep = now === undefined ? undefined : removalObstacle(store, now)
         if (keep !== undefined) throw keptError(state, keep)`,
        'const keep = now === undefined ? undefined : removalObstacle(store, now)',
      ],
    ],
    suites: ['operations/remove', 'operations/remove-killed'],
  },
  {
    name: 'one slot too many is handed out',
    edits: [['(first + index) % slots', '(first + index) % (slots + 1)']],
    suites: ['storage/store', 'provider/slots'],
  },
  {
    name: 'a slot is not released after the model has answered',
    edits: [
      [
        `this.slot = undefined
         await slot?.release()`,
        'void slot',
      ],
    ],
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: 'a turn keeps its slot while tools run',
    edits: [
      [
        `const asked = await askModel(this.session, provider, bounded, toolbox.definitions, ends, onText, tried)
         await this.releaseSlot()`,
        'const asked = await askModel(this.session, provider, bounded, toolbox.definitions, ends, onText, tried)',
      ],
    ],
    suites: ['turn/drive-tools#holds no slot'],
  },
  {
    name: "a waiter's edge stays after the wait",
    edits: [
      [
        `release: async () => {
           io.unlink('edge.unlink', path)
           await lease.release()`,
        `release: async () => {
           void lease`,
      ],
    ],
    suites: ['storage/wait-edges'],
  },
  {
    name: 'an edge outlives its process',
    edits: [['this.isLive(agentId, edge) ? [edge.to] : []', 'edge === null ? [] : [edge.to]']],
    suites: ['storage/wait-edges'],
  },
  {
    name: 'the edges of living waits are swept',
    edits: [['this.isLive(agentId, edge) ? [] : [edge.path]', '[edge.path]']],
    suites: ['storage/wait-edges'],
  },
  {
    name: 'two agents may wait for each other',
    edits: [['id === waiterId', 'id === null']],
    suites: ['storage/wait-edges'],
  },
  {
    name: 'a cycle of three agents is not detected',
    edits: [
      ['next.push(...store.waits.edgesOf(id))', 'if (id === to) next.push(...store.waits.edgesOf(id))'],
    ],
    suites: ['storage/wait-edges'],
  },
]
