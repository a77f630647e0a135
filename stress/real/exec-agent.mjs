// An agent program in 40 lines for the `exec` provider. It reads the prompt from stdin, loops over the loopback model
// at LOOPBACK_URL with one tool that runs a shell command, and prints the reply. It stores no conversation.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

const parameters = { type: 'object', properties: { command: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'run', parameters } }]
const messages = [{ role: 'user', content: await text(process.stdin) }]
for (;;) {
  const { content, calls } = await ask()
  if (calls.length === 0) {
    process.stdout.write(content)
    break
  }
  messages.push({ role: 'assistant', content: null, tool_calls: calls })
  for (const { id, function: called } of calls)
    messages.push({
      role: 'tool',
      tool_call_id: id,
      content: await run(JSON.parse(called.arguments).command),
    })
}

async function ask() {
  const response = await fetch(`${process.env.LOOPBACK_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, messages, tools }),
  })
  const calls = []
  let content = ''
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue
    const { delta } = JSON.parse(line.slice('data: '.length)).choices[0] ?? {}
    content += delta?.content ?? ''
    for (const { index, id, function: called } of delta?.tool_calls ?? []) {
      calls[index] ??= { id, type: 'function', function: { name: 'run', arguments: '' } }
      calls[index].function.arguments += called?.arguments ?? ''
    }
  }
  return { content, calls }
}

async function run(command) {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
  return text(child.stdout)
}
