/**
 * The home to damage: small, with an example of each kind of file. A seed always produces the same bytes, except for
 * process ids.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clock } from '../../src/clock.js'
import { limits } from '../../src/limits.js'
import { Random } from '../../test/support/random.js'
import type { Image } from '../machine/image.js'
import type { MachineLab } from '../machine/lab.js'
import { randomBy } from '../machine/patches.js'

export interface DamagedHome {
  /** The seed of its ids. */
  seed: number
  image: Image
  /** The home one turn earlier. */
  earlier: Image
  /** Every file that can be damaged: its name here, and its name within the image. */
  files: Map<string, string>
}

export const SEED = 6
/** Two agents whose logs have the same shape: each record of one is at the offset that the other's snapshot says. */
export const TWINS = ['t1', 't2'] as const
const BEGAN = Date.parse('2026-11-20T10:00:00.000Z')
/** More keys than the state holds: only the key index has the first one, which is sent again. */
const KEYS = ['k', 'k2', 'k3', 'k4']
const KEYS_IN_STATE_MAX = 2
const LARGE = 'large '.repeat(12_000)

export async function makeHome(lab: MachineLab, seed: number = SEED): Promise<DamagedHome> {
  const chance = new Random(seed)
  randomBy(() => chance.next())
  let ticks = 0
  clock.now = () => BEGAN + 10 * ticks++
  const responses = [
    {},
    { say: 'I look', tools: [{ name: 'shell', input: { command: 'echo looked' } }] },
    { tools: [{ name: 'send_message', input: { to: 'kid', content: 'a question' } }] },
    { say: 'all done' },
    { say: 'read' },
    { say: 'may I?', tools: [{ name: 'shell', input: { command: 'echo asked' } }] },
    { say: 'thanks' },
  ]
  writeFileSync(join(lab.workspace, 'a.json'), JSON.stringify({ responses }))
  await lab.do('spawn', '--name', 'a', '--option', 'scenario=a.json', '--system', 'be brief')
  // The same format as `config set`.
  writeFileSync(join(lab.home, 'config.json'), `${JSON.stringify({ slots_max: 3 }, null, 2)}\n`, {
    mode: 0o600,
  })
  await lab.do('spawn', '--parent', 'a', '--name', 'kid', '--provider', 'scripted')
  await lab.do('spawn', '--name', 'b')
  Object.assign(limits, { keysInStateMax: KEYS_IN_STATE_MAX, keysLateMax: 1 })
  for (const key of KEYS) await lab.do('send', 'b', '--key', key, 'hello')
  await lab.do('send', 'b', '--queue', 'by mail')
  await lab.do('suspend', 'a/kid', '--hold')
  await lab.do('send', 'a', 'first')
  await lab.do('send', 'a', '--allow', 'all', 'work')
  await lab.do('send', 'a', LARGE)
  await lab.do('recover', '--all')
  const earlier = lab.image()
  await lab.run(['send', 'a', 'ask me'])
  await lab.do('send', 'b', '--key', 'late', 'hello')
  for (const name of TWINS) await lab.do('spawn', '--name', name)
  for (const name of TWINS) await lab.do('send', name, 'hello')
  const image = lab.image()
  // From now on every command runs at the same time, so its answer is always the same.
  clock.now = () => BEGAN + 60_000
  return { seed, image, earlier, files: namesIn(image) }
}

/** Names files by their content, since their real names are ids. */
function namesIn(image: Image): Map<string, string> {
  const files = new Map<string, string>()
  const ids = new Map<string, string>()
  for (const [name, bytes] of image.entries) {
    const [, id] = /agents\/([^/]+)\/session\.json$/.exec(name) ?? []
    if (id !== undefined && bytes !== null)
      ids.set(id, (JSON.parse(bytes.toString('utf8')) as { name: string }).name)
  }
  for (const [name, bytes] of image.entries) {
    if (bytes === null || !name.startsWith('home/')) continue
    const label = name
      .slice('home/'.length)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => ids.get(id) ?? 'id')
      .replaceAll(/[0-9a-f]{64}/g, 'hash')
    files.set(uniqueIn(files, label), name)
  }
  return files
}

function uniqueIn(files: Map<string, string>, label: string): string {
  for (let n = 1; ; n++) {
    const unique = n === 1 ? label : `${label}#${n}`
    if (!files.has(unique)) return unique
  }
}
