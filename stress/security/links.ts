/**
 * Replaces each name of a home by a link to a place outside. No command may change or print anything there, crash, or
 * hang.
 */
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownIdentity } from '../../src/host/identity.js'
import { makeHome } from '../damage/home.js'
import type { MachineLab } from '../machine/lab.js'
import { Decoy } from './decoy.js'
import { type Findings, runConfined } from './finding.js'

const KIND = 'link in the home'

const COMMANDS = [
  ['show', 'a', '--json'],
  ['show', 'b'],
  ['list', '--all', '--json'],
  ['tree'],
  ['log', 'a'],
  ['log', 'b', '--json'],
  ['inbox'],
  ['inbox', 'a/kid'],
  ['doctor', '--all', '--json'],
  ['send', 'a', '--if-waiting', 'supersede', 'something else'],
  ['send', 'b', '--key', 'new', 'something new'],
  ['send', 'b', '--queue', 'for later'],
  ['recover', '--all'],
  ['deliver', '--all'],
  ['approve', 'a'],
  ['cancel', 'a'],
  ['suspend', 'b'],
  ['resume', 'a/kid'],
  ['spawn', '--name', 'new', 'a prompt'],
  ['spawn', '--name', 'below', '--parent', 'a'],
  ['set', 'b', '--model', 'm'],
  ['fork', 'b', '--name', 'forked'],
  ['doctor', '--all', '--rebuild'],
  ['config', 'set', 'slots_max', '2'],
  ['terminate', 'a', '--recursive'],
  ['inbox', '--take'],
  ['prune', '--older-than', '0s'],
]

/** Places of the format that do not exist in this home yet. */
function emptyPlaces(home: string, agent: string, id: string): string[] {
  return [
    ...['waits', 'cut', 'server.json', 'server.out', 'lock.d', 'lock.new', `${id}.sock`].map((name) =>
      join(agent, name),
    ),
    join(agent, 'requests', `${id}.cancel`),
    join(agent, 'inbox', `${id}.json`),
    join(agent, 'blobs', 'a'.repeat(64)),
    ...['servers', 'operator/taken', `unclean/${id}`, `unclean/${id}.closing`].map((name) =>
      join(home, name),
    ),
    ...['roots/complete', 'roots/lock', `boots/${ownIdentity().kernel_boot_id}`].map((name) =>
      join(home, name),
    ),
    ...[0, 1, 2, 3].map((slot) => join(home, 'slots', 'scripted', String(slot))),
    join(home, 'agents', `.spawn-${id}`),
    join(home, 'agents', `.removed-${id}`),
    join(home, 'agents', id),
  ]
}

const FOREIGN_ID = '11111111-2222-4333-8444-555555555555'

/** `every`: each k-th pair of place and target, with each k-th command. */
export async function plantLinks(lab: MachineLab, findings: Findings, every = 1): Promise<void> {
  const home = await makeHome(lab)
  const decoy = new Decoy()
  try {
    const agents = [...home.files].flatMap(([label, name]) =>
      label.endsWith('session.json') ? [dirname(join(lab.root, name))] : [],
    )
    const standing = [...home.image.entries.keys()].filter((name) => name.startsWith('home/'))
    const places = new Set([
      ...standing.map((name) => join(lab.root, name)),
      ...agents.flatMap((agent) => emptyPlaces(lab.home, agent, FOREIGN_ID)),
    ])
    let turn = 0
    for (const place of places) {
      for (const target of ['copy', 'file', 'directory', 'nothing'] as const) {
        for (const command of COMMANDS) {
          turn += 1
          if (turn % every !== 0) continue
          const name = `${place.slice(lab.root.length + 1)} to ${target}`
          if (!findings.begin(KIND, name)) continue
          lab.restore(home.image)
          decoy.reset()
          if (target === 'copy' && !existsSync(place)) continue
          plant(place, target === 'copy' ? decoy.copyOf(place) : decoy[target])
          await runConfined({ lab, decoy, findings, kind: KIND, name }, command)
        }
      }
    }
    lab.restore(home.image)
  } finally {
    decoy.close()
  }
}

function plant(place: string, target: string): void {
  rmSync(place, { recursive: true, force: true })
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
  symlinkSync(target, place)
}
