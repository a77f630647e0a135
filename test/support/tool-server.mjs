/**
 * A tool server of the tests, written by hand (MCP over stdio): JSON-RPC, one message per line. The first argument
 * selects its misbehaviour. The second, `ready`, is a file for its pid.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [how = 'well', ready] = process.argv.slice(2)
if (ready !== undefined && how !== 'counts orders') writeFileSync(ready, String(process.pid))
if (how === 'clings to life') process.on('SIGTERM', () => undefined)

const TOOLS = [
  {
    name: 'add',
    description: 'Adds.',
    inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  },
  { name: 'fail', description: 'Fails.', inputSchema: { type: 'object' } },
  { name: 'die', description: 'Dies.', inputSchema: { type: 'object' } },
  { name: 'hang', description: 'Hangs.', inputSchema: { type: 'object' } },
  { name: 'picture', description: 'A picture.', inputSchema: { type: 'object' } },
  { name: 'order', description: 'Orders.', inputSchema: { type: 'object' } },
  { name: 'no model takes this', description: '', inputSchema: { type: 'object' } },
  { name: 'add', description: 'Adds again.', inputSchema: { type: 'object' } },
]

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

/** One usable tool among tools that no model could use. */
const SPOILED = [
  { name: 'null', description: null, inputSchema: { type: 'object' } },
  { name: 'no_schema' },
  {
    name: 'bad_output',
    inputSchema: { type: 'object' },
    outputSchema: { properties: { a: { $ref: '#/$defs/missing' } } },
  },
  { name: 'schema_text', inputSchema: 'object' },
  { name: 'schema_array', inputSchema: { type: 'array' } },
  {
    name: 'either',
    description: 'One of two.',
    inputSchema: {
      type: 'object',
      anyOf: [{ properties: { a: {} }, required: ['a'] }, { required: ['b'] }],
      properties: { b: {} },
    },
  },
  { name: 'large', description: 'x'.repeat(600_000), inputSchema: { type: 'object' } },
  { description: 'nameless' },
  null,
  { name: 'last', inputSchema: { type: 'object' } },
]

/** The results of the tool `show`, by its input `of`. */
const SHOWN = {
  'structured alone': { structuredContent: { n: 42, deep: [1] } },
  'structured with a sentence': {
    content: [{ type: 'text', text: 'found 1' }],
    structuredContent: { n: 42 },
  },
  'structured twice': { content: [{ type: 'text', text: '{ "n": 42 }' }], structuredContent: { n: 42 } },
  'structured that is not as promised': {
    content: [{ type: 'text', text: 'real' }],
    structuredContent: { n: 'x' },
  },
  'a wrapped text': { content: [{ type: 'text', text: 'five' }], structuredContent: { result: 'five' } },
  'a link': { content: [{ type: 'resource_link', uri: 'file:///a/b.txt', name: 'b', description: 'notes' }] },
  'other media': {
    content: [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'x://y', blob: 'AAAA' } },
    ],
  },
  'a text': { content: 'plain' },
  'an unknown part': { content: [{ type: 'chart', points: [1, 2] }, null] },
  'the first revision': { toolResult: { n: 1 } },
  nothing: {},
  'an error without words': { content: [], isError: true },
  'too much': { content: [{ type: 'text', text: 'h'.repeat(11 * 1024 * 1024) }] },
}

/** In pages of two. */
function list(cursor = '0') {
  if (how === 'spoiled list') return { tools: SPOILED, nextCursor: null }
  if (how === 'results')
    return {
      tools: [
        {
          name: 'show',
          inputSchema: { type: 'object' },
          outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
        },
      ],
    }
  if (how === 'endless pages') return { tools: TOOLS.slice(0, 1), nextCursor: `${Number(cursor) + 1}` }
  const end = Number(cursor) + 2
  return { tools: TOOLS.slice(Number(cursor), end), ...(end < TOOLS.length && { nextCursor: String(end) }) }
}

function call(id, { name, arguments: input }) {
  const answer = (result) => say({ id, result })
  if (name === 'add') answer({ content: [{ type: 'text', text: String(input.a + input.b) }] })
  if (name === 'fail') answer({ content: [{ type: 'text', text: 'no such note' }], isError: true })
  if (name === 'picture')
    answer({
      content: [
        { type: 'text', text: 'look:' },
        { type: 'image', data: 'AA==', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'note:1', text: 'a note' } },
      ],
    })
  // `counts orders`: the second argument is a file with a line for each order, and the answer never comes.
  if (name === 'order' && how === 'counts orders') appendFileSync(ready, 'order\n')
  else if (name === 'order')
    answer({
      content: [{ type: 'text', text: 'order 12 is placed' }],
      _meta: { 'substrat/await_external': input.within === undefined || { deadline_seconds: input.within } },
    })
  if (name === 'show') answer(SHOWN[input.of])
  if (how === 'leaves a child with its pipes') {
    spawn('sleep', ['600'], { stdio: 'inherit' })
    process.stderr.write('the database is gone\n')
    process.exit(3)
  }
  if (name === 'die') {
    process.stderr.write('the database is gone\n')
    process.exit(3)
  }
}

function endlessLine() {
  const piece = 'x'.repeat(1024 * 1024)
  const more = () => process.stdout.write(piece, more)
  more()
}

if (how === 'never answers') setInterval(() => undefined, 1000)
else if (how === 'endless line') endlessLine()
else if (how === 'dies at once') {
  process.stderr.write('cannot find the database\n')
  process.exit(1)
} else
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (how === 'garbage') process.stdout.write('this is no JSON\n{"jsonrpc":"2.0"}\n\n[]\n')
    if (method === 'initialize')
      say({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'notes', version: '1' },
        },
      })
    if (method === 'tools/list') say({ id, result: list(params?.cursor) })
    if (method === 'tools/call') call(id, params)
  })
// Ignores that its client is gone.
if (how === 'clings to life') setInterval(() => undefined, 1000)
