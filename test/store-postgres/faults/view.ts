/** A home as a person would compare two of them: without ids, times and processes. */
import type { Postgres } from '../../support/postgres.js'

type Row = Record<string, unknown>

const SPOKEN = ['message.user', 'message.agent', 'mail.delivered']

/** Everything that is in the home. */
export async function viewOf(server: Postgres, database: string): Promise<unknown> {
  const rows = (text: string): Promise<Row[]> => server.query(database, text)
  const logs = await rows(
    `select convert_from(string_agg(b.bytes, ''::bytea order by b.first_byte), 'UTF8') as log,
       a.lease is not null as is_held, exists (select from substrat.marked k where k.agent_id = a.id) as is_marked
     from substrat.agent a join substrat.batch b on b.agent_id = a.id group by a.id`,
  )
  const tables = {
    mail: await rows(
      "select state, recipient = '00000000-0000-0000-0000-000000000000' as is_operator from substrat.mail where state <> 'removed'",
    ),
    names: await rows('select name from substrat.name'),
    holds: await rows('select thing from substrat.hold where lease is not null'),
    edges: await rows('select kind from substrat.edge'),
    requests: await rows('select verb from substrat.request'),
    kept: await rows('select what from substrat.kept'),
    config: await rows("select convert_from(config, 'UTF8') as config from substrat.home"),
  }
  const agents = logs.map(({ log, ...facts }) => ({ ...facts, log: recordsOf(log).map(withoutPlace) }))
  return anonymous({ agents: sorted(agents), ...mapValues(tables, sorted) })
}

/** The conversations and the names, which repeating a command must not double. */
export async function conversationsOf(server: Postgres, database: string): Promise<unknown> {
  const logs = await server.query(
    database,
    `select convert_from(string_agg(b.bytes, ''::bytea order by b.first_byte), 'UTF8') as log
     from substrat.batch b group by b.agent_id`,
  )
  // The name of an agent that a killed command removed is free.
  const names = await server.query(
    database,
    'select n.name from substrat.name n join substrat.agent a on a.id = n.agent_id',
  )
  const spoken = logs.map(({ log }) => {
    const records = recordsOf(log)
    const said = records.filter(
      ({ kind, content }) => SPOKEN.includes(kind as string) && !isReminder(content),
    )
    return { name: records[0]?.name, said: said.map(({ kind, content }) => [kind, content]) }
  })
  return anonymous({ spoken: sorted(spoken), names: sorted(names) })
}

/** A turn that is continued begins with one, each time. */
function isReminder(content: unknown): boolean {
  return String(content).startsWith('Your previous turn was interrupted')
}

/** A text without ids, times and processes. */
export function anonymousText(text: string): string {
  return text
    .replaceAll(/st_[0-9a-f-]{36}_[\w-]+/g, 'TOKEN')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/ID\/\d+\/\d+\/\d+/g, 'PROCESS')
    .replaceAll(/host=[^"&\s/]*\/[\w./-]+/g, 'HOST')
    .replaceAll(/@127\.0\.0\.1:\d+\//g, '@SERVER/')
    .replaceAll(/home_\d+/g, 'HOME')
    .replaceAll(/[0-9a-f]{32,}/g, 'DIGEST')
}

function anonymous(value: unknown): unknown {
  return JSON.parse(anonymousText(JSON.stringify(value)))
}

const OF_PROCESSES = ['crc', 'pid', 'start_time', 'duration_ms', 'process_group', 'uptime_ms']

function withoutPlace(record: Row): Row {
  return JSON.parse(JSON.stringify(record, (key, value) => (OF_PROCESSES.includes(key) ? undefined : value)))
}

function recordsOf(log: unknown): Row[] {
  return (log as string)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

function sorted(rows: unknown[]): unknown[] {
  const keyed = rows.map((row) => [anonymousText(JSON.stringify(row)), row] as const)
  return keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function mapValues<A, B>(object: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]))
}
