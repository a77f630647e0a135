/** The output of `list` and `show` without `--json`. */
import { clock, readableTime, withReadableTimes } from '../../clock.js'
import { askText } from '../../dispatch/ask-text.js'
import { callText } from '../../dispatch/call-text.js'
import { keysText, missedKeys, refusalText } from '../../dispatch/missed.js'
import { awaitedThing } from '../../dispatch/turn-obstacle.js'
import type { ListFilter } from '../../operations/list-and-show.js'
import { actorText, isReader, type Reader } from '../../schema/actors.js'
import type { ShownAgent, WaitView } from '../../schema/output.js'
import type { ListedAgent } from '../../schema/output-overview.js'
import { contextText, GRANTED_BY, type ShownStatus, type Status, wordOfStatus } from '../../schema/words.js'
import { refillText } from '../../session/budget/caps.js'
import type { Refusal } from '../../session/state.js'
import { budgetText, shareLeft } from './budget-text.js'
import { elapsedText } from './elapsed.js'
import { lastText, nextText } from './schedule-text.js'
import { table } from './table.js'
import { totalText } from './usage-text.js'

export function agentsTable(agents: ListedAgent[], { status, state, since, roots }: ListFilter): string {
  const isFiltered = [status, state, since].some((value) => value !== undefined) || roots
  if (agents.length === 0 && isFiltered) return 'no agents match (show all agents: substrat list --all)'
  if (agents.length === 0) return 'no agents yet (create one: substrat spawn)'
  const head = ['AGENT', 'ID', 'STATE', 'STATUS', 'PROVIDER', 'INBOX', 'UPDATED']
  const more: [string, (agent: ListedAgent) => string][] = [
    ['BUDGET', (agent) => ('budget' in agent ? shareLeft(agent.budget) : '')],
    ['TITLE', titleOf],
  ]
  const shown = more.filter(([, textOf]) => agents.some((agent) => textOf(agent) !== ''))
  return table([...head, ...shown.map(([title]) => title)], agents, (agent) => [
    ...cellsOf(agent),
    ...shown.map(([, textOf]) => textOf(agent)),
  ])
}

function titleOf(agent: ListedAgent): string {
  return 'title' in agent && agent.title !== null ? firstLine(agent.title) : ''
}

function cellsOf(agent: ListedAgent): string[] {
  const shortId = agent.id.slice(0, 8)
  if (!('state' in agent))
    return [agent.path ?? agent.id, shortId, '?', agent.shown_status, '?', '?', agent.error.message]
  const { path, moved_to, shown_status, provider, inbox, updated_at } = agent
  const state = moved_to === undefined ? agent.state : 'moved'
  return [path, shortId, state, shown_status, provider, String(inbox), readableTime(updated_at)]
}

export const LABEL_COLUMNS = 13

export interface DescribeOptions {
  /** The command that installs the agent's provider. */
  remedy?: string | undefined
  /** For each call that waits: the change that it makes to a file. Undefined for another call. */
  changes?: (string | undefined)[]
  /** Their own acts are not repeated. */
  reader?: Reader
}

