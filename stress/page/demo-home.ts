/** A home with an agent in each state that the page shows, and a server of it. Every state comes from real commands. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'

const repository = path.dirname(createRequire(import.meta.url).resolve('substrat/package.json'))
const RUN_JS = path.join(repository, 'bin', 'run.js')

export class DemoHome {
  readonly root = mkdtempSync(path.join(tmpdir(), 'substrat-page-'))
  readonly workspace = path.join(this.root, 'shop')
  readonly environment: NodeJS.ProcessEnv
  /** The process id of the latest server. */
  serverPid = 0
  private readonly children: ChildProcess[] = []

  /** `home`: one that exists; by default a new one. */
  constructor(home?: string) {
    const plugins = path.join(this.root, 'data', 'substrat')
    for (const folder of [this.workspace, plugins]) mkdirSync(folder, { recursive: true })
    const plugin = { name: 'substrat-serve', type: 'link', root: path.join(repository, 'plugins', 'serve') }
    writeFileSync(
      path.join(plugins, 'package.json'),
      JSON.stringify({ oclif: { schema: 1, plugins: [plugin] } }),
    )
    this.environment = {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      HOME: this.root,
      SUBSTRAT_HOME: home ?? path.join(this.root, 'home'),
      SUBSTRAT_PROVIDER: 'scripted',
      XDG_CACHE_HOME: path.join(this.root, 'cache'),
      XDG_CONFIG_HOME: path.join(this.root, 'config'),
      XDG_DATA_HOME: path.join(this.root, 'data'),
      XDG_STATE_HOME: path.join(this.root, 'state'),
    }
  }

  run(...args: string[]): string {
    const { stdout } = spawnSync(process.execPath, [RUN_JS, ...args], {
      cwd: this.workspace,
      env: this.environment,
      encoding: 'utf8',
    })
    return stdout.trim()
  }

  /** Starts a command that runs on. */
  start(...args: string[]): ChildProcess {
    const child = spawn(process.execPath, [RUN_JS, ...args], {
      cwd: this.workspace,
      env: this.environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.children.push(child)
    return child
  }

  /** An agent whose model answers from the list. Returns its id. */
  agent(name: string, responses: object[], ...flags: string[]): string {
    const file = `.${name}.json`
    writeFileSync(path.join(this.workspace, file), JSON.stringify({ responses }))
    return this.run('spawn', '--name', name, '-o', `scenario=${file}`, ...flags)
  }

  write(name: string, text = ''): void {
    writeFileSync(path.join(this.workspace, name), text)
  }

  /** The link with the token. */
  async serve(...args: string[]): Promise<string> {
    const server = this.start('serve', '--listen', '127.0.0.1:0', ...args)
    this.serverPid = server.pid as number
    let said = ''
    await new Promise<void>((resolve, reject) => {
      server.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (said.includes('the token is in')) resolve()
      })
      server.once('exit', () => reject(new Error(`the server ended: ${said}`)))
    })
    const [, url] = /listening on (\S+)/.exec(said) ?? []
    const folder = path.join(this.root, 'state', 'substrat')
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.token'))
    return `${url}/#token=${readFileSync(path.join(folder, file), 'utf8').trim()}`
  }

  close(): void {
    for (const child of this.children) child.kill('SIGKILL')
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

const shell = (command: string): object => ({ name: 'shell', input: { command } })

export async function fillHome(home: DemoHome): Promise<void> {
  home.write('package.json', JSON.stringify({ name: 'shop', scripts: { test: 'echo 212 tests passed' } }))
  execFileSync('git', ['init', '-q'], { cwd: home.workspace })
  home.agent(
    'release',
    [
      {
        items: [
          { type: 'thinking', thinking: 'The tests come first. Then the changelog must name the version.' },
        ],
        tools: [shell('npm test'), shell('git status --short')],
      },
      { delay_ms: 700, tools: [shell('git tag v1.4.0 && git push origin v1.4.0')] },
      { say: 'Version 1.4.0 is tagged and pushed.' },
    ],
    '--allow',
    'tree',
  )
  home.run('send', 'release', 'Release version 1.4.0. Run the tests first.')
  home.run('approve', 'release')
  home.agent('import-orders', [
    {
      tools: [
        {
          name: 'ask_operator',
          input: {
            question: 'Two orders have the same number, 4711. Should I keep the older or the newer one?',
          },
        },
      ],
    },
  ])
  home.run('send', 'import-orders', 'Import the orders of October.')
  home.agent('invoices', [
    {
      say: 'The invoices of September are in `out/september.csv`: 214 of them, and no duplicate number.\n\n```\nnumber,customer,amount\n2026-0901,Aalto,120.00\n2026-0902,Brandt,64.50\n```\nShall I send them?',
    },
    { fail: { type: 'invalid', attempts: 9 } },
  ])
  home.run('send', 'invoices', 'Write the invoices of September.')
  home.run('send', 'invoices', 'Now those of October.')
  home.agent('newsletter', [{ fail: { type: 'rate_limit', retry_after_ms: 4 * 3_600_000, attempts: 9 } }])
  home.run('send', 'newsletter', 'Draft the newsletter.')
  await interrupt(home)
  home.agent('review', [{ say: 'I asked three reviewers.' }], '--allow', 'tree')
  home.run('send', 'review', 'Review the checkout.')
  for (const name of ['security', 'wording', 'speed']) {
    home.agent(name, [{ say: `Nothing to add about ${name}.` }], '--parent', 'review')
    home.run('send', `review/${name}`, 'Read src/checkout.')
  }
  home.agent(
    'deps',
    [{ tools: [shell('npm outdated')] }, { say: 'Two packages are outdated: `zod` and `hono`.' }],
    '--parent',
    'review/security',
    '--allow',
    'shell',
  )
  home.run('send', 'review/security/deps', 'Are the dependencies current?')
  home.agent(
    'backup',
    [
      { tools: [shell('sleep 1; echo copied 512 files')] },
      { pieces: [{ say: 'Half of the files are copied. ' }, { say: 'Done.', after_file: '.go' }] },
    ],
    '--allow',
    'shell',
  )
  home.start('send', 'backup', 'Make the nightly backup.')
  await until(() => home.run('show', 'backup', '--json').includes('"running"'))
}

/** A turn that was killed and continued once, and then killed again. */
async function interrupt(home: DemoHome): Promise<void> {
  const turn = [
    { delay_ms: 400, tools: [shell('sleep 1; wc -l data/*.csv')] },
    { delay_ms: 500, after_file: '.first', tools: [shell('sleep 0.5; sort data/all.csv')] },
    { after_file: '.second', say: 'The report is written.' },
  ]
  home.agent('nightly-report', turn, '--allow', 'shell')
  const send = home.start('send', 'nightly-report', 'Write the nightly report.')
  await until(() => home.run('log', 'nightly-report', '--json').includes('tool.finished'))
  send.kill('SIGKILL')
  await new Promise((resolve) => setTimeout(resolve, 900))
  home.write('.first')
  const resume = home.start('resume', 'nightly-report')
  await until(() => home.run('log', 'nightly-report', '--json').split('tool.finished').length > 2)
  await new Promise((resolve) => setTimeout(resolve, 500))
  resume.kill('SIGKILL')
  home.run('recover', '--all', '--continue', 'none')
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 100))
}
