/** Agent programs with endless or binary output. The turn must fail or have its reply, and leave no process. */
import type { Lab } from '../support/lab.js'
import type { Findings } from './finding.js'

const KIND = 'hostile program'

interface Program {
  name: string
  command: string
  /** Exit statuses of `send`. */
  codes: number[]
  flags?: string[]
}

const MEGABYTES_10 = 10 * 1024 * 1024

const PROGRAMS: Program[] = [
  { name: 'endless lines', command: 'yes', codes: [9] },
  { name: 'an endless line', command: "tr '\\0' x </dev/zero", codes: [9] },
  { name: 'endless binary output', command: 'cat /dev/urandom', codes: [9] },
  {
    name: 'endless stderr',
    command: 'yes >&2',
    codes: [12],
    flags: ['--turn-timeout', '2s'],
  },
  { name: 'one line of 10 MB', command: `head -c ${MEGABYTES_10} /dev/zero | tr '\\0' x`, codes: [0] },
  { name: 'one byte more', command: `head -c ${MEGABYTES_10 + 1} /dev/zero | tr '\\0' x`, codes: [9] },
  { name: '9 MB of NULs', command: 'head -c 9000000 /dev/zero', codes: [0] },
  { name: 'JSON of 100,000 levels', command: "head -c 100000 /dev/zero | tr '\\0' '['", codes: [0] },
  { name: 'a background process that holds the output open', command: 'echo done; sleep 600 &', codes: [0] },
  { name: 'a program that does not read its prompt', command: 'exec <&-; echo done', codes: [0] },
]

export async function runHostilePrograms(lab: Lab, findings: Findings): Promise<void> {
  const home = lab.newHome()
  let count = 0
  for (const { name, command, codes, flags = [] } of PROGRAMS) {
    if (!findings.begin(KIND, name)) continue
    count += 1
    const agent = `p${count}`
    const id = await lab.do(
      home,
      'spawn',
      '--name',
      agent,
      '--provider',
      'exec',
      '--option',
      `command=${command}`,
    )
    const argv = ['send', agent, 'hello', '--json', ...flags]
    const sent = await lab.run(home, argv)
    const say = (what: string): void => findings.add(KIND, name, argv, what)
    if (!codes.includes(sent.code as number)) say(`exit ${sent.code}: ${sent.stderr.slice(0, 300)}`)
    if (sent.code === 0) JSON.parse(sent.stdout)
    if (sent.stderr.length > 20_000) say(`it repeats ${sent.stderr.length} bytes on stderr`)
    const left = await lab.run(home, ['list'], { under: ['sh', '-c', LEFT, id] })
    if (left.stdout.trim() !== '') say(`it leaves running: ${left.stdout}`)
    const doctor = await lab.run(home, ['doctor', '--all'])
    if (doctor.code !== 0) say(`doctor: ${doctor.stdout}`)
  }
}

/** Finds the processes with the agent's id in their environment. The agent's own command does not run. */
const LEFT = `grep -lz "^SUBSTRAT_AGENT=$0" /proc/[0-9]*/environ 2>/dev/null; true`