export function describeAgent(
  shown: ShownAgent,
  { remedy, changes = [], reader = {} }: DescribeOptions = {},
): string {
  const { agent, run, holder, trouble, next, advice, title, instructions, options, wait } = shown
  const lines: [string, string | null][] = [
    ['agent', agent.path === agent.id ? agent.id : `${agent.path} (${agent.id})`],
    [
      'parent',
      agent.parent === null ? null : `${agent.path.split('/').slice(0, -1).join('/')} (${agent.parent})`,
    ],
    ['title', title],
    ['status', statusText(shown)],
    ['state', `${agent.state}, ${agent.last_seq} ${agent.last_seq === 1 ? 'record' : 'records'} in the log`],
    ['moved to', agent.moved_to ?? null],
    [
      'provider',
      [agent.provider, agent.model, ...Object.entries(options).map(([key, value]) => `${key}=${value}`)]
        .filter(Boolean)
        .join(' '),
    ],
    ['', remedy === undefined ? null : `not installed; ${remedy}`],
    ['workspace', agent.workspace],
    ['instructions', instructions === null ? null : firstLine(instructions)],
    ['context', shown.context === 'all' ? null : contextText(shown.context)],
    ...shown.grants.map(({ entry, by, since }, index): [string, string] => [
      index === 0 ? 'allowed' : '',
      `${firstLine(entry)} (${GRANTED_BY[by]}${since === undefined ? '' : `, ${readableTime(since)}`})`,
    ]),
    ...(shown.on_unknown ?? []).map((rule, index): [string, string] => [
      index === 0 ? 'cut short' : '',
      firstLine(rule),
    ]),
    ...Object.entries(shown.metadata).map(([key, value], index): [string, string] => [
      index === 0 ? 'metadata' : '',
      `${key}: ${firstLine(value)}`,
    ]),
    ...remindersText(shown),
    ...schedulesText(shown),
    [
      'watched by',
      shown.watchers.length === 0
        ? null
        : shown.watchers
            .map(({ from, on, once }) => `${from} (${on.join(', ')}${once ? ', once' : ''})`)
            .join('; '),
    ],
    ['created', readableTime(agent.created_at)],
    ['updated', readableTime(agent.updated_at)],
    [
      'held by',
      holder === null
        ? null
        : `pid ${holder.pid} on ${holder.host} since ${readableTime(holder.since)} (${holder.command})${leaseText(holder)}`,
    ],
    ['host', hostText(shown)],
    ['inbox', agent.inbox === 0 ? null : `${agent.inbox} pending`],
    [
      'latest turn',
      run === null
        ? 'none yet'
        : `${howTurnEnded(run.status, agent.shown_status)}, started ${readableTime(run.started_at)}${run.ended_at === null ? '' : `, ended ${readableTime(run.ended_at)}`}${run.fresh === true ? '; it began a new conversation' : ''}`,
    ],
    ...shown.doing.map(({ tool, input, started_at }): [string, string] => [
      'doing',
      `${firstLine(callText({ tool, input }))}, ${elapsedText(clock.now() - Date.parse(started_at))}`,
    ]),
    ...actsText(shown, reader),
    ['reason', trouble === null ? null : withReadableTimes(trouble)],
    ...refusedText(shown),
    ...(shown.budgets ?? []).map((use, index): [string, string] => [
      index === 0 ? 'budget' : '',
      budgetText(use, agent.path),
    ]),
    [
      '',
      shown.unanswered === undefined
        ? null
        : `${shown.unanswered} ${shown.unanswered === 1 ? 'request' : 'requests'} without an answer, whose holds count as used`,
    ],
    ['usage', shown.usage === null || shown.usage.runs === 0 ? null : totalText(shown.usage)],
    ...(wait === null ? [] : asksText(wait, changes)),
    ...(wait === null ? [] : [waitText(wait, agent.status)]),
    replyText(shown),
    ['next', advice === undefined ? next : withReadableTimes(advice)],
  ]
  return lines
    .flatMap(([label, text]) => (text === null ? [] : [`${label.padEnd(LABEL_COLUMNS)}${text}`]))
    .join('\n')
}

function actsText({ acts }: ShownAgent, reader: Reader): [string, string][] {
  return acts
    .filter(({ actor }) => !isReader(actor, reader))
    .map(({ did, at, actor }, index) => [
      index === 0 ? 'who acted' : '',
      `${did} by ${actorText(actor, reader)}, ${readableTime(at)}`,
    ])
}

function leaseText({ lease_ends_at: end }: NonNullable<ShownAgent['holder']>): string {
  return end === undefined ? '' : `; its lease ends at ${readableTime(end)} unless renewed`
}

function hostText({ workspace_host: host }: ShownAgent): string | null {
  if (host === undefined) return null
  return host.scope === 'any' ? `${host.host_name}; any host may run its turns` : host.host_name
}

function replyText({ reply, reply_is, incomplete }: ShownAgent): [string, string | null] {
  if (reply === null) return ['reply', null]
  if (reply_is === 'so_far') return ['text so far', firstLine(reply)]
  const cut = incomplete === undefined ? '' : `(may be incomplete: ${incomplete}) `
  return ['reply', `${reply_is === 'previous' ? '(previous turn) ' : ''}${cut}${firstLine(reply)}`]
}

