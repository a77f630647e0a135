/** `units`: the systemd units and the cron lines that recover and check at boot and deliver each minute, and the unit that runs a channel. */
import { SubstratError, shellWord } from '../errors.js'

export const SYSTEMD_UNITS = [
  'substrat-recover.service',
  'substrat-deliver.service',
  'substrat-deliver.timer',
  'substrat-channel@.service',
] as const
export type SystemdUnit = (typeof SYSTEMD_UNITS)[number]

/** The command that the units run, and the environment that it needs. Paths are absolute. */
export interface UnitFacts {
  node: string
  program: string
  environment: Record<string, string>
  /** A file with further variables, such as API keys. It may be missing. */
  environmentFile: string
}

/** The next run repairs or continues what these leave: busy, waiting for a person, interrupted, rate limited. */
const EXPECTED_STATUSES = [4, 5, 6, 7]

export function systemdUnit(unit: SystemdUnit, facts: UnitFacts): string {
  return UNITS[unit](facts)
}

const UNITS: Record<SystemdUnit, (facts: UnitFacts) => string> = {
  'substrat-recover.service': (facts) =>
    service('substrat: repair all agents and continue their turns', ['recover', 'check'], facts) +
    section('Install', ['WantedBy=default.target']),
  'substrat-deliver.service': (facts) =>
    service('substrat: deliver pending mail and continue interrupted turns', ['deliver'], facts),
  'substrat-deliver.timer': () =>
    section('Unit', ['Description=substrat: deliver each minute']) +
    section('Timer', ['OnCalendar=minutely', 'AccuracySec=10s']) +
    section('Install', ['WantedBy=timers.target']),
  // The instance is the name of the channel: substrat-channel@chat.service.
  'substrat-channel@.service': (facts) =>
    unitOf('substrat: the channel %i', ['channel run %i'], RESTARTED, facts) +
    section('Install', ['WantedBy=default.target']),
}

/** It ends with 0 only when it is stopped. A usage error would only repeat itself. */
const RESTARTED = ['Type=exec', 'Restart=on-failure', 'RestartSec=10s', 'RestartPreventExitStatus=2']

/** The commands run in turn. One that fails ends the unit. */
function service(description: string, commands: string[], facts: UnitFacts): string {
  const success = `SuccessExitStatus=${EXPECTED_STATUSES.join(' ')}`
  const all = commands.map((command) => `${command} --all`)
  return unitOf(description, all, ['Type=oneshot', success], facts)
}

/** `commands`: words that need no quotes. */
function unitOf(description: string, commands: string[], how: string[], facts: UnitFacts): string {
  const { node, program, environment, environmentFile } = facts
  return (
    section('Unit', [`Description=${description}`]) +
    section('Service', [
      ...how,
      ...Object.entries(environment).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
      // Not quoted: systemd takes the rest of the line as the path.
      `EnvironmentFile=-${withoutSpecifiers(environmentFile)}`,
      ...commands.map((command) => `ExecStart=${executable(node)} ${argument(program)} ${command}`),
      // substrat ends the programs of a turn itself. A kept server outlives its command.
      'KillMode=process',
    ])
  )
}

function section(name: string, lines: string[]): string {
  return `[${name}]\n${lines.join('\n')}\n\n`
}

/** systemd replaces variables in the arguments, but not in the path of the executable. */
function argument(word: string): string {
  return quoted(word.replaceAll('$', '$$$$'))
}

/** systemd refuses an executable whose path has a quote or a backslash. env(1) is started instead, and starts it. */
function executable(path: string): string {
  return /['"\\]/.test(path) ? `/usr/bin/env ${argument(path)}` : quoted(path)
}

function quoted(word: string): string {
  const escaped = withoutSpecifiers(word).replace(/[\\"]/g, '\\$&')
  return /^[\w./:=@%$+-]+$/.test(word) && escaped.length > 0 ? escaped : `"${escaped}"`
}

function withoutSpecifiers(text: string): string {
  refuseControls(text, 'a systemd unit')
  return text.replaceAll('%', '%%')
}

/** The limit of the cron of Debian, which most others share. */
const CRON_LINE_BYTES_MAX = 998

/** Lines for the end of a crontab: the environment is part of each line, so that other lines keep theirs. */
export function cronLines({ node, program, environment }: UnitFacts): string {
  const assigned = Object.entries(environment).map(([name, value]) => `${name}=${cronWord(value)}`)
  const line = (when: string, command: string): string =>
    fitting(`${when} ${[...assigned, cronWord(node), cronWord(program), command].join(' ')}\n`)
  return (
    line('@reboot', 'recover --all') +
    // Cron mails what a job prints: only agents that could not run.
    line('@reboot', 'check --all >/dev/null') +
    line('* * * * *', 'deliver --all')
  )
}

function fitting(line: string): string {
  if (Buffer.byteLength(line) <= CRON_LINE_BYTES_MAX) return line
  throw new SubstratError(
    'USAGE',
    `a line of a crontab can have ${CRON_LINE_BYTES_MAX} bytes, and this one has ${Buffer.byteLength(line)}`,
    {
      hint: 'shorten your PATH: PATH=/usr/local/bin:/usr/bin:/bin substrat units cron',
    },
  )
}

/** Cron ends a command at `%` and reads `\%` as `%`. Crons differ in what they do with other backslashes. */
function cronWord(text: string): string {
  refuseControls(text, 'a crontab')
  if (text.includes('\\'))
    throw new SubstratError('USAGE', `a crontab cannot have a path with a backslash: ${text}`, {
      hint: 'use systemd instead: substrat units systemd',
    })
  return shellWord(text).replaceAll('%', '\\%')
}

function refuseControls(text: string, where: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the refused ones
  if (!/[\u0000-\u001f\u007f]/.test(text)) return
  throw new SubstratError('USAGE', `${where} cannot have a control character: ${JSON.stringify(text)}`, {
    hint: 'move substrat or its home to a path without control characters',
  })
}
