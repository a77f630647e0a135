/** A client of `substrat acp` made with the official SDK, which records everything that it is shown and asked. */
import { readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import {
  type ClientConnection,
  client,
  type McpServer,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import type { House, Running } from '../support/cli.js'
import { commandLine } from '../support/processes.js'

type Answer = 'once' | 'always' | 'denied' | 'none'

export class Editor {
  readonly updates: SessionUpdate[] = []
  readonly asked: RequestPermissionRequest[] = []
  private readonly connection: ClientConnection
  /** The answer to each permission request; `never` leaves it open. */
  answer: Answer | 'never' = 'once'

  private constructor(readonly running: Running) {
    const { child } = running
    const app = client({ name: 'test' })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params.update)
      })
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.asked.push(params)
        if (this.answer === 'never') await new Promise(() => undefined)
        if (this.answer === 'none') return { outcome: { outcome: 'cancelled' as const } }
        return { outcome: { outcome: 'selected' as const, optionId: this.answer } }
      })
    // The stream already has an encoding, for the text of the results. A client whose input breaks cancels its output, before the
    // killed program's last bytes arrive.
    let isCancelled = false
    const input = new ReadableStream<Uint8Array>({
      start: (controller) => {
        child.stdout?.on('data', (text: string) => {
          if (!isCancelled) controller.enqueue(Buffer.from(text))
        })
        child.stdout?.on('end', () => {
          if (!isCancelled) controller.close()
        })
      },
      cancel: () => {
        isCancelled = true
      },
    })
    this.connection = app.connect(ndJsonStream(Writable.toWeb(child.stdin as Writable), input))
    this.connection.closed.catch(() => undefined)
  }

  static async open(house: House, ...flags: string[]): Promise<Editor> {
    return Editor.of(house.start(['acp', ...flags], { stdin: 'open' }))
  }

  static async of(running: Running): Promise<Editor> {
    const editor = new Editor(running)
    await editor.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'test', title: 'Test editor', version: '1' },
      clientCapabilities: {},
    })
    return editor
  }

  get request(): ClientConnection['agent']['request'] {
    return this.connection.agent.request.bind(this.connection.agent)
  }

  /** Returns the id of the session. */
  async create(cwd: string, mcpServers: McpServer[] = []): Promise<string> {
    const { sessionId } = await this.request(methods.agent.session.new, { cwd, mcpServers })
    return sessionId
  }

  async load(sessionId: string, cwd: string): Promise<void> {
    await this.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })
  }

  prompt(sessionId: string, text: string, messageId?: string): Promise<PromptResponse> {
    return this.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: 'text', text }],
      ...(messageId === undefined ? {} : { _meta: { messageId } }),
    })
  }

  cancel(sessionId: string): Promise<void> {
    return this.connection.agent.notify(methods.agent.session.cancel, { sessionId })
  }

  /** The text of all messages, each with its speaker. */
  get said(): string[] {
    const messages: { id: string; text: string }[] = []
    for (const update of this.updates) {
      if (update.sessionUpdate !== 'user_message_chunk' && update.sessionUpdate !== 'agent_message_chunk')
        continue
      const who = update.sessionUpdate === 'user_message_chunk' ? 'user' : 'agent'
      const { content, messageId } = update
      const text = content.type === 'text' ? content.text : content.type
      const last = messages.at(-1)
      if (last !== undefined && last.id === messageId) last.text += text
      else messages.push({ id: messageId ?? '', text: `${who}: ${text}` })
    }
    return messages.map(({ text }) => text)
  }

  /** Each tool call with its statuses. */
  get calls(): string[] {
    const calls = new Map<string, string[]>()
    for (const update of this.updates) {
      if (update.sessionUpdate !== 'tool_call' && update.sessionUpdate !== 'tool_call_update') continue
      const call = calls.get(update.toolCallId) ?? []
      calls.set(update.toolCallId, call)
      if (typeof update.title === 'string') call.push(update.title)
      if (typeof update.status === 'string') call.push(update.status)
    }
    return [...calls.values()].map((words) => words.join(', '))
  }

  /** Whether the server runs this command now. */
  runs(command: string): boolean {
    const { pid } = this.running.child
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    return children.some((child) => commandLine(Number(child)).includes(command))
  }

  async close(): Promise<void> {
    this.running.child.stdin?.end()
    await this.running.result
  }

  async kill(): Promise<void> {
    await this.running.kill('SIGKILL')
  }
}
