/**
 * A Bot API on the loopback: one bot, with its private chats and groups, as https://core.telegram.org/bots/api describes it. It
 * speaks HTTP over a socket, so the plugin runs as it is published.
 */
import { createServer, type IncomingMessage as Request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export const TOKEN = '4242:AAH-secret_token'
const BOT = { id: 4242, is_bot: true, first_name: 'Helper', username: 'helper_bot' }
const TEXT_CHARACTERS_MAX = 4096

interface Chat {
  id: number
  type: 'private' | 'group' | 'supergroup'
}

type Fields = Record<string, unknown>

export interface Update extends Fields {
  update_id: number
}

/** A message that people see. */
export interface Shown extends Fields {
  message_id: number
  chat: Chat
  text: string
  buttons: { text: string; callback_data: string }[]
}

interface Answer {
  status: number
  body: Fields
}

/** Takes the place of an answer. True: it has answered, or broken the connection. */
type Fault = (method: string, response: ServerResponse, payload: Fields) => boolean

export class Telegram {
  url = ''
  readonly shown: Shown[] = []
  /** The methods that were called, with their payloads. */
  readonly calls: { method: string; payload: Fields }[] = []
  /** The presses of buttons whose sign of progress was ended. */
  readonly answeredPresses: string[] = []
  /** Comes before the method. */
  before: Fault = () => false
  /** Comes after the method, in place of its answer. */
  after: Fault = () => false
  readonly blockedBy = new Set<number>()
  private updates: Update[] = []
  private nextUpdate = 1001
  private nextMessage = 1
  private poll: { end(answer: Answer): void; look(): void } | undefined

  /** Numbers of later updates, as after a week without any. */
  restartNumbersAt(updateId: number): void {
    this.nextUpdate = updateId
  }

  add(kind: 'message' | 'edited_message' | 'callback_query', body: Fields): void {
    this.repeat({ update_id: this.nextUpdate++, [kind]: body })
  }

  /** Delivers an update, perhaps once more. */
  repeat(update: Update): void {
    this.updates.push(update)
    this.poll?.look()
  }

  /** A text of a person in the private chat, which has the id of the person. */
  write(person: number, text: string, over: Fields = {}): Fields {
    return this.post(person, { id: person, type: 'private' }, { text, ...over })
  }

  /** Any message. */
  post(person: number, chat: Chat, over: Fields): Fields {
    const from = { id: person, is_bot: false, first_name: `Person ${person}` }
    const message = { message_id: this.nextMessage++, date: 1_790_000_000, from, chat, ...over }
    this.add('message', message)
    return message
  }

  press(person: number, { buttons, ...message }: Shown, label: string): void {
    const data = buttons.find(({ text }) => text === label)?.callback_data
    if (data === undefined) throw new Error(`the message has no button ${label}`)
    const from = { id: person, is_bot: false, first_name: `Person ${person}` }
    this.add('callback_query', { id: `press${this.nextMessage++}`, from, message, data, chat_instance: '1' })
  }

  textsIn(chat: number): string[] {
    return this.shown.filter((message) => message.chat.id === chat).map(({ text }) => text)
  }

  get pending(): readonly Update[] {
    return this.updates
  }

  handle({ url = '' }: Request, response: ServerResponse, body: string): void {
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(url) ?? []
    const payload = (body === '' ? {} : JSON.parse(body)) as Fields
    this.calls.push({ method, payload })
    if (this.before(method, response, payload)) return
    const end = ({ status, body: answer }: Answer): void => {
      if (this.after(method, response, payload)) return
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }
    if (token !== TOKEN) end(refusal(401, 'Unauthorized'))
    else if (method === 'getUpdates') this.getUpdates(payload, response, end)
    else end(this.call(method, payload))
  }

  private call(method: string, payload: Fields): Answer {
    switch (method) {
      case 'getMe':
        return success(BOT)
      case 'sendMessage':
        return this.sendMessage(payload)
      case 'answerCallbackQuery':
        this.answeredPresses.push(payload.callback_query_id as string)
        return success(true)
      default:
        return refusal(404, 'Not Found')
    }
  }

  /** An offset confirms all updates below it. A second poll ends the first. */
  private getUpdates(payload: Fields, response: ServerResponse, end: (answer: Answer) => void): void {
    const { offset = 0, limit = 100, timeout = 0, allowed_updates: kinds = [] } = payload
    this.poll?.end(refusal(409, 'Conflict: terminated by other getUpdates request'))
    const from = this.placeOf(Number(offset))
    this.updates.splice(0, from)
    this.updates = this.updates.filter((update) => (kinds as string[]).some((kind) => kind in update))
    const done = (answer: Answer): void => {
      clearTimeout(timer)
      if (this.poll === poll) this.poll = undefined
      end(answer)
    }
    const give = (): void => done(success(this.updates.slice(0, Number(limit))))
    const look = (): void => {
      if (this.updates.length > 0) give()
    }
    const timer = setTimeout(give, Number(timeout) * 1000)
    const poll = { end: done, look }
    this.poll = poll
    response.on('close', () => {
      clearTimeout(timer)
      if (this.poll === poll) this.poll = undefined
    })
    look()
  }

  /** An offset far above all updates is from an earlier numbering, and confirms none. */
  private placeOf(offset: number): number {
    const [first] = this.updates
    if (first === undefined || offset <= first.update_id) return 0
    const at = this.updates.findIndex(({ update_id }) => update_id >= offset)
    if (at !== -1) return at
    const last = this.updates.at(-1) as Update
    return offset > last.update_id + 100 ? 0 : this.updates.length
  }

  private sendMessage(payload: Fields): Answer {
    const { chat_id: id, text, message_thread_id: topic, reply_markup: markup } = payload
    const chat = Number(id)
    const shownText = String(text ?? '').trim()
    if (shownText === '') return refusal(400, 'Bad Request: message text is empty')
    if (shownText.length > TEXT_CHARACTERS_MAX) return refusal(400, 'Bad Request: message is too long')
    if (this.blockedBy.has(chat)) return refusal(403, 'Forbidden: bot was blocked by the user')
    if (topic === 0) return refusal(400, 'Bad Request: message thread not found')
    const rows = (markup as { inline_keyboard?: Shown['buttons'][] } | undefined)?.inline_keyboard ?? []
    const buttons = rows.flat()
    if (buttons.some(({ callback_data }) => Buffer.byteLength(callback_data) > 64))
      return refusal(400, 'Bad Request: BUTTON_DATA_INVALID')
    const message: Shown = {
      ...{ message_id: this.nextMessage++, date: 1_790_000_000, from: BOT, text: shownText, buttons },
      chat: { id: chat, type: chat > 0 ? 'private' : 'supergroup' },
      ...(topic === undefined ? {} : { message_thread_id: topic, is_topic_message: true }),
    }
    this.shown.push(message)
    return success(message)
  }
}

function success(result: unknown): Answer {
  return { status: 200, body: { ok: true, result } }
}

function refusal(code: number, description: string, parameters?: Fields): Answer {
  return { status: code, body: { ok: false, error_code: code, description, parameters } }
}

/** Answers with the status, as the Bot API does. */
export function refuse(
  response: ServerResponse,
  code: number,
  description: string,
  retryAfter?: number,
): true {
  const parameters = retryAfter === undefined ? undefined : { retry_after: retryAfter }
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(refusal(code, description, parameters).body))
  return true
}

export async function newTelegram(): Promise<Telegram> {
  const telegram = new Telegram()
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => telegram.handle(request, response, Buffer.concat(pieces).toString('utf8')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  telegram.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return telegram
}
