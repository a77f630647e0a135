/** Rule 2: intent before effect. Each order of a record, or a name, and of what it announces. */
import type { Mutant } from '../mutant.js'

export const INTENT: Mutant[] = [
  {
    name: 'a program runs before its group is recorded',
    file: 'provider/gate.ts',
    from: '    record(group)\n',
    to: `    ;(child.stdio[3] as unknown as NodeJS.WritableStream).write('\\n')\n    await new Promise((resolve) => setTimeout(resolve, 300))\n    record(group)\n`,
    suites: ['provider/program'],
  },
  {
    name: 'the gate of a program is no gate',
    file: 'provider/gate.ts',
    from: 'read -r _ <&3 || exit 125; exec 3<&-; exec',
    to: 'exec 3<&-; exec',
    suites: ['provider/program'],
  },
  {
    name: 'the death of substrat opens the gate of a program',
    file: 'provider/gate.ts',
    from: 'read -r _ <&3 || exit 125; exec 3<&-',
    to: 'read -r _ <&3; exec 3<&-',
    suites: ['provider/program'],
  },
  {
    name: 'a program whose record cannot be written is let through',
    file: 'provider/gate.ts',
    from: `    child.kill('SIGKILL')\n    await exited\n    held?.release()\n    throw error`,
    to: `    ;(child.stdio[3] as unknown as NodeJS.WritableStream).end('\\n')\n    throw error`,
    suites: ['provider/program'],
  },
  {
    name: 'the group of a program is not recorded',
    file: 'turn/step/step.ts',
    from: `return { records: [{ kind: 'provider.started', run_id, ...event.group }] }`,
    to: 'return { records: [] }',
    suites: ['turn/step/step', 'turn/drive-agent'],
  },
  {
    name: 'the group of a tool is not recorded',
    file: 'turn/drive.ts',
    from: `          this.persist({ type: 'tool_launched', call_id: callId, group })\n`,
    to: '',
    suites: ['turn/drive-tools#of a program is recorded'],
  },
  {
    name: 'the group of a tool server is not recorded',
    file: 'turn/drive.ts',
    from: `          this.persist({ type: 'server_launched', server, group })\n`,
    to: '',
    suites: ['turn/drive-tools#of a tool server is run', 'commands/tools'],
  },
  {
    name: 'a model is asked without a record',
    file: 'turn/step/records.ts',
    from: `provider === 'model' ? [{ kind: 'model.requested', run_id }] : []`,
    to: '[]',
    suites: ['turn/step/step'],
  },
  {
    name: 'a model is asked before the records of its turn are made',
    file: 'turn/drive.ts',
    from: '    this.session.append(all)\n    return effect\n',
    to: `    if (effect?.type === 'ask') setTimeout(() => this.session.append(all), 20)
    else this.session.append(all)
    return effect
`,
    suites: ['turn/drive-model'],
  },
  {
    name: 'a tool of ours is run without a record',
    file: 'turn/step/calls.ts',
    from: `      records.push({ kind: 'tool.started', run_id, call_id, tool })\n`,
    to: '      void 0\n',
    suites: ['turn/drive-tools#of a program is recorded'],
  },
  {
    name: 'a call of a program is recorded once it is carried out',
    file: 'turn/ask/program-calls.ts',
    from: `    persist({ type: 'program_called', call: this.turn.stored(call) })
    const { whole, ...outcome } = await this.resultOf(call, run, signal)`,
    to: `    const { whole, ...outcome } = await this.resultOf(call, run, signal)
    persist({ type: 'program_called', call: this.turn.stored(call) })`,
    suites: ['turn/ask/program-calls'],
  },
  {
    name: 'a program is let go before its reply is recorded',
    file: 'turn/ask/ask-agent.ts',
    from: `    storage.persist({ type: 'agent_replied', reply })
    const state = await letGo(agent, 'suspend')`,
    to: `    const state = await letGo(agent, 'suspend')
    storage.persist({ type: 'agent_replied', reply })`,
    suites: ['turn/drive-agent'],
  },
  {
    name: 'what a program says of its state is recorded at its end alone',
    file: 'turn/ask/ask-agent.ts',
    from: `      this.storage.persist({ type: 'state_known', state: stored(event.state) })`,
    to: '      stored(event.state)',
    suites: ['turn/drive-agent'],
  },
  {
    name: 'a kept server runs before it is recorded',
    file: 'turn/step/step.ts',
    from: `          { kind: 'server.kept', server_id, group },\n`,
    to: '',
    suites: ['turn/drive-warm'],
  },
  {
    name: 'a turn begins before it has a slot',
    file: 'turn/drive.ts',
    from: `begins?.type === 'ask' ? await ports.takeSlot() : undefined`,
    to: 'begins === null ? await ports.takeSlot() : undefined',
    suites: ['turn/drive-model'],
  },
  {
    name: 'an agent is there before its name leads to it',
    file: 'tree/birth.ts',
    from: `    index.reserve(name ?? id, id)
    const path = above === undefined ? (name ?? id) : \`\${above.path}/\${name ?? id}\`
    return await born(store, agent, path, () => lock.assertHeld())`,
    to: `    const path = above === undefined ? (name ?? id) : \`\${above.path}/\${name ?? id}\`
    const session = await born(store, agent, path, () => lock.assertHeld())
    index.reserve(name ?? id, id)
    return session`,
    suites: ['tree/birth', 'tree/birth-below', 'tree/names'],
  },
  {
    name: 'an agent is there before its marker',
    file: 'storage/birth.ts',
    from: `    io.close(io.open('marker.create', marker, 'create'))\n`,
    to: '',
    suites: ['tree/birth', 'storage/birth'],
  },
  {
    name: 'a message is removed before its record is made',
    file: 'dispatch/go-on.ts',
    from: '    noteTaken(ctx, session, messages)\n',
    to: `    for (const { message_id } of messages) session.store.mail.remove(session.id, message_id)
    noteTaken(ctx, session, messages)\n`,
    suites: ['dispatch/visit'],
  },
  {
    name: 'what was asked of an agent is removed before its record is made',
    file: 'dispatch/visit.ts',
    from: '    session.append(records)\n    removeDelivered(session)',
    to: `    for (const record of records)
      if ('message_id' in record) session.store.mail.remove(session.id, record.message_id)
    session.append(records)`,
    suites: ['dispatch/visit'],
  },
  {
    name: 'answers count as sent before they are',
    file: 'mail/answers.ts',
    from: '  for (const owed of due) {\n    try {\n      post(',
    to: `  session.append([{ kind: 'mail.answered' }])\n  for (const owed of due) {\n    try {\n      post(`,
    suites: ['mail/answers'],
  },
  {
    name: 'answers count as sent where one could not be',
    file: 'mail/answers.ts',
    from: '      else isAllSent = false\n',
    to: '',
    suites: ['mail/answers'],
  },
  {
    name: 'mail to a terminated agent is gone before it is answered',
    file: 'mail/answers.ts',
    from: `      if (tell(store, state, message, note)) told.push(message.from)
      store.mail.removeReturned(state.id, id)`,
    to: `      store.mail.removeReturned(state.id, id)
      if (tell(store, state, message, note)) told.push(message.from)`,
    suites: ['mail/answers'],
  },
  {
    name: 'an agent is taken apart where it stands',
    file: 'storage/store.ts',
    from: `    io.rename('remove.aside', this.paths.agent(agentId).root, aside)\n`,
    to: `    io.removeTree('remove.tree', this.paths.agent(agentId).root)\n`,
    suites: ['storage/store'],
  },
  {
    name: 'who waits looks for a cycle before its edge is there',
    file: 'turn/tools/tree/correspondence.ts',
    from: `  const edge = await session.store.waits.add(session.id, to, tree.command)
  try {
    checkNoCycle(session.store, session.id, to)
`,
    to: `  checkNoCycle(session.store, session.id, to)
  const edge = await session.store.waits.add(session.id, to, tree.command)
  try {
`,
    suites: ['turn/tools/await-reply'],
  },
  {
    name: 'a log is replaced before the damaged one is kept',
    file: 'audit/rebuild-log.ts',
    from: 'store.upkeep.keepDamaged(',
    to: '((_: string) => ({ log: null, snapshot: null }))(',
    suites: ['audit/rebuild-log'],
  },
  {
    name: 'a command acts on an effect that the pure step does not name',
    file: 'turn/step/calls.ts',
    from: `    if (kind === 'unknown') {`,
    to: `    if (kind === ('none' as string)) {`,
    suites: ['turn/drive-tools#of a tool that there is not'],
  },
]
