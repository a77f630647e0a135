/**
 * A scripted ACP agent: node agent.cjs STORE [HABIT…]
 * Its sessions are files in STORE. A prompt that is a JSON list has the steps of the turn; any other prompt is
 * echoed. After a prompt that grants permission it repeats its earlier requests.
 */
const { spawn } = require('node:child_process')
const { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')

const [store, ...habits] = process.argv.slice(2)
const has = (habit) => habits.includes(habit)
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answer = (id, result) => write({ id, result })
const fail = (id, code, message, data) => write({ id, error: { code, message, ...(data && { data }) } })
const fileOf = (sessionId) => path.join(store, `${sessionId}.json`)
const load = (sessionId) => JSON.parse(readFileSync(fileOf(sessionId), 'utf8'))
const save = (session) => writeFileSync(fileOf(session.sessionId), JSON.stringify(session))
const update = (sessionId, content) =>
  write({ method: 'session/update', params: { sessionId, update: content } })
const said = (text, messageId) => ({
  sessionUpdate: 'agent_message_chunk',
  ...(messageId && { messageId }),
  content: { type: 'text', text },
})

mkdirSync(store, { recursive: true })
if (has('dies at once')) {
  process.stderr.write('Error: please run agent login\n')
  process.exit(3)
}

const OPTIONS = ['allow_once', 'allow_always', 'reject_once'].map((kind) => ({
  optionId: kind,
  kind,
  name: kind,
}))
const LISTS = {
  configOptions: [
    {
      id: 'the-model',
      category: 'model',
      name: 'Model',
      type: 'select',
      currentValue: 'small',
      options: [
        { value: 'small', name: 'Small' },
        { group: 'g', name: 'Large ones', options: [{ value: 'large', name: 'The Large One' }] },
      ],
    },
  ],
  modes: {
    currentModeId: 'build',
    availableModes: [
      { id: 'build', name: 'Build' },
      { id: 'plan', name: 'Plan' },
    ],
  },
}
const OLD_LISTS = {
  models: { currentModelId: 'small', availableModels: [{ modelId: 'large', name: 'Large' }] },
}
const offer = has('offers nothing') ? {} : has('offers as before') ? OLD_LISTS : LISTS

/** Open requests to the client. */
const open = new Map()
let lastId = 100
function ask(method, params) {
  lastId += 1
  write({ id: lastId, method, params })
  return new Promise((resolve) => open.set(lastId, resolve))
}

let prompt
const HANDLERS = {
  initialize(id, params) {
    if (has('never answers')) return
    answer(id, {
      protocolVersion: has('speaks version 9') ? 9 : 1,
      agentCapabilities: {
        loadSession: !has('cannot restore'),
        sessionCapabilities: {
          ...(!has('cannot resume') && !has('cannot restore') && { resume: {} }),
          ...(has('lists') && { list: {} }),
        },
      },
      authMethods: [{ id: 'web', name: 'Web login', description: 'Run `agent login`' }],
      clientSaid: params,
    })
  },
  'session/new'(id, params) {
    if (has('wants a login')) return fail(id, -32000, 'Who are you?')
    const sessionId = `s${readdirSync(store).length + 1}`
    save({
      sessionId,
      prompts: [],
      opened: [params],
      chosen: [],
      passwords: [process.env.OPENCODE_SERVER_PASSWORD],
    })
    answer(id, { sessionId, ...offer })
    if (has('dies with its session')) process.kill(process.pid, 'SIGKILL')
  },
  'session/resume': (id, params) => restore(id, params),
  'session/load': (id, params) => restore(id, params, true),
  'session/list'(id, { cursor = '0' }) {
    const all = readdirSync(store).map((name) => ({ sessionId: path.basename(name, '.json'), cwd: '/' }))
    const end = Number(cursor) + 1
    answer(id, {
      sessions: all.slice(Number(cursor), end),
      ...(end < all.length && { nextCursor: String(end) }),
    })
  },
  'session/set_config_option': choose,
  'session/set_mode': choose,
  'session/set_model': choose,
  async 'session/prompt'(id, params) {
    prompt = { id, sessionId: params.sessionId }
    const session = load(params.sessionId)
    session.prompts.push(params.prompt.map(({ text }) => text))
    save(session)
    const text = params.prompt.at(-1).text
    if (has('is limited always') || (has('is limited at first') && session.prompts.length === 1))
      return fail(id, -32603, 'Rate limit reached, try again in 1h')
    if (text.startsWith('[')) return play(session, JSON.parse(text))
    if (text.includes('has granted permission') || text.includes('has denied')) {
      for (const toolCall of session.asked ?? [])
        await permission(session, { ...toolCall, toolCallId: 'again' })
      return stop({ stopReason: 'end_turn' })
    }
    update(params.sessionId, said(`echo: ${text}`))
    stop({ stopReason: 'end_turn' })
  },
  'session/cancel'({ sessionId }) {
    save({ ...load(sessionId), isCancelled: true })
    if (has('is deaf to a cancel')) return
    if (prompt !== undefined)
      stop({ stopReason: has('ends a cancelled turn well') ? 'end_turn' : 'cancelled' })
  },
}

function restore(id, params, isReplayed = false) {
  const { sessionId } = params
  if (!existsSync(fileOf(sessionId))) {
    if (has('says nothing of use')) return fail(id, -32603, 'Internal error: service failure')
    return fail(id, -32002, 'Resource not found', { uri: sessionId })
  }
  if (has('cannot open it now')) return fail(id, -32603, 'Internal error: the disk is on fire')
  const session = load(sessionId)
  session.passwords.push(process.env.OPENCODE_SERVER_PASSWORD)
  session.opened.push(params)
  save(session)
  if (isReplayed) {
    for (const texts of session.prompts) update(sessionId, said(`replayed: ${texts.join()}`))
    update(sessionId, { sessionUpdate: 'tool_call', toolCallId: 'old', title: 'old', status: 'completed' })
  }
  answer(id, offer)
}

function choose(id, { sessionId, ...chosen }) {
  const session = load(sessionId)
  session.chosen.push(chosen)
  save(session)
  answer(id, {})
}

function stop(result) {
  if (prompt === undefined) return
  const { id } = prompt
  prompt = undefined
  answer(id, result)
}

async function permission(session, toolCall) {
  const { sessionId } = session
  const { outcome, error } = await ask('session/request_permission', {
    sessionId,
    toolCall,
    options: OPTIONS,
  })
  update(sessionId, said(`[${outcome?.optionId ?? outcome?.outcome ?? error?.code}]`, 'verdicts'))
}

const STEPS = {
  say: ({ sessionId }, text) => update(sessionId, said(text)),
  update: ({ sessionId }, content) => update(sessionId, content),
  'update of another session': (_, content) => update('another', content),
  raw: (_, text) => process.stdout.write(text),
  'say so many bytes': ({ sessionId }, bytes) => update(sessionId, said('x'.repeat(bytes))),
  'tell stderr': (_, text) => process.stderr.write(text),
  async request({ sessionId }, { method, params }) {
    const { error } = await ask(method, { sessionId, ...params })
    update(sessionId, said(`refused with ${error?.code}`))
  },
  async 'ask for'(session, toolCalls) {
    session.asked = toolCalls
    save(session)
    // Written at once, so that the client cannot read the first before the others.
    process.stdout.cork()
    const asked = toolCalls.map((toolCall) => permission(session, toolCall))
    process.stdout.uncork()
    await Promise.all(asked)
  },
  stop: (_, result) => stop(typeof result === 'string' ? { stopReason: result } : result),
  fail(_, { code, message, data }) {
    fail(prompt.id, code, message, data)
    prompt = undefined
  },
  exit: (_, code) => process.exit(code),
  kill: (_, signal) => process.kill(process.pid, signal),
  'wait ms': (_, ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  'leave a grandchild': () => spawn('sleep', ['3600'], { stdio: ['ignore', 'inherit', 'inherit'] }).unref(),
  hang: () => new Promise(() => undefined),
}

async function play(session, steps) {
  for (const step of steps)
    for (const [name, value] of Object.entries(step)) await STEPS[name](session, value)
}

let text = ''
process.stdin.setEncoding('utf8').on('data', (piece) => {
  const lines = (text + piece).split('\n')
  text = lines.pop()
  for (const line of lines) {
    const { id, method, params, result, error } = JSON.parse(line)
    if (method === 'session/cancel') HANDLERS[method](params)
    else if (method !== undefined) HANDLERS[method](id, params)
    else open.get(id)?.({ ...result, error })
  }
})
// Some agents continue after their stdin ends.
if (has('clings to life')) {
  process.on('SIGTERM', () => undefined)
  setInterval(() => undefined, 1000)
}
