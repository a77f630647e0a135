/** Requests to `substrat acp` that no honest client sends. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'

test('a request that is longer than 24 MiB ends the server with a sentence', async () => {
  const running = new House().start(['acp'], { stdin: 'open' })
  running.child.stdin?.on('error', () => undefined).end('x'.repeat(25 * 1024 * 1024))
  const { exit, stdout, stderr } = await running.result
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^substrat: a request of the client is longer than 25165824 bytes \(.+\)\n$/)
})

test('hostile requests are refused one by one, and the server goes on', async () => {
  const house = new House()
  const id = await house.spawn('a')
  const running = house.start(['acp'], { stdin: 'open' })
  const answers = (): { id: unknown; error?: { code: number; message: string }; result?: object }[] =>
    running.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter((message) => 'id' in message)
  const write = (line: string): void => void running.child.stdin?.write(`${line}\n`)
  const ask = (id: unknown, method: string, params: object): void =>
    write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  ask(0, 'initialize', { protocolVersion: 1, clientCapabilities: {} })
  for (const line of ['{', '[]', 'null', '"x"', '{"id":1}', '\u0000', `${'['.repeat(100_000)}`]) write(line)
  ask(1, '__proto__', {})
  ask(2, 'session/prompt', { sessionId: '__proto__', prompt: [] })
  ask(3, 'session/prompt', { sessionId: id, prompt: [{ type: 'text', text: 'of no session' }] })
  ask(4, 'session/load', { sessionId: `${id.slice(0, 8)}`, cwd: '/', mcpServers: [] })
  ask(5, 'session/new', { cwd: `${house.workspace}\0`, mcpServers: [] })
  ask(6, 'session/new', { cwd: `/${'x'.repeat(200_000)}`, mcpServers: [] })
  ask(7, 'session/load', { sessionId: id, cwd: house.workspace, mcpServers: [] })
  await waitFor(() => answers().some((answer) => answer.id === 7), 'the session')
  const text = (words: string, messageId: string): object => ({
    sessionId: id,
    prompt: [{ type: 'text', text: words }],
    _meta: { messageId },
  })
  ask(8, 'session/prompt', text('one', 'a\0b'))
  ask(9, 'session/prompt', text('two', 'x'.repeat(200_000)))
  const image = { type: 'image', data: 'eA==', mimeType: 'image/png' }
  ask(12, 'session/prompt', { sessionId: id, prompt: [image] })
  // Two requests with the same id, which a client must not send, are two requests.
  ask(10, 'session/prompt', text('three', 'k3'))
  ask(10, 'session/prompt', text('four', 'k4'))
  ask(11, 'session/set_config_option', { sessionId: id, configId: 'mode', value: '--allow=all' })
  await waitFor(() => answers().filter((answer) => answer.id === 10).length === 2, 'both prompts')
  await waitFor(() => answers().some((answer) => answer.id === 11), 'the last answer')
  const refusalOf = (each: number) => answers().find((answer) => answer.id === each)?.error
  const codes = [1, 2, 3, 4, 5, 6, 8, 9, 11, 12].map((each) => refusalOf(each)?.code)
  expect(codes).toEqual([-32601, -32002, -32002, -32002, -32602, -32602, -32602, -32602, -32602, -32602])
  const refused = 'a prompt cannot contain content of the type image (send it as text or as a link)'
  expect(refusalOf(12)?.message).toBe(refused)
  const said = house.records(id).flatMap((record) => (record.kind === 'message.user' ? [record.content] : []))
  expect(said.filter((content) => content !== 'three' && content !== 'four')).toEqual([])
  running.child.stdin?.end()
  expect((await running.result).exit).toBe(0)
})
