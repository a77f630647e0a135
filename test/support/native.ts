/**
 * Agents of a provider plugin whose program has a store of its own: `native/<session>` of the workspace has what it was
 * told, a JSON line each. What a turn of it does is written down by the test, turn after turn, in `turns.json`:
 * `{launch: command}` runs a program and waits for it, `{hang: true}` waits for ever, `{fail: {type, message, …}}` throws,
 * `{tools: true}` replies with the names that the tool server offers, anything else is an event that is yielded.
 * A turn that has none written down replies `said: <prompt>`.
 */
import type { WaitAnswer } from '../../src/provider/contract.js'
import { House } from './cli.js'

/** What a program was told: a prompt, or a person's decision. */
export type Told = { prompt: string } | { answer: WaitAnswer }

export class NativeHouse extends House {
  constructor(env: Record<string, string> = {}) {
    super(env)
    this.plugin('native', NATIVE)
  }

  /** What the turns of its agents do, in the order in which they come. */
  turns(...turns: object[][]): void {
    this.write('turns.json', JSON.stringify(turns))
  }

  /** By every session, in order; undone ones too. */
  told(): (Told & { session: string })[] {
    return this.lines('told').map((line) => JSON.parse(line))
  }

  /** How often the provider was asked how a turn ended. */
  inspections(): number {
    return this.lines('inspected').length
  }

  private lines(name: string): string[] {
    return (this.read(name) ?? '').split('\n').filter((line) => line !== '')
  }
}

const NATIVE = `
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

export default {
  kind: 'agent',
  description: 'made by a test',
  options: {},
  create: async (settings, host) => session(randomUUID(), settings, host),
  restore: async (state, settings, host) => session(Buffer.from(state).toString(), settings, host),
  inspect: async (state, { workspace }) => {
    fs.appendFileSync(path.join(workspace, 'inspected'), 'inspected\\n')
    const file = path.join(workspace, 'finished')
    return fs.existsSync(file)
      ? { outcome: 'finished', reply: fs.readFileSync(file, 'utf8') }
      : { outcome: 'unfinished' }
  },
}

function session(id, settings, host) {
  const at = (name) => path.join(settings.workspace, name)
  const state = Buffer.from(id)

  async function* turn(told, { signal }) {
    fs.appendFileSync(at('told'), JSON.stringify({ session: id, ...told }) + '\\n')
    const nth = fs.readFileSync(at('told'), 'utf8').split('\\n').length - 2
    yield { type: 'state', state }
    const turns = fs.existsSync(at('turns.json')) ? JSON.parse(fs.readFileSync(at('turns.json'), 'utf8')) : []
    const steps = turns[nth] ?? [{ type: 'done', reply: 'said: ' + (told.prompt ?? told.answer.decision) }]
    for (const step of steps) {
      if (step.hang) await new Promise((_, reject) => signal.addEventListener('abort', reject))
      else if (step.fail) throw Object.assign(new Error(step.fail.message), { failure: step.fail })
      else if (step.launch) await run(step.launch, signal)
      else if (step.tools) yield { type: 'done', reply: await offered(signal) }
      else yield step
    }
  }

  async function run(command, signal) {
    const program = await host.launch({ argv: ['sh', '-c', command], cwd: settings.workspace }, { signal })
    program.stdin.end()
    program.stdout.resume()
    await program.exited
  }

  async function offered(signal) {
    if (host.tools === null) return 'none'
    const { name, command, args, env } = host.tools
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const lines = [
      { id: 1, method: 'initialize', params: hello },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
    ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
    const program = await host.launch({ argv: [command, ...args], env, cwd: settings.workspace }, { signal })
    program.stdin.write(lines.join(''))
    let output = ''
    for await (const piece of program.stdout) {
      output += piece
      // It ends with its stdin.
      if (output.includes('spawn_agent')) program.stdin.end()
    }
    const answers = output.split('\\n').filter(Boolean).map((line) => JSON.parse(line))
    return name + ': ' + answers.find(({ id }) => id === 2).result.tools.map((tool) => tool.name).join(' ')
  }

  return {
    send: (prompt, options) => turn({ prompt }, options),
    answer: (answer, options) => turn({ answer }, options),
    suspend: async () => {
      if (fs.existsSync(at('hangs at its end'))) await new Promise(() => setInterval(() => undefined, 1000))
      return state
    },
    stop: async () => undefined,
  }
}
`
