import type { NameEntry, Names, Right } from 'substrat/store'
import { call, type HeldRight, type Shared, tryHold, waitFor } from './rights.js'

const LOCK_WAIT_MS = 10_000
const ROOTS_ID = '00000000-0000-0000-0000-000000000000'

interface Entry {
  key: string
  name: string
  agent_id: string
}

/** No entry can be lost or damaged, so the index is always complete. */
export class RemoteNames implements Names {
  readonly isComplete = true
  private readonly parent: string
  private held: HeldRight | undefined

  constructor(
    private readonly shared: Shared,
    parentId: string | null,
  ) {
    this.parent = parentId ?? ROOTS_ID
  }

  get isHeld(): boolean {
    return call(this.shared, undefined, (client) => client.read('hold_of', this.thing)).length > 0
  }

  lookUp(name: string): string | undefined {
    return this.entry(name)?.agent_id
  }

  find(name: string): string | 'none' | 'unknown' {
    const entry = this.entry(name)
    if (entry === undefined) return 'none'
    return entry.is_there ? entry.agent_id : 'unknown'
  }

  isMissTrusted(): boolean {
    return true
  }

  nameOf(agentId: string): string | undefined {
    return this.all().find((entry) => entry.agent_id === agentId)?.name
  }

  ids(): string[] {
    return [...new Set(this.all().map(({ agent_id }) => agent_id))]
  }

  entries(): NameEntry[] {
    return this.all().map(({ key, agent_id }) => ({ path: key, agentId: agent_id }))
  }

  count(): number {
    return this.all().length
  }

  async lock(command: string): Promise<Right> {
    const { shared } = this
    this.held = await waitFor(shared, { waitMs: LOCK_WAIT_MS }, () => tryHold(shared, [this.thing], command))
    if (this.held !== undefined) return this.held
    throw new shared.kit.SubstratError('LOCKED', 'the index of names is busy', {
      hint: 'run the same command again',
    })
  }

  reserve(name: string, agentId: string): void {
    const { lease } = this.asserted()
    const values = [this.parent, this.shared.kit.foldName(name), name, agentId, this.thing, lease]
    call(this.shared, agentId, (client) => client.call('reserve_name', values))
  }

  forget(name: string): void {
    this.remove(this.shared.kit.foldName(name))
  }

  discard({ path }: NameEntry): void {
    this.remove(path)
  }

  markComplete(): void {}

  private remove(key: string): void {
    const { lease } = this.asserted()
    call(this.shared, undefined, (client) =>
      client.call('forget_name', [this.parent, key, this.thing, lease]),
    )
  }

  private asserted(): HeldRight {
    this.shared.kit.assert(this.held !== undefined, 'names change under their lock')
    this.held.assertHeld()
    return this.held
  }

  private get thing(): string {
    return `names/${this.parent}`
  }

  private entry(name: string): { agent_id: string; is_there: boolean } | undefined {
    const key = this.shared.kit.foldName(name)
    const part = `name/${key}`
    const [row] = call(this.shared, undefined, (client) =>
      this.parent === ROOTS_ID
        ? client.readOnce(part, 'find_name', this.parent, key)
        : client.read('find_name', this.parent, key),
    )
    return row as { agent_id: string; is_there: boolean } | undefined
  }

  private all(): Entry[] {
    return call(this.shared, undefined, (client) => client.read('names', this.parent)) as unknown as Entry[]
  }
}
