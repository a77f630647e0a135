/** Units and cron lines. test/servers/units.test.ts has systemd and cron check them. */
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../src/errors.js'
import { cronLines, SYSTEMD_UNITS, systemdUnit, type UnitFacts } from '../../src/operations/units.js'

const FACTS: UnitFacts = {
  node: '/usr/bin/node',
  program: '/home/me/.local/bin/substrat',
  environment: { HOME: '/home/me', PATH: '/usr/bin:/bin' },
  environmentFile: '/home/me/.config/substrat/environment',
}

const ODD = `/a b/50%h/$HOME/"q"/it's`

describe('the units of systemd', () => {
  test('recover at boot, and deliver each minute', () => {
    expect(SYSTEMD_UNITS.map((unit) => systemdUnit(unit, FACTS)).join('')).toMatchInlineSnapshot(`
      "[Unit]
      Description=substrat: repair all agents and continue their turns

      [Service]
      Type=oneshot
      SuccessExitStatus=4 5 6 7
      Environment=HOME=/home/me
      Environment=PATH=/usr/bin:/bin
      EnvironmentFile=-/home/me/.config/substrat/environment
      ExecStart=/usr/bin/node /home/me/.local/bin/substrat recover --all
      ExecStart=/usr/bin/node /home/me/.local/bin/substrat check --all
      KillMode=process

      [Install]
      WantedBy=default.target

      [Unit]
      Description=substrat: deliver pending mail and continue interrupted turns

      [Service]
      Type=oneshot
      SuccessExitStatus=4 5 6 7
      Environment=HOME=/home/me
      Environment=PATH=/usr/bin:/bin
      EnvironmentFile=-/home/me/.config/substrat/environment
      ExecStart=/usr/bin/node /home/me/.local/bin/substrat deliver --all
      KillMode=process

      [Unit]
      Description=substrat: deliver each minute

      [Timer]
      OnCalendar=minutely
      AccuracySec=10s

      [Install]
      WantedBy=timers.target

      [Unit]
      Description=substrat: the channel %i

      [Service]
      Type=exec
      Restart=on-failure
      RestartSec=10s
      RestartPreventExitStatus=2
      Environment=HOME=/home/me
      Environment=PATH=/usr/bin:/bin
      EnvironmentFile=-/home/me/.config/substrat/environment
      ExecStart=/usr/bin/node /home/me/.local/bin/substrat channel run %i
      KillMode=process

      [Install]
      WantedBy=default.target

      "
    `)
  })

  test('quote each path with special characters', () => {
    const odd = {
      node: `${ODD}/node`,
      program: ODD,
      environment: { SUBSTRAT_HOME: ODD },
      environmentFile: ODD,
    }
    const unit = systemdUnit('substrat-deliver.service', odd)
    const path = String.raw`/a b/50%%h/$$HOME/\"q\"/it's`
    expect(unit).toContain(`\nEnvironment="SUBSTRAT_HOME=${path.replace('$$', '$')}"\n`)
    expect(unit).toContain(`\nExecStart=/usr/bin/env "${path}/node" "${path}" deliver --all\n`)
    expect(unit).toContain(`\nEnvironmentFile=-/a b/50%%h/$HOME/"q"/it's\n`)
  })

  test('start an executable directly if its path has no quotes', () => {
    const unit = systemdUnit('substrat-deliver.service', { ...FACTS, node: '/a b/50%/$HOME/node' })
    expect(unit).toContain(`\nExecStart="/a b/50%%/$HOME/node" `)
  })

  test('quote a backslash', () => {
    const unit = systemdUnit('substrat-recover.service', { ...FACTS, program: '/a\\b' })
    expect(unit).toContain(String.raw`node "/a\\b" recover`)
  })
})

describe('the lines of cron', () => {
  test('recover at boot, and deliver each minute', () => {
    expect(cronLines(FACTS)).toMatchInlineSnapshot(`
      "@reboot HOME=/home/me PATH=/usr/bin:/bin /usr/bin/node /home/me/.local/bin/substrat recover --all
      @reboot HOME=/home/me PATH=/usr/bin:/bin /usr/bin/node /home/me/.local/bin/substrat check --all >/dev/null
      * * * * * HOME=/home/me PATH=/usr/bin:/bin /usr/bin/node /home/me/.local/bin/substrat deliver --all
      "
    `)
  })

  test('quote each path with special characters', () => {
    const lines = cronLines({ ...FACTS, program: ODD, environment: { SUBSTRAT_HOME: ODD } })
    const path = String.raw`'/a b/50\%h/$HOME/"q"/it'\''s'`
    expect(lines).toContain(`\n* * * * * SUBSTRAT_HOME=${path} /usr/bin/node ${path} deliver --all\n`)
  })

  test.each([
    ['a backslash', '/a\\b', /cannot have a path with a backslash/],
    ['a line break', '/a\nb', /a crontab cannot have a control character: "\/a\\nb"/],
    ['too many bytes', `/${'x'.repeat(1000)}`, /a line of a crontab can have 998 bytes/],
  ])('refuse a path with %s', (_, program, message) => {
    expect(() => cronLines({ ...FACTS, program })).toThrow(message)
    expect(() => cronLines({ ...FACTS, program })).toThrow(SubstratError)
  })
})
