/**
 * Counts the slots of each schedule from the records of a log alone: each slot between the first and the last record of its schedule
 * is exactly once among those that ran, were skipped or were missed. Enumerates the calendar slot by slot, by croner alone.
 */
import { Cron } from 'croner'

export interface Account {
  schedule_id: string
  name: string
  ran: number
  skipped: number
  missed: number
  /** The deviations. Empty if each slot is there once. */
  faults: string[]
}

interface Slot {
  kind: string
  schedule_id: string
  name: string
  due_at?: string
  from?: string
  to?: string
  count?: number
  next_at?: string | null
  calendar?: string
  time_zone?: string
  until?: string
  replaces?: string
  message_id?: string
}

export function accountsOf(records: Iterable<{ kind: string }>): Account[] {
  const open = new Map<string, { account: Account; cron: Cron; until: string | null; next: string | null }>()
  const accounts: Account[] = []
  const delivered = new Set<string>()
  for (const each of records) {
    const record = each as Slot
    if (record.kind === 'mail.delivered' && record.message_id !== undefined) {
      if (delivered.has(record.message_id))
        faultsOf(accounts, record).push(`message ${record.message_id} twice`)
      delivered.add(record.message_id)
    }
    if (!record.kind.startsWith('schedule.')) continue
    if (record.kind === 'schedule.set') {
      const { schedule_id, name, calendar, time_zone, until = null, next_at = null } = record
      const options = { timezone: time_zone as string, mode: '5-part', fixedTimeRule: 'no-wildcard' } as const
      const account = { schedule_id, name, ran: 0, skipped: 0, missed: 0, faults: [] }
      accounts.push(account)
      open.set(schedule_id, { account, cron: new Cron(calendar as string, options), until, next: next_at })
      continue
    }
    const schedule = open.get(record.schedule_id)
    if (schedule === undefined) throw new Error(`${record.kind} of an unknown schedule`)
    const { account } = schedule
    const after = (slot: string): string | null => {
      const next = schedule.cron.nextRun(new Date(slot))?.toISOString() ?? null
      return next === null || (schedule.until !== null && next > schedule.until) ? null : next
    }
    const take = (slot: string): void => {
      if (slot !== schedule.next) account.faults.push(`${record.kind} ${slot}, but ${schedule.next} is next`)
      schedule.next = after(slot)
    }
    if (record.kind === 'schedule.fired') {
      if (!delivered.has(record.message_id ?? '')) account.faults.push(`${record.due_at} without its message`)
      take(record.due_at as string)
      account.ran += 1
    } else if (record.kind === 'schedule.skipped' || record.kind === 'schedule.missed') {
      let count = 0
      for (
        let at: string | null = record.from as string;
        at !== null && at <= (record.to as string);
        at = after(at)
      ) {
        take(at)
        count += 1
      }
      if (count !== record.count) account.faults.push(`${count} slots are recorded as ${record.count}`)
      account[record.kind === 'schedule.skipped' ? 'skipped' : 'missed'] += count
    } else continue
    if (record.next_at !== schedule.next)
      account.faults.push(`next is ${schedule.next}, not ${record.next_at}`)
  }
  return accounts
}

function faultsOf(accounts: Account[], { schedule_id }: Slot): string[] {
  return accounts.find((account) => account.schedule_id === schedule_id)?.faults ?? []
}
