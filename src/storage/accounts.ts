/**
 * The accounts of budgets: `budgets/<uuid>` of a capped agent, and `budgets/home`.
 *
 * Invariants:
 * - An account is a cache of the logs, so nothing in it is synced. Its first cell names the boot that wrote it, its inode and its number of
 *   cells. In another boot, as a copy, or with a cell missing, it is not trusted. A cell with a wrong checksum makes the whole account untrusted.
 * - A cell lies within one page, and is written by one write, so a kill leaves the old one or the new one.
 * - The locks are taken in the order of the caller, from the home down to the agent, so no two processes wait for each other.
 */
import { SubstratError } from '../errors.js'
import type { Amounts, JsonObject } from '../format.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { ownIdentity } from '../host/identity.js'
import { type KernelLease, type LockSystem, readHolder, waitForLease } from './locks/lease.js'
import { frame, LF, unframe } from './log/frame.js'
import type { Account, AccountEntry, Accounts } from './parts.js'
import type { HomePaths } from './paths.js'

const CELL_BYTES = 1024
const LOCK_WAIT_MS = 10_000

interface Read extends Account {
  /** The number of cells of the file, with the first. */
  cells: number
  at: Map<string, number>
}

export class AccountFiles implements Accounts {
  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {}

  get isUsed(): boolean {
    return statIfThere('account.stat', this.paths.budgets) !== undefined
  }

  readonly isDeletable = true

  open(scope: string): void {
    this.makeDirectory()
    const file = io.open('account.create', this.paths.account(scope), 'create')
    try {
      // Without the first cell. A process that writes an entry at this moment leaves a cell that is missing.
      io.truncate('account.write', file, 0)
    } finally {
      io.close(file)
    }
    io.syncDirectory('account.sync', this.paths.budgets)
  }

  private makeDirectory(): void {
    if (io.mkdir('account.mkdir', this.paths.budgets)) io.syncDirectory('account.sync_home', this.paths.root)
  }

  read(scope: string): Account {
    const file = io.openIfThere('account.open', this.paths.account(scope), 'read')
    if (file === undefined) return { isTrusted: false, entries: [] }
    try {
      return cellsOf(file)
    } finally {
      io.close(file)
    }
  }

  async exchange(
    scopes: string[],
    command: string,
    decide: (accounts: Account[]) => (AccountEntry[] | undefined)[],
  ): Promise<void> {
    const rights: KernelLease[] = []
    const files: io.OpenFile[] = []
    try {
      this.makeDirectory()
      for (const scope of scopes) rights.push(await this.lock(scope, command))
      for (const scope of scopes) files.push(io.open('account.open', this.paths.account(scope), 'create'))
      const accounts = files.map(cellsOf)
      const changes = decide(accounts)
      for (const right of rights) right.assertHeld()
      changes.forEach((entries, index) => {
        if (entries !== undefined) store(files[index] as io.OpenFile, accounts[index] as Read, entries)
      })
    } finally {
      for (const file of files) io.close(file)
      for (const right of rights.reverse()) await right.release()
    }
  }

  private async lock(scope: string, command: string): Promise<KernelLease> {
    const path = this.paths.accountLock(scope)
    const right = await waitForLease(this.locks, path, command, LOCK_WAIT_MS)
    if (right !== undefined) return right
    const holder = readHolder(path)
    const by = holder === undefined ? '' : ` by pid ${holder.pid} on ${holder.host} (${holder.command})`
    throw new SubstratError('LOCKED', `the account ${this.paths.account(scope)} is held${by}`, {
      hint: 'wait for that command, then run this one again; if it is stopped, continue it: kill -CONT PID',
      facts: { path, ...(holder === undefined ? {} : { pid: holder.pid, host: holder.host }) },
    })
  }
}

function cellsOf(file: io.OpenFile): Read {
  const bytes = io.readRange('account.read', file, 0, io.sizeOf(file))
  const cells = Math.ceil(bytes.length / CELL_BYTES)
  const [head, ...objects] = Array.from({ length: cells }, (_, index) =>
    objectIn(bytes.subarray(index * CELL_BYTES, (index + 1) * CELL_BYTES)),
  )
  const entries = objects.map((object) => (object === undefined ? undefined : entryIn(object)))
  const at = new Map(entries.map((entry, index) => [entry?.agentId ?? '', index + 1]))
  const isOurs = Object.entries(headOf(file, cells)).every(([name, value]) => head?.[name] === value)
  const isTrusted = isOurs && !entries.includes(undefined)
  return { isTrusted, entries: entries.filter((entry) => entry !== undefined), cells, at }
}

function objectIn(cell: Buffer): JsonObject | undefined {
  const line = unframe(cell.subarray(0, Math.max(0, cell.indexOf(LF))))
  return 'damage' in line ? undefined : line.object
}

/** The order of the amounts in a cell. */
const AMOUNTS = ['tokens', 'usd', 'turns', 'requests', 'time_ms'] as const

function entryIn({ agent, windows, hold }: JsonObject): AccountEntry | undefined {
  if (typeof agent !== 'string' || typeof windows !== 'object' || windows === null) return undefined
  const all = Object.entries(windows as Record<string, [string, ...number[]]>)
  return {
    agentId: agent,
    windows: Object.fromEntries(all.map(([name, [id, ...spent]]) => [name, { id, spent: amountsIn(spent) }])),
    ...(hold === undefined ? {} : { hold: amountsIn(hold as number[]) }),
  }
}

function amountsIn(values: number[]): Amounts {
  return Object.fromEntries(AMOUNTS.map((field, index) => [field, values[index] ?? 0]))
}

function listed(amounts: Amounts): number[] {
  return AMOUNTS.map((field) => amounts[field] ?? 0)
}

function cellOf(object: object): Buffer {
  const line = frame(object)
  if (line.length > CELL_BYTES) throw new Error('an entry of an account fits in its cell')
  return Buffer.concat([line, Buffer.alloc(CELL_BYTES - line.length, ' ')])
}

function cellOfEntry({ agentId, windows, hold }: AccountEntry): Buffer {
  return cellOf({
    agent: agentId,
    windows: Object.fromEntries(
      Object.entries(windows).map(([name, { id, spent }]) => [name, [id, ...listed(spent)]]),
    ),
    ...(hold === undefined ? {} : { hold: listed(hold) }),
  })
}

function headOf(file: io.OpenFile, cells: number): JsonObject {
  return { boot: ownIdentity().kernel_boot_id, inode: io.inodeOf(file), cells }
}

/** A new account gets its first cell last, and a longer one first: a kill in between leaves an account that is not trusted. */
function store(file: io.OpenFile, { isTrusted, cells, at }: Read, entries: AccountEntry[]): void {
  if (!isTrusted) {
    io.truncate('account.write', file, 0)
    entries.forEach((entry, index) => {
      io.writeAll('account.write', file, cellOfEntry(entry), (index + 1) * CELL_BYTES)
    })
    io.writeAll('account.write', file, cellOf(headOf(file, entries.length + 1)), 0)
    return
  }
  const added = entries.filter(({ agentId }) => !at.has(agentId)).length
  if (added > 0) io.writeAll('account.write', file, cellOf(headOf(file, cells + added)), 0)
  let next = cells
  for (const entry of entries) {
    const cell = at.get(entry.agentId) ?? next++
    io.writeAll('account.write', file, cellOfEntry(entry), cell * CELL_BYTES)
  }
}
