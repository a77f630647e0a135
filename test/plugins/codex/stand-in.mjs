#!/usr/bin/env node
/**
 * Replaces `codex exec` in tests: replays the output of the real one (0.169), byte by byte, and keeps a store as it
 * does. Its own arguments come before `exec` and select what to replay and how to die. It parses the arguments after
 * `exec` as strictly as the real one.
 */
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const words = process.argv.slice(2)
if (words.slice(-2).join(' ') === 'debug models') {
  process.stdout.write('{"models":[{"slug":"gpt-large"},{"slug":"gpt-own","visibility":"hide"}]}')
  process.exit()
}
const { values: how } = parseArgs({
  args: words.slice(0, words.indexOf('exec')),
  options: {
    /** Recordings for a new and for a continued thread. */
    play: { type: 'string', default: 'first.jsonl' },
    resumed: { type: 'string', default: 'resumed.jsonl' },
    /** Number of printed lines, and of stored lines, before it ends this way. */
    lines: { type: 'string', default: '999' },
    stored: { type: 'string', default: '999' },
    end: { type: 'string', default: 'exit' },
    /** Printed before the last message: garbage, or an item of this many bytes. */
    garbage: { type: 'boolean' },
    bytes: { type: 'string' },
    /** File that gets its arguments and input, and the signals that it received. */
    seen: { type: 'string' },
    /** File that gets each prompt, as a line of JSON. */
    asked: { type: 'string' },
    stubborn: { type: 'boolean' },
    /** Its store has a call of a substrat tool. */
    own: { type: 'boolean' },
    /** File to wait for before the end of the turn. */
    until: { type: 'string' },
    busy: { type: 'boolean' },
  },
})

const given = { argv: words, flags: flagsOf(words.slice(words.indexOf('exec') + 1)), env: process.env }
process.on('SIGINT', () => {
  if (how.seen) appendFileSync(how.seen, '\n"SIGINT"')
  if (how.stubborn !== true) process.exit(1)
})
if (how.stubborn) process.on('SIGTERM', () => undefined)

let prompt = ''
for await (const piece of process.stdin.setEncoding('utf8')) prompt += piece
if (how.seen) writeFileSync(how.seen, JSON.stringify({ ...given, prompt }))
if (how.asked) appendFileSync(how.asked, `${JSON.stringify(prompt)}\n`)
if (prompt === '') complain('No prompt provided via stdin.', 1)

const { resume } = given.flags
const [name, storeName] = resume ? [how.resumed, 'store-resumed.jsonl'] : [how.play, 'store-first.jsonl']
const lines = readFileSync(join(import.meta.dirname, name), 'utf8').split(/(?<=\n)/)
const thread = resume ?? JSON.parse(lines[0]).thread_id
const rollout = rolloutOf(thread)
if (resume && rollout === undefined) {
  complain(
    `Error: thread/resume: thread/resume failed: no rollout found for thread id ${resume} (code -32600)`,
    1,
  )
}

let printed = 0
const said = lines.findLast((line) => line.includes('"agent_message"'))
// The store gets the text of the printed reply.
const replied =
  said === undefined ? '$&' : `"last_agent_message":${JSON.stringify(JSON.parse(said).item.text)}`
const store = readFileSync(join(import.meta.dirname, storeName), 'utf8')
  .replace(/"last_agent_message":"[^"]*"/, replied)
  .split(/(?<=\n)/)
if (how.busy) {
  // The active writer ends a turn of its own.
  keep(store)
  complain(
    `Error: thread/resume: thread/resume failed: thread ${resume} already has an active writer (code -32600)`,
    1,
  )
}
for (const line of lines) {
  if (printed === Number(how.lines)) break
  // Codex stores the end of a turn before it prints it, and creates the rollout with the thread.
  const isLast = line.includes('"turn.completed"')
  if (printed === 0) keep(store.slice(0, Math.min(store.length - 1, Number(how.stored))))
  if (isLast && Number(how.stored) >= store.length) keep([...(how.own ? ownCall() : []), ...store.slice(-1)])
  if (line.includes('"agent_message"')) extras()
  while (isLast && how.until && !existsSync(how.until))
    await new Promise((resolve) => setTimeout(resolve, 10))
  print(resume ? line.replace(/(?<="thread_id":")[^"]*/, resume) : line)
  printed += 1
}
if (Number(how.lines) < lines.length && Number(how.stored) === store.length) keep(store.slice(-1))
await end()

