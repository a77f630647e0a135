/**
 * The thread with the connections of pg. It renews the leases of the process while the main thread is busy. It also executes every
 * statement, unless the main thread does that itself: on a Unix socket, until it has handed over.
 *
 * A statement whose connection breaks is sent again on a new one: each function of the schema recognizes what it has done. A failed
 * renewal means that the state of the lease is unknown: it then ends at its deadline.
 */
import type { Client, QueryResult } from 'pg'
import { CONNECT_MS_MAX, connectTo } from './connection.js'
import { writeDeadline } from './deadline-file.js'
import {
  type Answer,
  type HeldLease,
  marginMs,
  type Request,
  type Statement,
  type WorkerSettings,
} from './protocol.js'
import { Attempts, isFull, noAnswer } from './retry.js'
import { CONNECTING, SILENT_MS, SlowNote } from './slow-note.js'
import { uptimeMs } from './uptime.js'

let settings: WorkerSettings

const WATCH_MS = 2000
/** Watched by a follower of all agents. */
const ALL_AGENTS = '00000000-0000-0000-0000-000000000000'
/** A failed renewal is tried again before many leases could end. */
const RENEWAL_PAUSE_MS_MAX = 500
/** This thread has a connection, or needs that of the caller: one is enough. */
const HAND_OVER = { handsOver: true }
/** A short turn ends before its watch begins. */
const WATCH_DELAY_MS = 300

let client: Client | undefined
let connecting: Promise<Client> | undefined
let hasConnected = false
/** A statement was sent to `client` whose answer has not come. */
let isExecuting = false

/** The connection for statements, renewals and notifications. */
function connected(): Promise<Client> {
  if (client !== undefined) return Promise.resolve(client)
  connecting ??= connect().finally(() => {
    connecting = undefined
  })
  return connecting
}

async function connect(): Promise<Client> {
  const fresh = await open()
  fresh.on('end', () => {
    if (client === fresh) client = undefined
  })
  fresh.on('notification', ({ payload }) => {
    for (const each of watched)
      if (each === payload || each === ALL_AGENTS) settings.port.postMessage({ changed: each })
  })
  hasConnected = true
  client = fresh
  settings.port.postMessage(HAND_OVER)
  return fresh
}

async function open(): Promise<Client> {
  try {
    return await connectTo(settings)
  } catch (error) {
    // The server is there.
    hasConnected ||= isFull(error)
    throw error
  }
}

/** The latest query of each connection. pg sends one at a time. */
const latest = new WeakMap<Client, Promise<unknown>>()

function ask(to: Client, text: string, values: unknown[] = []): Promise<QueryResult> {
  const before = latest.get(to) ?? Promise.resolve()
  const asked = before.catch(() => undefined).then(() => to.query(text, values))
  latest.set(to, asked)
  return asked
}

function disconnect(): void {
  const old = client
  client = undefined
  void old?.end().catch(() => undefined)
}

