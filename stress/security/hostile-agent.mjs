/**
 * Stands in for the four agent programs: node hostile-agent.mjs claude-code|codex|acp|opencode …
 * HOSTILE selects its behaviour: nothing (well-behaved), {"values"} in place of its words, one replaced field ({"at",
 * "by"}), or a {"trick"}. COUNTED names a file for the number of fields that it sent.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'

const [protocol, ...argv] = process.argv.slice(2)
const { values = {}, at, by, trick } = JSON.parse(process.env.HOSTILE ?? '{}')
const store = process.env.HOSTILE_STORE
const MEGABYTE = 1024 * 1024

/** Values that JSON.stringify cannot produce. */
const RAW = {
  '@deep': `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  '@wide': `[${'{},'.repeat(8 * MEGABYTE)}0]`,
  '@keys':
    '{"__proto__":{"polluted":1,"toString":7},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":0}',
  '@infinity': '1e999',
  '@large': '9007199254740993',
  '@huge': '1e300',
  '@half': String.raw`"\ud800x\udfff"`,
  '@megabyte': `"${'x'.repeat(MEGABYTE)}"`,
  '@megabytes': `"${'x'.repeat(30 * MEGABYTE)}"`,
}

const said = {
  text: 'so far\n',
  reply: 'well',
  tool: 'Bash',
  call: 'call-1',
  input: { command: 'true', paths: ['a'] },
  output: 'done',
  note: 'again',
  session: protocol === 'opencode' ? 'ses_1' : '5e551011-0000-4000-8000-000000000001',
  message: 'msg_1',
  permission: 'per_1',
  tokens: 5,
  // Replaces the kind of an object's own keys.
  more: {},
  ...values,
}

let fields = 0
/** Each field of each message is one place, in the order of sending. */
function replaced(value) {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => {
    fields += 1
    return [key, fields === at ? by : replaced(item)]
  })
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)
}

function json(message) {
  return JSON.stringify(replaced(message)).replaceAll(/"(@\w+)"/g, (text, name) => RAW[name] ?? text)
}

async function print(text, stream = process.stdout) {
  if (!stream.write(text)) await new Promise((resolve) => stream.once('drain', resolve))
}

const say = (message) => print(`${json(message)}\n`)
const forever = () => new Promise(() => setInterval(() => undefined, 1000))

function end(code = 0) {
  if (process.env.COUNTED) writeFileSync(process.env.COUNTED, String(fields))
  process.stdout.write('', () => process.exit(code))
}

/** `write` sends to the client; `one` handles each of its messages. */
async function play(one, write) {
  const say = async (...messages) => {
    for (const message of messages) await write(`${json(message)}\n`)
  }
  for (let count = 1; ; count += 1) {
    if (trick === 'an endless line') await write('x'.repeat(MEGABYTE))
    else if (trick === 'endless lines that are not JSON') await write('[]\n{\n'.repeat(1000))
    else if (trick === 'endless text')
      for (let i = 0; i < 100; i += 1) await say(...one.text('x'.repeat(1000)))
    else if (trick === 'endless tools') await say(...one.tool(`c${count}`, said.tool))
    else if (trick === 'endless tools that never end') await say(one.tool(`c${count}`, said.tool)[0])
    else if (trick === 'endless notes') await say(...one.note(`${said.note} ${count}`))
    else if (trick === 'endless messages of unknown kinds')
      await say({ type: `x${count}`, method: 'x', properties: {} })
    else if (trick === 'endless questions') await say(...one.ask(`p${count}`, `c${count}`))
    else if (trick === 'endless stderr') await print('x'.repeat(MEGABYTE), process.stderr)
    else break
  }
  if (trick === 'a line of 60 MB') await write(`${' '.repeat(60 * MEGABYTE)}\n`)
  if (trick === 'very many objects') await write(`{"type":"x","x":[${'{},'.repeat(20 * MEGABYTE)}0]}\n`)
  if (trick === 'very many levels of nesting') await write(`{"x":${'['.repeat(30 * MEGABYTE)}\n`)
  if (trick === 'NULs') await write(`${'\0'.repeat(MEGABYTE)}\n`)
  if (trick === 'no reply') return end()
  if (trick === 'no reply, and words on stderr') {
    await print(`${String(values.complaint ?? '')}\n`, process.stderr)
    return end(3)
  }
  await say(...one.text(said.text), ...one.note(said.note), ...one.tool(said.call, said.tool))
  if (trick === 'a question') {
    await say(...one.ask(said.permission, said.call))
    await forever()
  }
  await say(...one.reply())
  if (trick === 'two ends') await say(...one.reply(), ...one.reply())
  if (trick === 'no exit') {
    process.on('SIGTERM', () => undefined)
    await forever()
  }
}

function lines() {
  return createInterface({ input: process.stdin })[Symbol.asyncIterator]()
}

async function claude() {
  const flag = (name) => (argv.includes(name) ? argv[argv.indexOf(name) + 1] : undefined)
  const id = values.session ?? flag('--resume') ?? flag('--session-id')
  const folder = join(process.env.CLAUDE_CONFIG_DIR, 'projects', 'w')
  const session = { session_id: id }
  const init = { type: 'system', subtype: 'init', mcp_servers: [], ...session, ...said.more }
  const result = () => [
    {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: said.reply,
      terminal_reason: 'completed',
      usage: { input_tokens: said.tokens, output_tokens: said.tokens, cache_read_input_tokens: said.tokens },
      ...session,
    },
  ]
  if (trick === 'an answer before the prompt') for (const message of [init, ...result()]) await say(message)
  const heard = JSON.parse((await lines().next()).value)
  if (values.session === undefined) {
    mkdirSync(folder, { recursive: true })
    const entry = { type: 'user', uuid: heard.uuid, message: { role: 'user', content: 'x' } }
    writeFileSync(join(folder, `${id}.jsonl`), `${JSON.stringify(entry)}\n`, { flag: 'a' })
  }
  await say(init)
  const assistant = (...content) => ({
    type: 'assistant',
    message: { id: said.message, model: 'm', content },
    ...session,
  })
  await play(
    {
      text: (text) => [
        {
          type: 'stream_event',
          parent_tool_use_id: null,
          event: { type: 'message_start', message: { id: said.message } },
        },
        { type: 'stream_event', event: { type: 'content_block_delta', delta: { type: 'text_delta', text } } },
        assistant({ type: 'text', text }),
      ],
      tool: (call, name) => [
        assistant({ type: 'tool_use', id: call, name, input: said.input }),
        {
          type: 'user',
          message: { content: [{ type: 'tool_result', tool_use_id: call, content: said.output }] },
        },
      ],
      note: (error) => [
        { type: 'system', subtype: 'api_retry', retry_delay_ms: 1, attempt: 1, max_retries: 3, error },
      ],
      ask: (request_id, tool_use_id) => [
        {
          type: 'control_request',
          request_id,
          request: { subtype: 'can_use_tool', tool_name: said.tool, tool_use_id, input: said.input },
        },
      ],
      reply: result,
    },
    print,
  )
  end()
}

async function codex() {
  const resumed = argv.includes('resume') ? argv[argv.indexOf('resume') + 1] : undefined
  for await (const _ of process.stdin);
  if (resumed !== undefined && !existsSync(join(store, 'thread'))) {
    process.stderr.write(
      `Error: thread/resume failed: no rollout found for thread id ${resumed} (code -32600)\n`,
    )
    return end(1)
  }
  if (values.session === undefined && resumed === undefined) writeFileSync(join(store, 'thread'), 'x')
  const item = (type, item) => ({ type, item })
  const reply = () => [
    item('item.completed', { id: 'item_9', type: 'agent_message', text: said.reply }),
    { type: 'turn.completed', usage: { input_tokens: said.tokens, output_tokens: said.tokens } },
  ]
  if (trick === 'an answer before the prompt') for (const message of reply()) await say(message)
  await say({ type: 'thread.started', thread_id: resumed ?? said.session, ...said.more })
  const use = { type: 'mcp_tool_call', server: 's', tool: said.tool, arguments: said.input }
  const result = { content: [{ type: 'text', text: said.output }] }
  await play(
    {
      text: (text) => [item('item.completed', { id: 'item_1', type: 'agent_message', text })],
      tool: (id) => [
        item('item.started', { id, ...use, status: 'in_progress' }),
        item('item.completed', { id, ...use, result, status: 'completed' }),
        item('item.completed', {
          id: `${id}-2`,
          type: 'command_execution',
          command: said.note,
          aggregated_output: said.output,
          exit_code: 0,
          status: 'completed',
        }),
      ],
      note: (message) => [item('item.completed', { id: 'item_2', type: 'error', message })],
      ask: () => [],
      reply,
    },
    print,
  )
  end()
}

async function acp() {
  const input = lines()
  const rpc = (message) => ({ jsonrpc: '2.0', ...message })
  const update = (content) =>
    rpc({ method: 'session/update', params: { sessionId: said.session, update: content } })
  for await (const line of input) {
    const { id, method } = JSON.parse(line)
    if (method === 'initialize') {
      if (trick === 'an answer before the prompt')
        for (const each of [0, 1, 2, 3]) await say(rpc({ id: each, result: { stopReason: 'end_turn' } }))
      await say(
        rpc({
          id,
          result: {
            protocolVersion: 1,
            agentCapabilities: { loadSession: true },
            authMethods: [],
            ...said.more,
          },
        }),
      )
    } else if (method === 'session/new') {
      if (values.session === undefined) writeFileSync(join(store, 'thread'), 'x')
      await say(rpc({ id, result: { sessionId: said.session } }))
    } else if (method === 'session/load') {
      if (existsSync(join(store, 'thread'))) await say(rpc({ id, result: {} }))
      else await say(rpc({ id, error: { code: -32002, message: 'Resource not found' } }))
    } else if (method === 'session/prompt') {
      const chunk = (text) =>
        update({
          sessionUpdate: 'agent_message_chunk',
          messageId: said.message,
          content: { type: 'text', text },
        })
      const usage = { inputTokens: said.tokens, outputTokens: said.tokens, totalTokens: said.tokens }
      play(
        {
          text: (text) => [chunk(text)],
          tool: (toolCallId, title) => [
            update({
              sessionUpdate: 'tool_call',
              toolCallId,
              title,
              kind: 'execute',
              status: 'in_progress',
              rawInput: said.input,
            }),
            update({
              sessionUpdate: 'tool_call_update',
              toolCallId,
              status: 'completed',
              content: [{ type: 'content', content: { type: 'text', text: said.output } }],
            }),
          ],
          note: (title) => [update({ sessionUpdate: 'notice', title, description: title })],
          ask: (request, toolCallId) => [
            rpc({
              id: request,
              method: 'session/request_permission',
              params: {
                sessionId: said.session,
                toolCall: { toolCallId, title: said.tool, kind: 'execute', rawInput: said.input },
                options: [{ optionId: 'o', kind: 'allow_once', name: 'yes' }],
              },
            }),
          ],
          reply: () => [
            update({ sessionUpdate: 'tool_call', toolCallId: 'end', title: 'x', status: 'completed' }),
            chunk(said.reply),
            rpc({ id, result: { stopReason: 'end_turn', usage } }),
          ],
        },
        print,
      ).then(() => undefined)
    }
  }
  end()
}

function opencode() {
  const listeners = []
  const event = (type, properties) => ({ type, properties: { sessionID: said.session, ...properties } })
  const write = async (text) => {
    for (const listener of listeners) await print(text.startsWith('{') ? `data: ${text}\n` : text, listener)
  }
  let messages = []
  const info = (promptId) => ({
    id: said.message,
    role: 'assistant',
    parentID: promptId,
    finish: 'stop',
    time: { created: 1, completed: 2 },
    tokens: { input: said.tokens, output: said.tokens, reasoning: 0, cache: { read: said.tokens, write: 0 } },
  })
  const part = (type, fields) =>
    event('message.part.updated', { part: { type, messageID: said.message, ...fields } })
  const prompted = ({ messageID, parts }) => {
    const prompt = { id: messageID, role: 'user' }
    messages = [
      { info: prompt, parts },
      { info: info(messageID), parts: [{ type: 'text', text: said.reply }] },
    ]
    const tool = (callID, status) =>
      part('tool', {
        id: `p${callID}`,
        callID,
        tool: said.tool,
        state: { status, input: said.input, output: said.output },
      })
    return play(
      {
        text: (delta) => [
          event('message.updated', { info: prompt }),
          event('message.updated', { info: info(messageID) }),
          part('text', { id: 'prt_1', text: '' }),
          event('message.part.delta', { messageID: said.message, partID: 'prt_1', field: 'text', delta }),
        ],
        tool: (call) => [
          event('message.updated', { info: info(messageID) }),
          tool(call, 'running'),
          tool(call, 'completed'),
        ],
        note: (message) => [
          event('session.status', { status: { type: 'retry', attempt: 1, message, next: 0 } }),
        ],
        ask: (id, callID) => [
          event('permission.asked', {
            id,
            permission: said.tool,
            patterns: ['x'],
            metadata: said.input,
            tool: { callID },
          }),
          event('question.asked', { id, questions: [{}, {}] }),
        ],
        reply: () => [event('session.idle', {})],
      },
      write,
    )
  }
  const bodies = {
    'GET /event': () => undefined,
    'POST /session': () => {
      if (values.session === undefined) writeFileSync(join(store, 'thread'), 'x')
      return { id: said.session, ...said.more }
    },
    prompt: () => ({}),
    message: () => messages,
    abort: () => true,
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const { pathname } = new URL(request.url, 'http://x')
    const route = `${request.method} ${pathname}`
    const last = pathname.split('/').at(-1)
    const headers = { 'content-type': 'application/json' }
    response.on('error', () => undefined)
    if (route === 'GET /event') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      listeners.push(response)
      return response.write('data: {"type":"server.connected","properties":{}}\n\n')
    }
    const isTricked = values.route === undefined || route.includes(values.route)
    if (trick === 'a redirect' && isTricked)
      return response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end()
    if (trick === 'a gzip bomb' && isTricked)
      return response
        .writeHead(200, { ...headers, 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(200 * MEGABYTE, ' ')))
    if (trick === 'an endless body' && isTricked) {
      response.writeHead(200, headers)
      for (;;) await print('[{},{}],'.repeat(20_000), response)
    }
    if (trick === 'a body that never arrives' && isTricked) return response.writeHead(200, headers).write('[')
    if (trick === 'a body that breaks off' && isTricked) {
      response.writeHead(200, headers).write('[{"info":')
      return setTimeout(() => response.destroy(), 50)
    }
    if (trick === 'endless headers' && isTricked) {
      response.socket.write('HTTP/1.1 200 OK\r\n')
      for (;;) await print(`x: ${'y'.repeat(10_000)}\r\n`, response.socket)
    }
    if (trick === 'no HTTP' && isTricked) return response.socket.end('\0\0 what?\r\n\r\n')
    if (request.method === 'GET' && /^\/session\/ses_1$/.test(pathname) && !existsSync(join(store, 'thread')))
      return response
        .writeHead(404, headers)
        .end('{"name":"NotFoundError","data":{"message":"Session not found"}}')
    const body = (bodies[route] ?? (() => (last === 'message' ? messages : true)))()
    response.writeHead(200, headers)
    const said = json(body)
    // Written before the response, because the client kills the server after the response.
    if (process.env.COUNTED) writeFileSync(process.env.COUNTED, String(fields))
    await print(said, response)
    response.end()
    if (last === 'prompt_async') {
      const listener = listeners[0]
      if (trick === 'it closes in the middle of an event') {
        listener.write('data: {"type":"message.updated","prop')
        return setTimeout(() => listener.destroy(), 50)
      }
      if (trick === 'an endless event of many lines') for (;;) await print('data: {\n', listener)
      await prompted(JSON.parse(text))
    }
    if (last === 'abort') await write(`${JSON.stringify(event('session.idle', {}))}\n`)
  })
  server.listen(0, '127.0.0.1', () =>
    print(`opencode server listening on ${values.url ?? `http://127.0.0.1:${server.address().port}`}\n`),
  )
}

// Errors after the reader is gone do not matter.
process.stdout.on('error', () => process.exit(0))
process.stderr.on('error', () => undefined)
mkdirSync(store, { recursive: true })
await { 'claude-code': claude, codex, acp, opencode }[protocol]()
