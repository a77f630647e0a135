#!/usr/bin/env node
// Replaces claude in tests: replays the output of the real one (2.1.197), byte by byte, with the session's id. Writes
// a transcript where the real one does. The words of the prompt select what it plays and how it dies.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'

const RECORDED_ID = '5e551011-0000-4000-8000-000000000000'
const MODELS = ['default', 'opus'].map((value) => ({ value, description: `The model ${value}` }))
const argv = process.argv.slice(2)
const flagOf = (flag) => (argv.includes(flag) ? argv[argv.indexOf(flag) + 1] : undefined)
const resumed = flagOf('--resume')
const id = resumed ?? flagOf('--session-id')
const folder = path.join(process.env.CLAUDE_CONFIG_DIR, 'projects', '-workspace')
const transcript = path.join(folder, `${id}.jsonl`)
/** The tool servers of the turn. */
let offered = []
const contentOf = (file) => (file === undefined ? null : readFileSync(file, 'utf8'))
const instructions_file = flagOf('--append-system-prompt-file')
const instructions = contentOf(instructions_file)
writeFileSync(
  path.join(process.env.CLAUDE_CONFIG_DIR, 'started.json'),
  JSON.stringify({
    argv,
    instructions_file,
    instructions,
  }),
)

// The real claude does both.
if (resumed !== undefined && !existsSync(transcript)) {
  process.stderr.write(`No conversation found with session ID: ${id}\n`)
  play('vanished')
  process.exit(1)
}
if (resumed === undefined && existsSync(transcript)) {
  process.stderr.write(`Error: Session ID ${id} is already in use.\n`)
  process.exit(1)
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
let first = await heard()
if (first.request?.subtype === 'initialize') {
  const { request_id, request } = first
  note('initialize', request)
  const response = { subtype: 'success', request_id, response: { commands: [], models: MODELS } }
  offered = (request.sdkMcpServers ?? []).map((name) => ({ name, status: 'connected' }))
  write(`${JSON.stringify({ type: 'control_response', response })}\n`)
  first = await heard()
}
const prompt = first.message.content
const last = prompt.split('\n').at(-1)
mkdirSync(folder, { recursive: true })
const keep = (entry) => appendFileSync(transcript, `${JSON.stringify({ isSidechain: false, ...entry })}\n`)
if (!prompt.includes('keeps nothing')) {
  keep({ type: 'user', uuid: first.uuid, message: { role: 'user', content: prompt } })
}
await act(prompt)
process.exit(0)

async function act() {
  if (last.startsWith('play ')) return ended(last.slice(5), 1)
  if (last === 'use the tool, and ask me' || last.includes('no answer yet')) return asks('tool', 'question')
  if (last.endsWith('use the tool') || prompt.includes('granted permission')) return asks('tool')
  if (last === 'ask me') return asks('question')
  if (last.startsWith('be slow')) return slow()
  if (last === 'die before the id') die()
  if (last === 'die after the id') {
    write(`${recorded('hello').split('\n')[0]}\n`)
    die()
  }
  if (last === 'die in mid-text') {
    play('slow')
    die()
  }
  // Other prompts get an answer.
  if (prompt === 'be limited at first') return ended('rate-limit', 1)
  if (last === 'exit 0 in mid-text') {
    play('slow')
    process.exit(0)
  }
  if (last === 'die after the reply was kept') {
    play('slow')
    reply('kept, and never said')
    die()
  }
  if (last === 'die after the result') {
    play('hello')
    die()
  }
  if (last === 'die with half a line') {
    write(recorded('hello').slice(0, -200))
    die()
  }
  if (last === 'hang after the result') {
    spawn('sleep', ['3600'], { stdio: ['ignore', 'inherit', 'inherit'] })
    process.on('SIGTERM', () => undefined)
    play('hello')
    await new Promise(() => setInterval(() => undefined, 1000))
  }
  if (last === 'leave a grandchild with stdout') {
    // In its own process group, out of substrat's reach. The test must end it.
    const left = spawn('sleep', ['3600'], { stdio: ['ignore', 'inherit', 'inherit'], detached: true })
    left.unref()
    note('grandchild', left.pid)
    process.stderr.write('it went wrong\n')
    process.exit(3)
  }
  if (last === 'say garbage') return garbage()
  if (last === 'say a lot') return aLot()
  if (last === 'use substrat') return ofSubstrat()
  if (last === 'call substrat') return callsSubstrat()
  if (last === 'fail with a tool') return failing()
  if (last === 'stop early') {
    return write(
      recorded('hello').replace('"terminal_reason":"completed"', '"terminal_reason":"aborted_streaming"'),
    )
  }
  if (last === 'refuse')
    return write(
      recorded('hello').replace(
        '"stop_reason":"end_turn","session_id"',
        '"stop_reason":"refusal","session_id"',
      ),
    )
  if (last === 'refuse as an error') {
    const words =
      'API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.'
    return write(
      recorded('hello')
        .replace('"is_error":false', '"is_error":true')
        .replace('"result":"echo: hello []"', `"result":"${words}"`),
    )
  }
  if (last === 'exit after an error of the API') {
    const [result] = recorded('not-logged-in')
      .split('\n')
      .filter((line) => line.includes('"type":"result"'))
    write(recorded('not-logged-in').replace(`${result}\n`, ''))
    process.exit(1)
  }
  if (last === 'end with stdin') {
    // The real claude writes its transcript at this point.
    play('hello')
    if ((await heard()) === undefined) note('ended', 'by itself')
    return
  }
  if (last === 'be warned, then refused') {
    write(
      `${JSON.stringify({ type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning', resetsAt: 1 } })}\n`,
    )
    return ended('rate-limit', 1)
  }
  if (last === 'have no tools') {
    const failed = '"mcp_servers":[{"name":"substrat","status":"failed"}]'
    return write(recorded('hello').replace('"mcp_servers":[]', failed))
  }
  if (last === 'ignore the tools') offered = []
  if (last === 'never end') {
    process.on('SIGTERM', () => undefined)
    play('slow')
    await new Promise(() => setInterval(() => undefined, 1000))
  }
  play('hello')
  reply('echo: hello []')
}

/** Replays a turn that the real claude ended, with its exit status. */
function ended(name, status) {
  play(name)
  process.exit(status)
}

/** `beside`: a request made at the same time. */
async function asks(name, beside) {
  // Written at once, so that the reader cannot answer the first before the others.
  const also = beside === undefined ? '' : `${recorded(beside).trim().split('\n').at(-1)}\n`
  write(also + recorded(name))
  const answer = await heard()
  if (answer.type === 'control_request') {
    note('interrupts', answer.request)
    play(`${name}-interrupted`)
    keep({
      type: 'user',
      message: {
        role: 'user',
        content: [{ type: 'text', text: '[Request interrupted by user for tool use]' }],
      },
    })
    process.exit(1)
  }
  const { behavior } = answer.response.response
  note('answers', answer.response.response)
  play(behavior === 'allow' ? 'tool-allowed' : 'hello')
  reply('echo: USETOOL []')
}

async function slow() {
  play('slow')
  const rest = setTimeout(() => {
    play('slow-rest')
    process.exit(0)
  }, 3_600_000)
  const message = await heard()
  clearTimeout(rest)
  note('answers', message?.request)
  note('files', existsSync(instructions_file ?? ''))
  if (message?.request?.subtype === 'interrupt') play('slow-interrupted')
  process.exit(1)
}

function garbage() {
  const [init, ...others] = recorded('hello').split('\n')
  write(
    `${init}\nnot json at all\n{"half":\n[1,2]\nnull\n"text"\n{}\n{"type":"a type of next year","content":7}\n`,
  )
  write(
    '{"type":"assistant","message":{"content":"no list"}}\n{"type":"assistant"}\n{"type":"user","message":null}\n',
  )
  write('{"type":"control_request","request_id":"hook","request":{"subtype":"hook_callback"}}\n\u2028\n')
  const said = { id: 'm', content: [{ type: 'text', text: 'one\u2028line\u2029of\rtext' }] }
  write(`${JSON.stringify({ type: 'assistant', message: said, parent_tool_use_id: null })}\n`)
  write(others.join('\n').replaceAll('echo: hello []', 'one\u2028line \u00e9'))
}

/** Plays a substrat tool, a subagent, and tokens from the cache. */
/** The messages of an MCP client, in the control requests of the real claude. */
async function callsSubstrat() {
  const messages = [
    { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } },
    { method: 'notifications/initialized' },
    { id: 1, method: 'tools/call', params: { name: 'list_children', arguments: {} } },
  ]
  for (const [at, message] of messages.entries()) {
    const request = {
      subtype: 'mcp_message',
      server_name: 'substrat',
      message: { jsonrpc: '2.0', ...message },
    }
    write(`${JSON.stringify({ type: 'control_request', request_id: `m${at}`, request })}\n`)
    note('responses', (await heard()).response)
  }
  play('hello')
}

