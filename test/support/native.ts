/**
 * Agents of a provider plugin whose program has its own store. `native/<session>` in the workspace holds its inputs,
 * one JSON line each.
 *
 * The test writes the actions of each turn to `turns.json`, turn after turn:
 * - `{launch: command}` runs a program and waits for it
 * - `{hang: true}` waits forever
 * - `{fail: {type, message, …}}` throws
 * - `{tools: true}` replies with the names of the tool server's tools
 * - any other object is an event to yield
 * A turn without actions replies `said: <prompt>`.
 *
 * Its store has the reply of a finished turn in the file `finished`, and the usage of a turn in the file `spent`.
 */
import type { WaitAnswer } from '../../src/provider/contract.js'
import { House } from './cli.js'

/** An input of the program: a prompt, or the operator's decision. */
export type Told = { prompt: string } | { answer: WaitAnswer }

export class NativeHouse extends House {
  constructor(env: Record<string, string> = {}) {
    super(env)
    this.plugin('native', NATIVE)
  }

  /** Sets the actions of the agents' turns, in order. */
  turns(...turns: object[][]): void {
    this.write('turns.json', JSON.stringify(turns))
  }

  /** The inputs of every session in order, undone ones included. */
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
    const [file, spent] = ['finished', 'spent'].map((name) => path.join(workspace, name))
    const used = fs.existsSync(spent) ? JSON.parse(fs.readFileSync(spent, 'utf8')) : {}
    return fs.existsSync(file)
      ? { outcome: 'finished', reply: fs.readFileSync(file, 'utf8'), ...used }
      : { outcome: 'unfinished', ...used }
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
      // The program ends with its stdin.
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