function extras() {
  if (how.garbage)
    print(
      'not json\n\n{"type":"item.comp\n[1]\n"text"\nnull\n\0\0\0\n{"type":"of.later","item":7}\r\n{"type":"item.completed","item":[]}\n{"item":{}}\n',
    )
  if (how.bytes === undefined) return
  const item = {
    id: 'item_big',
    type: 'command_execution',
    command: 'yes',
    exit_code: 0,
    status: 'completed',
  }
  print(
    `${JSON.stringify({ type: 'item.completed', item: { ...item, aggregated_output: 'x'.repeat(Number(how.bytes)) } })}\n`,
  )
}

function ownCall() {
  const item = (payload) => `${JSON.stringify({ type: 'response_item', payload })}\n`
  return [
    item({ type: 'function_call', name: 'list_children', namespace: 'mcp__substrat', call_id: 'c' }),
    item({ type: 'function_call_output', call_id: 'c', output: 'none' }),
  ]
}

async function end() {
  if (how.end === 'kill') process.kill(process.pid, 'SIGKILL')
  if (how.end === 'grandchild') {
    // In its own session, as codex runs commands, with this process's stdout.
    spawn('sleep', ['3600'], { stdio: ['ignore', 'inherit', 'inherit'] }).unref()
    process.exit(0)
  }
  if (how.end === 'mute') closeSync(1)
  if (how.end === 'hang' || how.end === 'mute') await new Promise(() => setInterval(() => undefined, 1000))
  process.exit(how.end === 'exit' ? 0 : Number(how.end))
}

/** Writes everything, even to a full pipe. */
function print(text) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

function keep(entries) {
  const folder = join(home(), '2026/11/20')
  mkdirSync(folder, { recursive: true })
  appendFileSync(rollout ?? join(folder, `rollout-2026-11-20T16-00-52-${thread}.jsonl`), entries.join(''))
}

function rolloutOf(id) {
  try {
    const name = readdirSync(home(), { recursive: true }).find((name) => name.endsWith(`-${id}.jsonl`))
    return name === undefined ? undefined : join(home(), name)
  } catch {
    return undefined
  }
}

function home() {
  return join(process.env.CODEX_HOME ?? join(process.env.HOME, '.codex'), 'sessions')
}

/** Parses arguments as clap does: after `resume` only its own flags are valid. */
function flagsOf(rest) {
  const flags = { config: [] }
  const [alone, valued] = [
    ['--json', '--skip-git-repo-check'],
    ['--sandbox', '--cd', '--model', '-c', '--add-dir'],
  ]
  for (let i = 0; i < rest.length; i += 1) {
    const word = rest[i]
    const isOfExec = flags.resume === undefined || word === '-c' || word === '--json'
    if (word === 'resume' && flags.resume === undefined) flags.resume = rest[++i]
    else if (word === '-c' && isOfExec) flags.config.push(rest[++i])
    else if (alone.includes(word) && isOfExec) flags[word] = true
    else if (valued.includes(word) && isOfExec) flags[word] = rest[++i]
    else if (word === '-' && i === rest.length - 1) flags.stdin = true
    else complain(`error: unexpected argument '${word}' found\n\nUsage: codex exec [OPTIONS] [PROMPT]`, 2)
  }
  if (flags['--json'] !== true || flags.stdin !== true)
    complain('it is to speak JSON, of a prompt on stdin', 2)
  return flags
}

function complain(text, code) {
  writeSync(2, `WARNING: proceeding, even though we could not create PATH aliases: why\n${text}\n`)
  process.exit(code)
}