function asksText(wait: WaitView, changes: (string | undefined)[]): [string, string][] {
  return wait.asks.map((ask, at) => {
    const [label, text] = askText(wait, ask)
    return [label, indentedText(changes[at] ?? text)]
  })
}

function statusText({ agent, hold, gate }: ShownAgent): string {
  const { gated, permits } = gate
  const word = agent.shown_status
  return [
    wordOfStatus(word),
    hold && word !== 'held' ? 'on hold' : '',
    gated && word !== 'gated' ? 'gated' : '',
    gated && permits > 0 ? `${permits} ${permits === 1 ? 'turn' : 'turns'} permitted` : '',
  ]
    .filter(Boolean)
    .join(', ')
}

function remindersText({ reminders }: ShownAgent): [string, string][] {
  return reminders.map(({ due_at, every_ms, content }, index) => [
    index === 0 ? 'reminders' : '',
    `${readableTime(due_at)}${every_ms === null ? '' : `, every ${every_ms / 1000} s`}: ${firstLine(content)}`,
  ])
}

function schedulesText({ schedules = [], hold, gate }: ShownAgent): [string, string][] {
  const prevented = hold ? 'hold' : gate.gated && gate.permits === 0 ? 'gated' : null
  return schedules.map((schedule, index) => {
    const { name, when } = schedule
    const last = lastText(schedule)
    const text = `${name} (${when}): next ${nextText({ ...schedule, prevented })}${last === '' ? '' : `; last ${last}`}`
    return [index === 0 ? 'schedules' : '', text]
  })
}

/** A wait is over at its deadline, although the next writing command records that. */
function waitText(
  { kind, token_id, deadline_at, not_before }: WaitView,
  status: Status,
): [label: string, text: string] {
  if (kind === 'budget') return ['waits for', `a larger budget; ${refillText(not_before)}; token ${token_id}`]
  if (kind === 'not_before') {
    const at = not_before ?? ''
    if (Date.parse(at) > clock.now()) return ['waits until', readableTime(at)]
    return ['limited', `until ${readableTime(at)}; substrat deliver --all continues it now`]
  }
  const awaited = `${awaitedThing({ kind })} until ${readableTime(deadline_at ?? '')}`
  return status === 'waiting'
    ? ['waits for', `${awaited}, token ${token_id}`]
    : ['waited for', `${awaited}: none came in time`]
}

/** A time limit is not a command, so its turn was not cancelled. */
function howTurnEnded(status: string, shown: ShownStatus): string {
  return shown === 'timed_out' ? 'timed out' : status
}

/** One line for each cause, then its keys. Then the keys from before the latest turn. Their messages never began. */
function refusedText(shown: ShownAgent): [string, string | null][] {
  const { refused = [] } = shown.agent
  const [latest, past] = [false, true].map((isPast) =>
    refused.filter((one) => (one.past === true) === isPast),
  )
  return [
    ...byCause(latest ?? []).flatMap(({ first, all }): [string, string | null][] => [
      ['refused', `${refusalText(first, shown)} (${first.command}, since ${readableTime(first.since)})`],
      ['', missedKeys(all).keys.length === 0 ? null : `keys: ${keysText(all)}`],
    ]),
    ...byCause(past ?? []).flatMap(({ first, all }): [string, string | null][] => [
      ['never ran', `keys: ${keysText(all)}`],
      ['', `refused since ${readableTime(first.since)}: ${refusalText(first, shown)}`],
    ]),
  ]
}

function byCause(refused: Refusal[]): { first: Refusal; all: Refusal[] }[] {
  const firsts = refused.filter(
    ({ cause }, index) => refused.findIndex((one) => one.cause === cause) === index,
  )
  return firsts.map((first) => ({ first, all: refused.filter(({ cause }) => cause === first.cause) }))
}

/** Aligns further lines with the first. */
function indentedText(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(LABEL_COLUMNS)}`)
}

const LINE_CHARACTERS_MAX = 100

function firstLine(text: string): string {
  const [line = ''] = text.split('\n')
  const isWhole = line.length === text.length && line.length <= LINE_CHARACTERS_MAX
  return isWhole ? line : `${line.slice(0, LINE_CHARACTERS_MAX)}…`
}
