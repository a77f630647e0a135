/**
 * A tool server of the tests, written by hand (MCP over stdio): JSON-RPC, one message per line. The first argument
 * selects its misbehaviour. The second, `ready`, is a file for its pid.
 */
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

/** In pages of two. */
function list(cursor = '0') {
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
  if (name === 'die') process.exit(3)
}

function endlessLine() {
  const piece = 'x'.repeat(1024 * 1024)
  const more = () => process.stdout.write(piece, more)
  more()
}

if (how === 'never answers') setInterval(() => undefined, 1000)
else if (how === 'endless line') endlessLine()
else if (how === 'dies at once') process.exit(1)
else
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
