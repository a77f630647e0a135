/** A log as text that is the same on every run: ids, times and process ids are replaced. */
import type { SessionRecord } from '../../src/session/records.js'

const LEFT_OUT = new Set([
  'seq',
  'ts',
  'kind',
  'batch',
  'crc',
  // Stack traces contain line numbers, which change with every build.
  'detail',
  'clock',
  'run_id',
  'message_id',
  'boot_id',
  'usage',
  'hash',
  'digest',
  'agent_id',
  'format',
  'options',
  'workspace',
])
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z/g

export function logText(records: SessionRecord[]): string {
  return records.map(line).join('\n')
}

/** Masks any printed text. */
export function steady(text: string): string {
  return text
    .replace(/st_[0-9a-f-]{36}_[\w-]{32}/g, 'st_…')
    .replace(UUID, '<id>')
    .replace(/\b[0-9a-f]{8}\b/g, '<id>')
    .replace(TIME, '<time>')
    .replace(/process group \d+/g, 'process group <n>')
    .replace(/\/\S*substrat-lab-[^/\s"]+/g, '<lab>')
}

function line(record: SessionRecord): string {
  const fields = Object.entries(record).filter(([field, value]) => value !== null && !LEFT_OUT.has(field))
  const text = fields.map(([field, value]) => `${field}=${plain(field, value)}`).join(' ')
  const [first, last] = record.batch
  return steady(
    `${String(record.seq).padStart(2)} [${first}-${last}]`.padEnd(11) +
      `${record.kind.padEnd(18)} ${text}`.trimEnd(),
  )
}

const PROCESS = new Set([
  'group',
  'process_group',
  'start_time',
  'kernel_boot_id',
  'pid_namespace',
  'actor',
  'host_id',
  'host_name',
])

function plain(field: string, value: unknown): string {
  if (PROCESS.has(field)) return '…'
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)
}