function ofSubstrat() {
  const say = (message) => write(`${JSON.stringify(message)}\n`)
  const call = (id, name) => ({ type: 'tool_use', id, name, input: {} })
  const result = (tool_use_id) => ({ type: 'tool_result', tool_use_id, content: 'done' })
  const [init, ...others] = recorded('hello').split('\n')
  write(`${init}\n`)
  for (const entry of [
    { type: 'assistant', message: { id: 'm', content: [call('ours', 'mcp__substrat__list_children')] } },
    { type: 'user', message: { content: [result('ours')] } },
  ]) {
    say(entry)
    keep(entry)
  }
  const text = { type: 'text', text: 'of the sub-agent' }
  say({
    type: 'assistant',
    message: { id: 'n', content: [text, call('its', 'Read')] },
    parent_tool_use_id: 'x',
  })
  const delta = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'of the sub-agent' },
  }
  say({ type: 'stream_event', event: delta, parent_tool_use_id: 'x' })
  say({ type: 'user', message: { content: [result('its')] }, parent_tool_use_id: 'x' })
  const counts = '"cache_creation_input_tokens":3,"cache_read_input_tokens":4'
  reply('echo: hello []')
  write(others.join('\n').replaceAll('"cache_creation_input_tokens":0,"cache_read_input_tokens":0', counts))
}

