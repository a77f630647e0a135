/** A Prometheus server that scrapes `/metrics`. */
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { freePort } from '../support/ports.js'
import { waitFor } from '../support/wait.js'

const isHere = spawnSync('prometheus', ['--version']).status === 0
if (!isHere) console.warn('skipped: a scrape by Prometheus, because prometheus is not here')

test.skipIf(!isHere)('Prometheus scrapes the metrics with the token from its file', async () => {
  const house = new House()
  await house.spawn('a')
  await house.ok('send', 'a', 'hi')
  const served = await Served.start(house)
  const token = path.join(house.root, 'token')
  writeFileSync(token, served.token)
  const config = path.join(house.root, 'prometheus.yml')
  writeFileSync(
    config,
    `scrape_configs:
  - job_name: substrat
    scrape_interval: 1s
    authorization: { credentials_file: ${token} }
    static_configs: [{ targets: ['127.0.0.1:${served.port}'] }]
`,
  )
  const port = freePort()
  const server = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${path.join(house.root, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  onTestFinished(async () => {
    server.kill('SIGKILL')
    await waitFor(() => server.exitCode !== null || server.signalCode !== null, 'the end of Prometheus')
  })
  const query = async (expression: string): Promise<string | undefined> => {
    try {
      const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`
      const { data } = (await (await fetch(url)).json()) as {
        data: { result: { value: [number, string] }[] }
      }
      return data.result[0]?.value[1]
    } catch {
      return undefined
    }
  }
  await waitFor(async () => (await query('up{job="substrat"}')) === '1', 'a scrape')
  expect(await query('substrat_turns_total{outcome="completed"}')).toBe('1')
  expect(await query('substrat_agents{status="idle"}')).toBe('1')
  await house.ok('send', 'a', 'again')
  await waitFor(
    async () => (await query('substrat_turns_total{outcome="completed"}')) === '2',
    'the next turn in Prometheus',
  )
  expect(await query('count({__name__="substrat_fsync_seconds_bucket"})')).toBe('17')
  await served.stop()
})