async function execute(statement: Statement): Promise<Answer> {
  const { text, values, slot } = statement
  const attempts = new Attempts(statement)
  const note = new SlowNote(settings.url)
  for (;;) {
    let wasSent = false
    try {
      const to = await noting(connected(), note)
      wasSent = true
      isExecuting = true
      const { rows } = await withinLease(ask(to, text, values.map(asParameter)), slot)
      isExecuting = false
      return { rows }
    } catch (error) {
      isExecuting = false
      const { isBroken, failure, pauseMs, untilMs } = attempts.after(error, { wasSent, hasConnected })
      if (isBroken) disconnect()
      if (failure !== undefined) return { failure }
      note.look((error as Error).message, untilMs)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

/** A network may swallow the first bytes of a connection. */
async function noting<T>(connection: Promise<T>, note: SlowNote): Promise<T> {
  const untilMs = uptimeMs() + CONNECT_MS_MAX
  const timer = setTimeout(() => note.look(CONNECTING, untilMs), SILENT_MS + 1)
  return connection.finally(() => clearTimeout(timer))
}

/** A network may swallow a statement. After the end of its lease, which a renewal moves, no answer is awaited. */
function withinLease<T>(asked: Promise<T>, slot: number | undefined): Promise<T> {
  if (slot === undefined) return asked
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    const look = (): void => {
      const leftMs = Number(Atomics.load(settings.deadlines, slot)) - uptimeMs()
      if (leftMs <= 0) reject(noAnswer())
      else timer = setTimeout(look, leftMs + 1)
    }
    look()
    asked.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** A message between threads brings a Buffer as a Uint8Array. */
function asParameter(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return Array.isArray(value) ? value.map(asParameter) : value
}

let leases: HeldLease[] = []
let watched: string[] = []
let keeper: Client | undefined
let listening: Client | undefined
let renewal: NodeJS.Timeout | undefined
let watch: NodeJS.Timeout | undefined

/** A long statement does not delay a renewal, which then gets a second connection, until the statement has its answer. */
async function renewalConnection(): Promise<Client> {
  if (!isExecuting) dropKeeper()
  if (!isExecuting) return connected()
  keeper ??= await open()
  return keeper
}

function dropKeeper(): void {
  const old = keeper
  keeper = undefined
  void old?.end().catch(() => undefined)
}

function keepLeases(): void {
  if (leases.length === 0) {
    clearTimeout(renewal)
    renewal = undefined
  } else if (renewal === undefined) {
    renewal = setTimeout(renew, untilFirstRenewalMs())
  }
}

/** A third of its time after the oldest lease was asked for. This thread may have booted later. */
function untilFirstRenewalMs(): number {
  const { ttlMs, deadlines } = settings
  const fullMs = ttlMs - marginMs(ttlMs)
  const ends = leases.map(({ slot }) => Number(Atomics.load(deadlines, slot))).filter((end) => end > 0)
  const oldestMs = Math.min(uptimeMs() + fullMs, ...ends) - fullMs
  return Math.max(0, oldestMs + ttlMs / 3 - uptimeMs())
}

async function renew(): Promise<void> {
  const mine = leases
  const { ttlMs, deadlines } = settings
  let pauseMs = ttlMs / 3
  try {
    const by = (kind: HeldLease['kind']) => mine.filter((each) => each.kind === kind)
    const keys = (kind: HeldLease['kind']) => by(kind).map(({ key }) => key)
    const ids = (kind: HeldLease['kind']) => by(kind).map(({ lease }) => lease)
    const connection = await renewalConnection()
    // The lease counts from when the request was sent, which is before the database renews it.
    const sentMs = uptimeMs()
    const { rows } = await ask(connection, 'select substrat.renew($1, $2, $3, $4, $5, $6) as lease', [
      keys('agent'),
      ids('agent'),
      keys('thing'),
      ids('thing'),
      ids('edge'),
      ttlMs,
    ])
    // Those that the caller still holds.
    const sent = new Set(mine.map(({ lease }) => lease))
    const held = new Set(rows.map(({ lease }) => lease as string))
    for (const { slot, lease, file } of leases.filter((each) => sent.has(each.lease))) {
      const deadline = held.has(lease) ? sentMs + ttlMs - marginMs(ttlMs) : 0
      Atomics.store(deadlines, slot, BigInt(Math.round(deadline)))
      if (file !== undefined) tryWriteDeadline(file, lease, deadline)
    }
  } catch (error) {
    pauseMs = Math.min(ttlMs / 20, RENEWAL_PAUSE_MS_MAX) * (0.5 + Math.random())
    dropKeeper()
    if (!isExecuting) disconnect()
    // The caller's own connection may be the one for which the server has no room.
    if (isFull(error)) settings.port.postMessage(HAND_OVER)
  }
  renewal = undefined
  if (leases.length > 0) renewal = setTimeout(renew, pauseMs)
}

/** Without the write, the programs die at the earlier end. */
function tryWriteDeadline(file: string, lease: string, deadlineMs: number): void {
  try {
    writeDeadline(file, lease, deadlineMs)
  } catch {
    // The next renewal tries again.
  }
}

/** A notification is a hint: it may be lost. */
function lookAgain(): void {
  watch = undefined
  if (watched.length === 0) return
  void listen().catch(() => undefined)
  for (const agent of watched) settings.port.postMessage({ changed: agent })
  watch = setTimeout(lookAgain, WATCH_MS)
}

async function listen(): Promise<void> {
  const to = await connected()
  if (listening === to) return
  listening = to
  await ask(to, 'listen substrat')
}

/** By then most functions have run, and the first command of a user still has statements to send. */
const STATEMENTS_BEFORE_SAVE = 2
let statements = 0

/** Called with the first message of the thread. `saveCode` saves V8's compiled code of this module. */
export function start(given: WorkerSettings, saveCode: () => void): void {
  settings = given
  const { port } = settings
  // The caller blocks until an answer comes, so the thread must not die without one.
  process.on('uncaughtException', ({ message }) => {
    disconnect()
    if (asked !== undefined) answer(asked, { failure: { code: 'XX000', message, isUnknown: true } })
  })
  port.on('message', async (request: Request) => {
    if (request.kind === 'leases') {
      leases = request.leases
      keepLeases()
    } else if (request.kind === 'watch') {
      watched = request.agents
      if (watch === undefined && watched.length > 0) watch = setTimeout(lookAgain, WATCH_DELAY_MS)
    } else {
      asked = request.statement
      answer(asked, await execute(asked))
      if (++statements === STATEMENTS_BEFORE_SAVE) saveCode()
    }
  })
}

/** Without an answer yet. */
let asked: Statement | undefined

/** A statement that failed by an exception gets no second answer, which the caller would take for that of its next one. */
function answer(statement: Statement, given: Answer): void {
  if (asked !== statement) return
  asked = undefined
  const { port, answered } = settings
  port.postMessage({ answer: given })
  Atomics.add(answered, 0, 1)
  Atomics.notify(answered, 0)
}
