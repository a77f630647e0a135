/** Rule 10: the loss of markers, snapshots and indexes costs only time. */
import type { Mutant } from '../mutant.js'

export const REBUILDABLE: Mutant[] = [
  {
    name: 'markers are trusted after a reboot',
    edits: [
      [
        'this.read(ownIdentity().kernel_boot_id)?.device === this.device()',
        'this.read(ownIdentity().kernel_boot_id)?.device !== null',
      ],
    ],
    suites: ['storage/store', 'storage/rules#10:'],
  },
  {
    name: 'markers are trusted after the home moved to another device',
    edits: [
      [
        'this.read(ownIdentity().kernel_boot_id)?.device === this.device()',
        'this.read(ownIdentity().kernel_boot_id)?.device !== undefined',
      ],
    ],
    suites: ['storage/store'],
  },
  {
    name: 'a recovery removes the temporary file of another recovery',
    edits: [['isTemporaryName(name) || name === kernel_boot_id', 'name === kernel_boot_id']],
    suites: ['storage/store'],
  },
  {
    name: 'after a reboot only marked agents are visited',
    edits: [['[...new Set([...store.agentIds(), ...store.visits.markedIds()])]', 'store.visits.markedIds()']],
    suites: ['dispatch/recovering'],
  },
  {
    name: 'a boot counts as scanned although some agents were not',
    edits: [
      [
        `if (await work([...new Set([...store.agentIds(), ...store.visits.markedIds()])]))
         store.visits.markComplete()`,
        `await work([...new Set([...store.agentIds(), ...store.visits.markedIds()])])
         store.visits.markComplete()`,
      ],
    ],
    suites: ['dispatch/recovering'],
  },
  {
    name: 'a miss in an incomplete index is trusted',
    edits: [
      [
        'this.isComplete && !(isThere && this.read(path) === undefined)',
        '!(isThere && this.read(path) === undefined)',
      ],
    ],
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'a damaged entry counts as a miss',
    edits: [['!(isThere && this.read(path) === undefined)', 'isThere !== null']],
    suites: ['storage/names', 'tree/names'],
  },
  {
    name: 'an index with damaged entries counts as a complete list',
    edits: [['this.isComplete && known.length === ids.length', 'this.isComplete']],
    suites: ['tree/children'],
  },
  {
    name: 'an incomplete index counts as a complete list',
    edits: [['this.isComplete && known.length === ids.length', 'known.length === ids.length']],
    suites: ['tree/children'],
  },
  {
    name: 'an index is marked complete although an agent could not be read',
    edits: [['isWhole &&= agent !== undefined', 'isWhole &&= id !== undefined']],
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'a deleted index of children is marked complete without a rebuild',
    edits: [
      [
        'rebuild(index, store.agentIds(), store, (agent) => agent.parent === parentId)',
        'index.markComplete()',
      ],
    ],
    suites: ['tree/children'],
  },
  {
    name: 'a deleted index of roots is marked complete without a rebuild',
    edits: [
      [
        'rebuild(index, store.agentIds(), store, (agent) => agent.parent === null && agent.name !== null)',
        'index.markComplete()',
      ],
    ],
    suites: ['tree/children', 'tree/names'],
  },
  {
    name: 'a home with agents but without an index gets one that is marked complete',
    edits: [
      [
        "io.listDirectory('home.list', paths.agents).length === 0",
        "io.listDirectory('home.list', paths.agents).length >= 0",
      ],
    ],
    suites: ['storage/home'],
  },
  {
    name: 'a marker that was renamed aside is ignored',
    edits: [[', this.paths.closingMarker(agentId)', '']],
    suites: ['storage/store'],
  },
  {
    name: 'the last check before a marker is removed comes too early',
    edits: [["if (needsVisit()) return void io.renameIfThere('marker.restore', aside, marker)", ';']],
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'a marker is renamed aside although the agent needs a visit',
    edits: [
      [
        `if (needsVisit()) return
         io.renameIfThere('marker.aside', marker, aside)`,
        "io.renameIfThere('marker.aside', marker, aside)",
      ],
    ],
    suites: ['storage/store', 'session/session'],
  },
  {
    name: 'a marker is removed without being renamed aside first',
    edits: [
      [
        `io.renameIfThere('marker.aside', marker, aside)
         if (needsVisit()) return void io.renameIfThere('marker.restore', aside, marker)
         clear()
         io.unlink('marker.unlink', aside)`,
        `if (needsVisit()) return
         clear()
         io.unlink('marker.unlink', aside)
         io.unlink('marker.unlink', marker)`,
      ],
    ],
    suites: ['storage/store', 'mail/post'],
  },
  {
    name: 'a message is stored before its recipient is marked',
    edits: [[', () => this.markers.mark(to)', '']],
    suites: ['mail/post'],
  },
  {
    name: "the recipient is marked before the message's temporary file exists",
    edits: [
      [
        'const isNew = maildir.putMessage(path, frame(message), () => this.markers.mark(to))',
        `this.markers.mark(to)
         const isNew = maildir.putMessage(path, frame(message))`,
      ],
    ],
    suites: ['mail/post'],
  },
  {
    name: 'an inbox with only a temporary file counts as empty',
    edits: [['parseMailFile(name) !== undefined || isLeftover(name)', 'parseMailFile(name) !== undefined']],
    suites: ['mail/post'],
  },
  {
    name: 'the recipient is not marked again after the message is stored',
    edits: [
      [
        `const isNew = maildir.putMessage(path, frame(message), () => this.markers.mark(to))
         this.markers.mark(to)`,
        'const isNew = maildir.putMessage(path, frame(message), () => this.markers.mark(to))',
      ],
    ],
    suites: ['mail/post'],
  },
  {
    name: 'close removes the marker although the agent needs a visit',
    edits: [['needsVisit || this.parts.mail.holdsAny(this.agentId)', 'false']],
    suites: ['session/session'],
  },
  {
    name: 'close removes the marker of an agent that has mail',
    edits: [['needsVisit || this.parts.mail.holdsAny(this.agentId)', 'needsVisit']],
    suites: ['mail/post', 'session/session', 'storage/conformance'],
  },
  {
    name: 'the inbox is not read again after a turn',
    edits: [['session.forgetUncheckedMailIds()', ';']],
    suites: ['dispatch/visit', 'dispatch/deliveries', 'mail/inbox', 'turn/drive-model'],
  },
  {
    name: 'an agent with mail needs no visit',
    edits: [["if (store.mail.ids(state.id).length > 0) return 'mail'", ';']],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an unsent outbox needs no visit',
    edits: [
      [
        `export function reasonToVisit(store: Store, state: State): VisitReason | undefined {
         if (hasOutbox(state)) return 'outbox'`,
        'export function reasonToVisit(store: Store, state: State): VisitReason | undefined {',
      ],
    ],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an open run needs no visit',
    edits: [
      [
        "if (state.run?.status === 'open' || isInterrupted(state)) return 'turn'",
        "if (isInterrupted(state)) return 'turn'",
      ],
    ],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with an interrupted turn needs no visit',
    edits: [
      [
        "if (state.run?.status === 'open' || isInterrupted(state)) return 'turn'",
        "if (state.run?.status === 'open') return 'turn'",
      ],
    ],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent with a reminder needs no visit',
    edits: [["if (state.reminders.length > 0) return 'reminder'", ';']],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'an agent that was poked needs no visit',
    edits: [["if (state.isPoked) return 'poke'", ';']],
    suites: ['recovery/visit-reason'],
  },
  {
    name: 'the marker of a spawn in progress is removed',
    edits: [['this.isSpawning(agentId) || this.isThere(agentId)', 'this.isThere(agentId)']],
    suites: ['tree/create-agent', 'dispatch/recovering'],
  },
  {
    name: 'the marker of an agent that was just created is removed',
    edits: [
      [
        'this.isSpawning(agentId) || this.isThere(agentId)',
        'this.isThere(agentId) || this.isSpawning(agentId)',
      ],
    ],
    suites: ['tree/create-agent'],
    equivalent: 'the second check, which asks both questions again, finds a name that changed between them',
  },
  {
    name: 'only input and output tokens are added up',
    edits: [['addOptional(total, a, b, sign)', ';']],
    suites: ['turn/step-properties'],
  },
  {
    name: 'the usage of a compaction is not counted',
    edits: [
      [
        `messages,
         ...(usage === undefined ? {} : { usage }),`,
        `messages,
         ...({}),`,
      ],
    ],
    suites: ['turn/step-properties'],
  },
]
