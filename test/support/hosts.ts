/**
 * Several machines over one home: each command runs in a mount namespace with its own machine-id, kernel boot id, uptime and
 * host name. They share the pids, so a command of one host could signal the processes of another.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { House, Result, Running, RunOptions } from './cli.js'

const BIND = `
mount --bind "$1/machine-id" /etc/machine-id &&
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id &&
{ [ ! -e "$1/uptime" ] || mount --bind "$1/uptime" /proc/uptime; } &&
hostname "$2" && shift 2 && exec "$@"`

const NAMESPACE = ['unshare', '-m', '-u', 'sh', '-c'] as const
const TRIAL = 'mount --bind /proc/version /etc/machine-id && hostname substrat-test'

export const hasHosts = spawnSync(NAMESPACE[0], [...NAMESPACE.slice(1), TRIAL]).status === 0
if (!hasHosts) console.log('skipped: this machine has no unshare -m for this user, or no /etc/machine-id')

/**
 * The identity of a machine: files that replace those of this one in a mount namespace. Its uptime stands still, unless its clock
 * runs: then it has the uptime of this machine.
 */
export class Machine {
  private readonly directory: string

  /** `root`: where its files are made. */
  constructor(
    root: string,
    readonly name: string,
    machineId = randomUUID().replaceAll('-', ''),
    clock: 'still' | 'running' = 'still',
  ) {
    this.directory = join(root, `host-${name}-${randomUUID()}`)
    mkdirSync(this.directory)
    this.write('machine-id', machineId)
    if (clock === 'still') this.boot(3600)
    else this.write('boot_id', randomUUID())
  }

  /** The host has restarted, and runs for that many seconds. */
  boot(uptimeSeconds: number): void {
    this.write('boot_id', randomUUID())
    this.write('uptime', `${uptimeSeconds}.00 1.00`)
  }

  /** The command that runs another one on this machine. */
  command(argv: string[]): [string, ...string[]] {
    return [...NAMESPACE, BIND, 'sh', this.directory, this.name, ...argv]
  }

  private write(file: string, text: string): void {
    writeFileSync(join(this.directory, file), `${text}\n`)
  }
}

export class Host extends Machine {
  constructor(
    private readonly house: House,
    name: string,
    machineId?: string,
  ) {
    super(house.root, name, machineId)
  }

  start(...args: string[]): Running {
    return this.launch(args)
  }

  launch(args: string[], options: RunOptions = {}): Running {
    return this.house.launch(this.command(this.house.command(...args)), options)
  }

  run(...args: string[]): Promise<Result> {
    return this.start(...args).result
  }
}