/** Plays a tool result of 10 MB in one line, the same in a message of a subagent, and a line of binary data. */
function aLot() {
  const [init, ...others] = recorded('hello').split('\n')
  const content = 'x'.repeat(10 * 1024 * 1024)
  const call = { type: 'tool_use', id: 'big', name: 'Read', input: { file_path: 'big', note: content } }
  write(`${init}\n${JSON.stringify({ type: 'assistant', message: { id: 'm', content: [call] } })}\n`)
  const result = { type: 'tool_result', tool_use_id: 'big', content, is_error: false }
  write(`${JSON.stringify({ type: 'user', message: { role: 'user', content: [result] } })}\n`)
  const text = { id: 'n', content: [{ type: 'text', text: content }] }
  write(`${JSON.stringify({ type: 'assistant', message: text, parent_tool_use_id: 'big' })}\n${content}\n`)
  write(others.join('\n'))
}

/** Plays a tool that fails, which is reported and stored. The turn succeeds all the same. */
function failing() {
  const call = { type: 'tool_use', id: 'sh', name: 'Bash', input: { command: 'ls' } }
  const result = { type: 'tool_result', tool_use_id: 'sh', content: 'no such file', is_error: true }
  const [init, ...others] = recorded('hello').split('\n')
  write(`${init}\n`)
  for (const entry of [
    { type: 'assistant', message: { id: 'm', role: 'assistant', content: [call] } },
    { type: 'user', message: { role: 'user', content: [result] } },
  ]) {
    write(`${JSON.stringify(entry)}\n`)
    keep(entry)
  }
  reply('echo: hello []')
  write(others.join('\n'))
}

/** The test reads this file. */
function note(file, value) {
  appendFileSync(path.join(process.env.CLAUDE_CONFIG_DIR, file), `${JSON.stringify(value)}\n`)
}

function reply(text) {
  const message = {
    id: 'msg_1',
    role: 'assistant',
    model: 'claude-opus-4-8',
    content: [{ type: 'text', text }],
  }
  keep({ type: 'assistant', message: { ...message, stop_reason: 'end_turn' } })
}

function play(name) {
  write(recorded(name))
}

function recorded(name) {
  const text = readFileSync(path.join(import.meta.dirname, 'recordings', `${name}.jsonl`), 'utf8')
  const resetsAt = /"resetsAt":\d+/g
  return text.replaceAll(RECORDED_ID, id).replaceAll(resetsAt, `"resetsAt":${process.env.STAND_IN_RESETS_AT}`)
}

/** Written synchronously, so that it is in the pipe before a death. */
function write(text) {
  const bytes = Buffer.from(text.replace('"mcp_servers":[]', `"mcp_servers":${JSON.stringify(offered)}`))
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

async function heard() {
  const { value, done } = await lines.next()
  return done ? undefined : JSON.parse(value)
}

function die() {
  process.kill(process.pid, 'SIGKILL')
}
