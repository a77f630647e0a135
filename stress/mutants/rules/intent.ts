/** Rule 2: intent before effect. Each record or name is written before the action that it announces. */
import type { Mutant } from '../mutant.js'

export const INTENT: Mutant[] = [
  {
    name: 'a program runs before its process group is recorded',
    edits: [
      [
        'record(recorded)',
        `;(child.stdio[3] as unknown as NodeJS.WritableStream).write('\\n')
         await new Promise((resolve) => setTimeout(resolve, 300))
         record(recorded)`,
      ],
    ],
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier does not hold back the program',
    edits: [
      [
        '`command trap \'\' ${REAL_TIME} 2>/dev/null; read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`',
        '`command trap \'\' ${REAL_TIME} 2>/dev/null; exec 3<&-; exec "$@"`',
      ],
    ],
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier opens when substrat dies',
    edits: [
      [
        '`command trap \'\' ${REAL_TIME} 2>/dev/null; read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`',
        '`command trap \'\' ${REAL_TIME} 2>/dev/null; read -r _ <&3; exec 3<&-; exec "$@"`',
      ],
    ],
    suites: ['provider/program'],
  },
  {
    name: 'the start barrier opens although the record could not be written',
    edits: [
      [
        `child.kill('SIGKILL')
         await exited
         held?.release()`,
        `;
         (child.stdio[3] as unknown as NodeJS.WritableStream).end('\\n')`,
      ],
    ],
    suites: ['provider/program'],
  },
  {
    name: 'the process group of a program is not recorded',
    edits: [["{ kind: 'provider.started', run_id, ...event.group }", '']],
    suites: ['turn/step/step', 'turn/drive-agent'],
  },
  {
    name: 'the process group of a tool is not recorded',
    edits: [["void this.turn.persist({ type: 'tool_launched', call_id, group, ...attempt })", 'undefined']],
    suites: ['turn/drive-tools#is recorded with its process group'],
  },
  {
    name: 'the process group of a tool server is not recorded',
    edits: [["this.turn.persist({ type: 'server_launched', server, group })", ';']],
    suites: ['turn/drive-tools#starts its tool server', 'commands/tools'],
  },
  {
    name: 'a request to a model is not recorded',
    edits: [["provider === 'model' ? [{ kind: 'model.requested', run_id }] : []", '[]']],
    suites: ['turn/step/step'],
  },
  {
    name: 'a model is asked before the records of its turn are written',
    edits: [
      [
        'appendStep(this.session, this.ports, records)',
        `if (effect?.type === 'ask') setTimeout(() => appendStep(this.session, this.ports, records), 20)
         else appendStep(this.session, this.ports, records)`,
      ],
    ],
    suites: ['turn/drive-model'],
  },
  {
    name: 'a built-in tool runs without a record of its start',
    edits: [["records.push({ kind: 'tool.started', run_id, call_id, tool })", 'void 0']],
    suites: ['turn/drive-tools#is recorded with its process group'],
  },
  {
    name: 'a tool call of a program is recorded only after it has run',
    edits: [
      [
        "persist({ type: 'program_called', call: this.turn.stored(call) })",
        'const { whole, deferred: _, ...outcome } = await this.resultOf(call, run, signal)',
      ],
      [
        'const { whole, deferred: _, ...outcome } = await this.resultOf(call, run, signal)',
        "persist({ type: 'program_called', call: this.turn.stored(call) })",
      ],
    ],
    suites: ['turn/ask/program-calls'],
  },
  {
    name: 'a program is released before its reply is recorded',
    edits: [
      [
        `storage.persist({ type: 'agent_replied', reply, ...used })
         const state = await letGo(agent, 'suspend')`,
        `const state = await letGo(agent, 'suspend')
         storage.persist({ type: 'agent_replied', reply, ...used })`,
      ],
    ],
    suites: ['turn/drive-agent'],
  },
  {
    name: 'the native state of a program is recorded only at its end',
    edits: [
      [
        "this.storage.persist({ type: 'state_known', state: storedState(event.state) })",
        'storedState(event.state)',
      ],
    ],
    suites: ['turn/drive-agent'],
  },
  {
    name: 'a kept server runs before it is recorded',
    edits: [
      [
        `,
         { kind: 'server.kept', server_id, group }`,
        '',
      ],
    ],
    suites: ['turn/drive-kept-server'],
  },
  {
    name: 'a turn begins without a slot',
    edits: [["begins?.type === 'ask'", 'begins === null']],
    suites: ['turn/drive-model'],
  },
  {
    name: 'an agent exists before its name is reserved',
    edits: [
      [
        `const above = parent === null ? undefined : checkParent(store, parent, index, bounds, isClosed)
         const owner =
           name === null ? undefined : parent === null ? livingRoot(store, name) : livingChild(store, parent, name)`,
        'const above = parent === null ? undefined : checkParent(store, parent, index, bounds, isClosed)',
      ],
      [
        'index.reserve(name ?? id, id)',
        `const owner =
               name === null ? undefined : parent === null ? livingRoot(store, name) : livingChild(store, parent, name)
         const result = await createOnDisk(store, agent, { path, scope: inherited }, () => lock.assertHeld())
         index.reserve(name ?? id, id)
         return result`,
      ],
      ['return await createOnDisk(store, agent, { path, scope: inherited }, () => lock.assertHeld())', ';'],
    ],
    suites: ['tree/create-agent', 'tree/create-agent-below', 'tree/names'],
  },
  {
    name: 'an agent exists before its marker',
    edits: [["io.close(io.open('marker.create', marker, 'create'))", ';']],
    suites: ['tree/create-agent', 'storage/create-agent'],
  },
  {
    name: 'a message file is removed before its delivery is recorded',
    edits: [
      [
        'noteTaken(ctx, session, messages)',
        `for (const { message_id } of messages) session.removeMail(message_id)
         noteTaken(ctx, session, messages)`,
      ],
    ],
    suites: ['dispatch/visit'],
  },
  {
    name: 'the file of a control is removed before its record is written',
    edits: [
      [
        `syncBeforeForgetting(session, records.length)
         session.append(records)
         removeDelivered(session)`,
        `syncBeforeForgetting(session, records.length)
             for (const each of records)
         if ('message_id' in each)
         ((session, id) => session.removeMail(id))(session, each.message_id)
         session.append(records)`,
      ],
    ],
    suites: ['dispatch/visit'],
  },
  {
    name: 'the outbox counts as sent before it is sent',
    edits: [
      [
        'for (const owed of due) {',
        `session.carry(answeredRecord(state))
         for (const owed of due) {`,
      ],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'the outbox counts as sent although one message could not be sent',
    edits: [['else isAllSent = false', '']],
    suites: ['mail/answers'],
  },
  {
    name: 'a message to a terminated agent is removed before it is answered',
    edits: [
      [
        'if (tell(store, state, message, note)) told.push(message.from)',
        'store.mail.removeReturned(state.id, id)',
      ],
      [
        'store.mail.removeReturned(state.id, id)',
        'if (tell(store, state, message, note)) told.push(message.from)',
      ],
    ],
    suites: ['mail/answers'],
  },
  {
    name: 'remove deletes the files of an agent before renaming it aside',
    edits: [
      [
        "io.rename('remove.aside', this.paths.agent(agentId).root, aside)",
        "io.removeTree('remove.tree', this.paths.agent(agentId).root)",
      ],
    ],
    suites: ['storage/store'],
  },
  {
    name: "the search for a wait cycle precedes the waiter's own edge",
    edits: [
      [
        'const edge = await store.waits.add(waiterId, to, command)',
        `checkNoCycle(store, waiterId, to)
         const edge = await store.waits.add(waiterId, to, command)`,
      ],
      ['checkNoCycle(store, waiterId, to)', ';'],
    ],
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a log is replaced before the damaged log is set aside',
    edits: [["store.upkeep.keepDamaged(agentId).log ?? 'nothing'", "'nothing'"]],
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'a call of a missing tool is executed instead of refused',
    edits: [["kind === 'unknown' && next.status === 'pending'", "kind === 'none'"]],
    suites: ['turn/drive-tools#for a missing tool'],
  },
]
