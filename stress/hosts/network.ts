/** A bridge with a network namespace for each host. Needs root and iproute2; lost answers need nftables too. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Why no namespaces can be made here. Undefined if they can. */
export function whyNoNetwork(): string | undefined {
  if (process.geteuid?.() !== 0) return 'network namespaces need root'
  if (!existsSync('/proc/self/ns/time')) return 'the kernel has no time namespaces'
  const name = `sb-probe-${process.pid}`
  const made = spawnSync('ip', ['netns', 'add', name])
  if (made.error !== undefined) return 'iproute2 is not installed'
  if (made.status !== 0) return `ip netns add fails: ${made.stderr}`
  spawnSync('ip', ['netns', 'delete', name])
  return spawnSync('nft', ['--version']).error === undefined ? undefined : 'nftables is not installed'
}

export class Network {
  /** The address of the server, on the bridge. */
  readonly address: string
  readonly clients: string
  readonly #prefix: string
  readonly #name = `sb${process.pid % 100_000}`
  readonly #hosts = new Set<number>()

  constructor() {
    // Two labs side by side have different networks.
    this.#prefix = `10.${200 + (process.pid % 50)}.${(process.pid >> 6) % 250}`
    this.address = `${this.#prefix}.1`
    this.clients = `${this.#prefix}.0/24`
    ip('link', 'add', this.#name, 'type', 'bridge')
    ip('address', 'add', `${this.address}/24`, 'dev', this.#name)
    ip('link', 'set', this.#name, 'up')
  }

  /** Returns the name of its namespace. */
  add(host: number): string {
    const [namespace, outside] = [this.namespace(host), this.outside(host)]
    ip('netns', 'add', namespace)
    this.#hosts.add(host)
    ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
    ip('link', 'set', outside, 'master', this.#name, 'up')
    ip('-n', namespace, 'address', 'add', `${this.#prefix}.${host + 10}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) ip('-n', namespace, 'link', 'set', device, 'up')
    return namespace
  }

  /** No packet passes between the host and the server, and neither of them gets an error. */
  cut(host: number): void {
    ip('link', 'set', this.outside(host), 'down')
  }

  /** The packets of the host arrive, and the answers do not. */
  loseAnswers(host: number): void {
    const rules =
      'add table inet lab; add chain inet lab in { type filter hook input priority 0; policy drop; }'
    execFileSync('ip', ['netns', 'exec', this.namespace(host), 'nft', rules])
  }

  mend(host: number): void {
    ip('link', 'set', this.outside(host), 'up')
    spawnSync('ip', ['netns', 'exec', this.namespace(host), 'nft', 'delete table inet lab'])
  }

  close(): void {
    for (const host of this.#hosts) ip('netns', 'delete', this.namespace(host))
    ip('link', 'delete', this.#name)
  }

  private namespace(host: number): string {
    return `${this.#name}-${host}`
  }

  private outside(host: number): string {
    return `${this.#name}v${host}`
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
