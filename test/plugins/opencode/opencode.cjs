/**
 * Replaces OpenCode in tests: node opencode.cjs STORE [HABIT…] serve|export|models …
 * It has the parts of OpenCode's API that the provider uses. Its sessions are files in STORE. A prompt that is a JSON
 * list has the steps of the turn; any other prompt is echoed. After a prompt that grants permission it repeats its
 * earlier requests.
 */
const { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs')
const { createServer } = require('node:http')
const path = require('node:path')

const command = process.argv.findIndex((word, at) => at > 2 && ['serve', 'export', 'models'].includes(word))
const [store, ...habits] = process.argv.slice(2, command)
const has = (habit) => habits.includes(habit)
const fileOf = (id) => path.join(store, `${id}.json`)
const load = (id) => JSON.parse(readFileSync(fileOf(id), 'utf8'))
const save = (session) => writeFileSync(fileOf(session.id), JSON.stringify(session))
mkdirSync(store, { recursive: true })

if (process.argv[command] === 'models') process.stdout.write('loop/m\nloop/n\n')
if (process.argv[command] === 'export') {
  const id = process.argv[command + 1]
  process.stderr.write(`Exporting session: ${id}\n`)
  writeFileSync(path.join(store, 'environment'), JSON.stringify(process.env))
  if (!existsSync(fileOf(id))) process.exit(1)
  process.stdout.write(JSON.stringify({ info: { id }, messages: load(id).messages }), () => process.exit(0))
} else if (has('dies at once')) {
  process.stderr.write('the disk is full\n')
  process.exit(1)
}

const listeners = new Set()
const replies = new Map()
let current
let lastId = 0
const newId = (kind) => `${kind}_${process.pid}x${++lastId}`
function emit(type, properties) {
  for (const response of listeners)
    response.write(`data: ${JSON.stringify({ id: newId('evt'), type, properties })}\n\n`)
}
const status = (sessionID, value) => emit('session.status', { sessionID, status: value })

function idle() {
  if (current === undefined) return
  const { id } = current
  current = undefined
  status(id, { type: 'idle' })
  emit('session.idle', { sessionID: id })
}

/** A message of the answer, in the store from its beginning. */
function message(fields = {}, parts = []) {
  const info = {
    id: newId('msg'),
    role: 'assistant',
    parentID: current.promptId,
    time: { created: 1 },
    ...fields,
  }
  current.messages.push({ info, parts })
  save(current)
  emit('message.updated', { sessionID: current.id, info })
  return info
}

const TOKENS = { input: 100, output: 7, reasoning: 1, cache: { read: 20, write: 3 } }
const PAID = { providerID: 'lab', modelID: 'small', cost: 0.25, tokens: TOKENS }
/** A message that is not an answer: the user's, or one that OpenCode added. */
function user(parts, id = newId('msg')) {
  const info = { id, role: 'user' }
  current.promptId = id
  current.messages.push({ info, parts })
  save(current)
  emit('message.updated', { sessionID: current.id, info })
  for (const part of parts)
    emit('message.part.updated', { sessionID: current.id, part: { ...part, messageID: id } })
}

const STEPS = {
  say(text, finish = 'stop', fields = {}) {
    const info = message(fields)
    const part = { id: newId('prt'), type: 'text', messageID: info.id }
    emit('message.part.updated', { sessionID: current.id, part: { ...part, text: '' } })
    const facts = { sessionID: current.id, messageID: info.id, partID: part.id, field: 'text' }
    for (const delta of text.match(/.{1,5}/gsu) ?? []) emit('message.part.delta', { ...facts, delta })
    const entry = current.messages.at(-1)
    entry.parts = [{ type: 'step-start' }, { ...part, text }]
    entry.info = { ...PAID, ...info, finish, time: { created: 1, completed: 2 } }
    save(current)
    emit('message.updated', { sessionID: current.id, info: entry.info })
  },
  begin: (text) => STEPS.say(text, 'tool-calls'),
  'say as': ({ text, ...fields }) => STEPS.say(text, 'tool-calls', fields),
  /** Some model providers send `stop` although the model calls a tool. */
  'call and say'(text) {
    STEPS.say(text)
    current.messages.at(-1).parts.push({ type: 'tool', tool: 'bash', callID: newId('call') })
    save(current)
  },
  'stored tool'(part) {
    current.messages.at(-1).parts.push({ type: 'tool', ...part })
    save(current)
  },
  end: (finish) => STEPS.say('an end', finish),
  user: (parts) => user(parts),
  summary: (text) => STEPS.say(text, 'stop', { summary: true }),
  message: (fields) => message({ ...fields, time: { created: 1, completed: 2 } }),
  error: (error) => message({ error, time: { created: 1, completed: 2 } }),
  'session error': (error) => emit('session.error', { sessionID: current.id, error }),
  status: (value) => status(current.id, { ...value, ...(value.in && { next: Date.now() + value.in }) }),
  emit: ({ type, properties }) => emit(type, { sessionID: current.id, ...properties }),
  'of another session': ({ type, properties }) => emit(type, { sessionID: 'ses_other', ...properties }),
  tool: ({ callID, tool, state }) =>
    emit('message.part.updated', {
      sessionID: current.id,
      part: {
        id: newId('prt'),
        messageID: current.messages.at(-1).info.id,
        type: 'tool',
        tool,
        callID,
        state,
      },
    }),
  async 'ask for'(requests) {
    current.asked = requests
    save(current)
    // Written at once, so that the reader cannot answer the first before the others.
    for (const response of listeners) response.cork()
    const waiting = requests.map((request) => {
      const id = newId('per')
      emit('permission.asked', { id, sessionID: current.id, always: [], ...request })
      return new Promise((resolve) => replies.set(id, resolve))
    })
    for (const response of listeners) response.uncork()
    const answered = await Promise.all(waiting)
    const words = answered.map(({ reply }) => `[${reply}]`).join('')
    // After a rejection without a message OpenCode does not ask its model again.
    const isOver = answered.some(({ reply, message }) => reply === 'reject' && !message)
    if (current !== undefined) STEPS.say(words, isOver ? 'tool-calls' : 'stop')
  },
  async 'ask a question'(questions) {
    const id = newId('que')
    emit('question.asked', { id, sessionID: current.id, questions })
    const { answers } = await new Promise((resolve) => replies.set(id, resolve))
    if (answers?.length === questions.length) STEPS.say(answers.join())
    else STEPS.begin('')
  },
  kill: (signal) => process.kill(process.pid, signal),
  'wait ms': (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  async 'wait for'(file) {
    while (!existsSync(file)) await STEPS['wait ms'](20)
  },
  hang: () => new Promise(() => undefined),
}

async function play(session, body) {
  const text = body.parts[0].text
  current = session
  session.asks = [...(session.asks ?? []), body]
  if (has('loses prompts')) return process.kill(process.pid, 'SIGKILL')
  // The real OpenCode counts the changes of earlier turns, too.
  for (const { info } of session.messages.filter(({ info }) => info.role === 'user'))
    emit('message.updated', { sessionID: session.id, info })
  status(session.id, { type: 'busy' })
  user(body.parts, body.messageID)
  const isDecision = /has (granted|denied) permission/.test(text)
  const steps = text.startsWith('[')
    ? JSON.parse(text)
    : isDecision
      ? [{ 'ask for': session.asked }]
      : [{ say: `echo: ${text}` }]
  for (const step of steps) for (const [name, value] of Object.entries(step)) await STEPS[name]?.(value)
  idle()
}

function answer(response, code, body) {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const ROUTES = [
  ['GET', /^\/global\/health$/, (response) => has('hangs later') || answer(response, 200, { healthy: true })],
  [
    'GET',
    /^\/session\/status$/,
    (response) => answer(response, 200, current === undefined ? {} : { [current.id]: { type: 'busy' } }),
  ],
  [
    'POST',
    /^\/mcp\/(\w+)\/disconnect$/,
    (response, _, name) => {
      appendFileSync(path.join(store, 'disconnected'), `${name}\n`)
      answer(response, 200, true)
    },
  ],
  [
    'GET',
    /^\/event$/,
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      listeners.add(response)
      response.write('data: {"type":"server.connected","properties":{}}\n\n')
    },
  ],
  [
    'POST',
    /^\/mcp$/,
    (response, body) => {
      writeFileSync(path.join(store, 'mcp'), JSON.stringify(body))
      answer(response, 200, {})
    },
  ],
  [
    'POST',
    /^\/session$/,
    (response, body) => {
      const session = { id: `ses_${readdirSync(store).length}`, messages: [], created: body }
      save(session)
      answer(response, 200, { id: session.id })
      if (has('dies with its session')) process.kill(process.pid, 'SIGKILL')
    },
  ],
  [
    'GET',
    /^\/session\/(\w+)$/,
    (response, _, id) => {
      if (!existsSync(fileOf(id)))
        return answer(response, 404, { name: 'NotFoundError', data: { message: 'Session not found' } })
      answer(response, 200, { id })
    },
  ],
  ['GET', /^\/session\/(\w+)\/message$/, (response, _, id) => answer(response, 200, load(id).messages)],
  [
    'POST',
    /^\/session\/(\w+)\/prompt_async$/,
    (response, body, id) => {
      response.writeHead(204).end()
      play(load(id), body)
    },
  ],
  [
    'POST',
    /^\/session\/(\w+)\/abort$/,
    (response, _, id) => {
      appendFileSync(path.join(store, 'aborted'), `${id}\n`)
      answer(response, 200, true)
      if (!has('is deaf to an abort')) idle()
    },
  ],
  [
    'POST',
    /^\/(?:permission|question)\/(\w+)\/(?:reply|reject)$/,
    (response, body, id) => {
      answer(response, 200, true)
      replies.get(id)?.(body)
    },
  ],
]

const expected = `Basic ${Buffer.from(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`).toString('base64')}`
const server = createServer(async (request, response) => {
  let text = ''
  for await (const piece of request) text += piece
  if (request.headers.authorization !== expected) return answer(response, 401, {})
  const { pathname, searchParams } = new URL(request.url, 'http://x')
  if (searchParams.get('directory') !== process.cwd()) return answer(response, 400, 'another directory')
  for (const [method, pattern, handle] of ROUTES) {
    const [, id] = (request.method === method && pattern.exec(pathname)) || [false]
    if (pattern.test(pathname) && request.method === method)
      return handle(response, text && JSON.parse(text), id)
  }
  answer(response, 404, 'no such route')
})
if (process.argv[command] === 'serve')
  server.listen(0, '127.0.0.1', () => {
    if (has('never listens')) return
    process.stdout.write(`opencode server listening on http://127.0.0.1:${server.address().port}\n`)
  })
