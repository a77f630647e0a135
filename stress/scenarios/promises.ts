/** Promises that several scenarios share, as sentences. */
import { existsSync, readFileSync } from 'node:fs'
import { OPERATOR } from '../../src/format.js'
import { openHome } from '../../src/storage/open.js'
import type { AgentSeen, HomeView } from '../support/home-view.js'
import { pathBeside } from '../support/lab.js'
import { type Broken, UUID } from '../support/promises.js'
import { Seen } from '../tree/seen.js'
import type { Answer } from './stage.js'

export function* exits({ status, ...said }: Answer, codes: number | number[], stdout?: string): Broken {
  const allowed = [codes].flat()
  if (!allowed.includes(status as number))
    yield `the next command exits ${allowed.join(' or ')}, not ${status}: ${said.stderr.trim()}`
  else if (stdout !== undefined && said.stdout !== stdout)
    yield `the next command prints ${JSON.stringify(stdout.slice(0, 80))}, not ${JSON.stringify(said.stdout.slice(0, 200))}`
}

export interface Letter {
  /** The name of the sender; the operator if undefined. */
  from?: string
  to: string
  content: string
  answer: string
}

/** A request by mail arrived once, and its one response reached the sender. Each interrupted turn may add one error. */
export function* answeredByMail(home: HomeView, { from, to, content, answer }: Letter): Broken {
  const seen = Seen.read(home.path)
  const [asker, asked] = [from === undefined ? OPERATOR : home.agent(from)?.state.id, home.agent(to)]
  const short = `${JSON.stringify(content)} to ${to}`
  const requests = seen.arrivals.filter(
    ({ kind, content: text, to: place }) =>
      kind === 'request' && text === content && place === asked?.state.id,
  )
  if (requests.length !== 1) return yield `the request ${short} arrives once, not ${requests.length} times`
  const replies = seen.repliesTo(requests[0]?.message_id as string)
  const responses = replies.filter(({ kind }) => kind === 'response')
  if (responses.length !== 1) yield `the request ${short} has one response, not ${responses.length}`
  for (const { to: place, content: text } of responses) {
    if (place !== asker) yield `the response to ${short} goes to the sender of the request`
    if (text !== answer) yield `the response to ${short} is the reply, not ${JSON.stringify(text)}`
  }
  const cuts = asked?.records.filter(({ kind }) => kind === 'run.interrupted').length ?? 0
  if (replies.length - responses.length > cuts)
    yield `${replies.length - 1} errors answer ${short}, and ${cuts} of its turns were interrupted`
}

export function* notifiedOnce(home: HomeView, to: string, content: string): Broken {
  const found = home
    .agent(to)
    ?.records.filter((record) => record.kind === 'mail.delivered' && home.agent(to)?.text(record) === content)
  if (found?.length !== 1) yield `${JSON.stringify(content)} reaches ${to} once, not ${found?.length} times`
}

/** The tool command whose effect is counted. */
export function effect(name = 'done'): string {
  return `echo ${name} >> "\${SUBSTRAT_LAB_BESIDE:-$SUBSTRAT_HOME.}effects"`
}

/**
 * The effect of a tool: once if its result says that it ran, at most once if its outcome is unknown, otherwise never.
 */
export function* effectsOnce(home: HomeView, agentName: string, name = 'done'): Broken {
  const lines = effectsOf(home.path).filter((line) => line === name)
  const { known, unknown } = resultsOf(home.agent(agentName))
  if (lines.length > 1) yield `a tool has its effect once, not ${lines.length} times`
  if (known + unknown !== 1) yield `the call has one result, not ${known + unknown}`
  if (known === 1 && lines.length !== 1) yield 'a tool that has a result had its effect'
}

export function effectsOf(home: string): string[] {
  const file = pathBeside(home, 'effects')
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []
}

function resultsOf(agent: AgentSeen | undefined): { known: number; unknown: number } {
  const count = { known: 0, unknown: 0 }
  for (const record of agent?.records ?? []) {
    if (record.kind !== 'tool.finished' || record.tool !== 'shell') continue
    if (/outcome unknown/.test(agent?.text(record) ?? '')) count.unknown += 1
    else count.known += 1
  }
  return count
}

/** The stored messages in the operator's inbox. */
export function operatorMail({ path }: HomeView): string[] {
  const store = openHome(path)
  const ids = store?.mail.ids(OPERATOR) ?? []
  return ids.map((id) => JSON.stringify(store?.mail.read(OPERATOR, id) ?? null))
}

/** A message that a command reported as queued for `a` is in the inbox or in the log. */
export function* queuedIsKept({ stderr }: Answer, home: HomeView): Broken {
  const id = new RegExp(`queued as message (${UUID.source})`).exec(stderr)?.[1]
  const agent = home.agent('a')
  if (id !== undefined && agent?.pending.includes(id) !== true && !agent?.state.delivered.includes(id))
    yield `the message ${id} was acknowledged and is in the inbox or in the log`
}
