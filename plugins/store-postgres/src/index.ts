/** The module that substrat loads for a home at postgres://. */
import type { HomeTransfer, Migration, Store, StoreKit, StorePlugin } from 'substrat/store'
import { Client } from './client.js'
import { explained } from './failure.js'
import { Pages } from './pages.js'
import { type PrefetchPlan, prefetchPlan } from './prefetched.js'
import type { Row } from './protocol.js'
import type { Shared } from './rights.js'
import { SCHEMA_VERSION } from './schema-version.js'
import { assertSafe } from './security.js'
import { Slots } from './slots.js'
import { PostgresStore } from './store.js'
import { PostgresTransfer } from './transfer.js'

const TTL_MS = 30_000

/** One worker for each home: a command opens its home several times. */
const clients = new Map<string, Client>()

function open(kit: StoreKit, url: string, password: string | undefined): Store {
  const { shared, hello } = connect(kit, url, password)
  const { migration } = hello
  if (migration != null) throw kit.migratingError(url, migration as Migration)
  return new PostgresStore(shared, hello)
}

function transfer(kit: StoreKit, url: string, password: string | undefined): HomeTransfer {
  return new PostgresTransfer(connect(kit, url, password).shared)
}

function connect(kit: StoreKit, url: string, password: string | undefined): { shared: Shared; hello: Row } {
  const { client, secret } = clientOf(kit, url, password)
  const slots = new Slots(client)
  const pages = new Pages((agentIds, bytesMax) =>
    explained(kit, { url }, () => client.read('open_agents', agentIds, bytesMax)),
  )
  const shared: Shared = {
    kit,
    client,
    url,
    password: secret,
    asserted: undefined,
    slots,
    pages,
    seen: undefined,
  }
  const isFirst = !begun.has(client)
  begun.add(client)
  const hello = explained(kit, { url }, () => (isFirst ? client.greeted(...firstPlan(kit)) : client.hello()))
  const unusable = (code: 'HOME_UNUSABLE' | 'UNKNOWN_FORMAT', why: string, hint: string) =>
    new kit.SubstratError(code, `the home at ${url} ${why}`, { hint, facts: { home: url } })
  const init = 'make or migrate it: substrat store init'
  if (hello === undefined) throw unusable('HOME_UNUSABLE', 'is not complete', init)
  if (hello.is_standby === true)
    throw unusable('HOME_UNUSABLE', 'is a standby server, which cannot be written', 'name the primary server')
  if (Number(hello.schema_version) < SCHEMA_VERSION)
    throw unusable('HOME_UNUSABLE', 'has an older schema', init)
  const newer = 'use the version of substrat that wrote it, or a newer one'
  if (Number(hello.schema_version) > SCHEMA_VERSION)
    throw unusable('UNKNOWN_FORMAT', 'has a newer schema', newer)
  if (Number(hello.format) > kit.FORMAT) throw unusable('UNKNOWN_FORMAT', `has format ${hello.format}`, newer)
  return { shared, hello }
}

function prepare(kit: StoreKit, url: string, password: string | undefined): void {
  const { client } = clientOf(kit, url, password)
  if (!begun.has(client)) client.beginEarly(...firstPlan(kit))
}

/** Those with a first statement. */
const begun = new Set<Client>()

function clientOf(kit: StoreKit, url: string, password: string | undefined) {
  const secret = password ?? takePassword()
  assertSafe(kit, url)
  const client = clients.get(url) ?? newClient(kit, url, secret)
  clients.set(url, client)
  return { client, secret }
}

function newClient(kit: StoreKit, url: string, password: string | undefined): Client {
  const ttlMs = leaseMs(kit)
  try {
    return new Client(kit, url, password, ttlMs)
  } catch (error) {
    // A parameter without a meaning, or a file of certificates that cannot be read.
    throw new kit.SubstratError('HOME_UNUSABLE', `cannot open ${url}: ${(error as Error).message}`, {
      hint: 'correct the URL in SUBSTRAT_HOME, or the file that it names',
      facts: { home: url },
    })
  }
}

/** The arguments of the first statement of this process. */
function firstPlan(kit: StoreKit): [key: string | null, plan: PrefetchPlan] {
  const plan = prefetchPlan(process.argv.slice(2))
  return [plan.word === null ? null : kit.foldName(plan.word), plan]
}

let fromEnvironment: string | undefined

/** Programs that an agent starts inherit the environment, so the password leaves it. */
function takePassword(): string | undefined {
  fromEnvironment = process.env.PGPASSWORD ?? fromEnvironment
  delete process.env.PGPASSWORD
  return fromEnvironment
}

/** SUBSTRAT_LEASE_MS is for tests. All hosts of a home should use the same. */
function leaseMs(kit: StoreKit): number {
  const text = process.env.SUBSTRAT_LEASE_MS
  if (text === undefined) return TTL_MS
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= 500 && ms <= 600_000) return ms
  throw new kit.SubstratError('CONFIG_INVALID', `SUBSTRAT_LEASE_MS is ${JSON.stringify(text)}`, {
    hint: 'set it to 500 to 600000, or remove it',
  })
}

const plugin: StorePlugin = { open, prepare, transfer }
export default plugin
