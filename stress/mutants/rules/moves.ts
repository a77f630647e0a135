/** Bundles and moves: a bundle is checked before anything is created, and an agent that moves has one owner. */
import type { Mutant } from '../mutant.js'

export const MOVES: Mutant[] = [
  {
    name: 'agents are closed before their bundle is delivered',
    edits: [
      [
        `)
         await request.deliver(bundle)
         const locks: Right[] = []`,
        `)
         const locks: Right[] = []`,
      ],
      [
        'return { moveId, bundle }',
        `await request.deliver(bundle)
         return { moveId, bundle }`,
      ],
    ],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'the highest agent of a move is closed first',
    edits: [['[...held.entries()].reverse()', '[...held.entries()]']],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'a child can be spawned below an agent while a move closes it',
    edits: [['for (const { id } of held) locks.push((await lockChildren(store, id, command)).lock)', ';']],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'a child that was spawned while the bundle was delivered stays below a closed parent',
    edits: [
      [
        `for (const { id } of held) locks.push((await lockChildren(store, id, command)).lock)
         for (const { state } of held) checkNoOtherChild(store, state, ids)`,
        'for (const { id } of held) locks.push((await lockChildren(store, id, command)).lock)',
      ],
    ],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'the inbox is not read again before a move closes the agent',
    edits: [
      [
        `const stays = (from: string): boolean => from !== OPERATOR && !ids.includes(from)
         session.forgetMailIds()`,
        'const stays = (from: string): boolean => from !== OPERATOR && !ids.includes(from)',
      ],
    ],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'a move takes requests along whose senders stay',
    edits: [
      [
        "!state.delivered.includes(message_id) && !(kind === 'request' && stays(from))",
        '!state.delivered.includes(message_id)',
      ],
    ],
    suites: ['commands/move#answers the requests'],
  },
  {
    name: 'the other machine opens agents that are still open here',
    edits: [["'--hold',", '']],
    suites: ['commands/move-over-ssh#gives the tree one owner'],
  },
  {
    name: 'a moved agent can be taken back while the other machine opens it',
    edits: [
      [
        `})
           await act()
         } finally {
           await held.release()
         }`,
        `})
             await held.release()
         await act()
           } finally {
           }`,
      ],
    ],
    suites: ['commands/move-over-ssh#no reclaim opens'],
  },
  {
    name: 'an import with --hold opens the agents',
    edits: [['if (!request.isHeld)', '']],
    suites: ['commands/move#opens it only when'],
  },
  {
    name: 'a move can be imported twice',
    edits: [['if (isOver && (isGone || !request.usesExisting)) throw importedBefore(arrivals)', ';']],
    suites: ['commands/move#if its move is imported twice'],
  },
  {
    name: 'a move can be imported again after its agent was removed',
    edits: [
      [
        'arrivedMoves(store, agentId).includes(moveId) || store.moves.has(agentId, moveId)',
        'arrivedMoves(store, agentId).includes(moveId)',
      ],
    ],
    suites: ['commands/move#if it came and then left'],
  },
  {
    name: 'an agent is removed before its ended moves are remembered',
    edits: [
      ['store.moves.add(state.id, arrivedMoves(store, state.id))', 'store.remove(state.id, lease)'],
      ['store.remove(state.id, lease)', 'store.moves.add(state.id, arrivedMoves(store, state.id))'],
    ],
    suites: ['commands/move#if it came and then left'],
  },
  {
    name: 'an import replaces an agent that lives in the home',
    edits: [
      [
        `if (moved === undefined) {
           const how = known.state === 'terminated' ? 'is terminated in this home' : 'lives in this home'
           throw new SubstratError('SESSION_STATE', \`\${path} was not imported: agent \${id} \${how}\`, {
             hint: 'a copy has an id of its own: export it without --move',
             facts,
           })
         }`,
        'if (moved === undefined) return',
      ],
    ],
    suites: ['commands/forged-move#the id of an agent'],
  },
  {
    name: 'an import replaces an agent that left the home with the same move',
    edits: [
      [
        `if (moved.move_id === manifest.move_id)
         throw new SubstratError('SESSION_STATE', \`\${path} left this home with this move\`, {
           hint: \`take it back: substrat import --reclaim \${id}\`,
           facts,
         })`,
        'if (moved.move_id === manifest.move_id) return',
      ],
    ],
    suites: ['commands/move#if its own bundle'],
  },
  {
    name: 'an import replaces an agent although its bundle does not follow from the latest move',
    edits: [
      [
        `for (const { record } of recordsFrom(log, { seq: 1, offset: 0 }))
         if (record.kind === 'session.arrived' && record.move_id === moved.move_id) return`,
        'return',
      ],
    ],
    suites: ['commands/move#follow from its latest'],
  },
  {
    name: 'an import replaces the log of an agent that another import has opened',
    edits: [
      [
        `if (now?.last_seq !== known.last_seq || now.moved?.move_id !== known.moved?.move_id)
         throw importedElsewhere(agent.id)`,
        ';',
      ],
    ],
    suites: ['commands/move#do not replace the log'],
  },
  {
    name: 'a bundle with copies is checked agent by agent',
    edits: [
      [
        `for (const [index, copy] of copies.entries()) {
           ctx.reporter.count('agents imported', index, copies.length)
           const known = openForRead(ctx.store, copy.id)?.state
           agents.push(known ?? (await create(ctx, copy, bundle, request.workspace)))
           if (known === undefined) created += 1
         }`,
        ';',
      ],
    ],
    suites: ['operations/transfer/move-order'],
  },
  {
    name: 'the log of an imported agent is not compared with its checksum',
    edits: [
      ['if (sha256Hex(found) !== sha256) throw refused(`${shown(path)} does not have its checksum`)', ';'],
    ],
    suites: ['commands/bundle#a forged checksum'],
  },
  {
    name: 'a bundle is decompressed beyond the size in its manifest',
    edits: [[', maxOutputLength: bytesMax', '']],
    suites: ['commands/bundle#more contents than'],
  },
  {
    name: 'a link in a bundle counts as a file',
    edits: [
      ["if (type !== TYPE_FILE && type !== '\\0') throw refuse(`${shown(path)} is not a regular file`)", ';'],
    ],
    suites: ['commands/bundle#a link'],
  },
  {
    name: 'a record of an imported agent names a blob that the bundle lacks',
    edits: [['if (!blobs.has(blob)) throw refused(`a record of ${path} names a blob that it lacks`)', ';']],
    suites: ['commands/bundle'],
  },
  {
    name: 'a moved agent receives mail that its log does not name',
    edits: [
      [
        `if (JSON.stringify(ids) !== JSON.stringify(moved.messages) || new Set(ids).size !== ids.length)
         throw refused(\`the mail of \${path} is not the mail that its log names\`)`,
        ';',
      ],
    ],
    suites: ['commands/forged-move#forged mail'],
  },
  {
    name: 'a moved agent answers a request of an agent that is not in the bundle',
    edits: [
      [
        "kind !== 'request' || from === OPERATOR || manifest.agents.some((agent) => agent.id === from)",
        'true',
      ],
    ],
    suites: ['commands/forged-move#a request from an agent'],
  },
  {
    name: 'an arriving agent is open before its mail is stored',
    edits: [
      [
        `for (const message of messagesAlong(session)) store.mail.put(id, message.message_id, message)
         session.forgetMailIds()
         session.append(records)`,
        `session.append(records)
         session.forgetMailIds()
         for (const message of messagesAlong(session)) store.mail.put(id, message.message_id, message)`,
      ],
    ],
    suites: ['operations/transfer/move#the same import brings every'],
  },
  {
    name: 'an agent that moved with a higher one stays closed after that one is open',
    edits: [['await followTop(session, { command, waitMs, note: (text) => reporter.note(text) })', ';']],
    suites: ['operations/transfer/move#the tree of an export'],
  },
  {
    name: 'an agent follows its highest agent although that one moved on',
    edits: [
      [
        "top === undefined || top.state === 'terminated' || !isFollowed(store, top.id, moved)",
        "top === undefined || top.state === 'terminated'",
      ],
    ],
    suites: ['commands/move', 'operations/transfer/move'],
  },
  {
    name: 'an agent that has not arrived yet can be taken back',
    edits: [
      [
        `if (moved?.home_id !== store.homeId)
         throw new SessionStateError(\`\${path} has not arrived in this home yet, so it cannot be taken back\`, {
           hint: 'complete its move: repeat the import, or the export --to in its home',
           facts,
         })`,
        ';',
      ],
    ],
    suites: ['commands/move#opens it only when'],
  },
]
