import path from 'node:path'
import { Command } from '@oclif/core/command'
import * as Flags from '@oclif/core/flags'
import { type Core, commandOf, loadCore } from '../../shared/src/face/core.js'
import { DEFAULT_LISTEN } from './address.js'
import { codedError } from './problem.js'
import { pageLink, runServer } from './run.js'
import { StartError } from './start-error.js'

export class Serve extends Command {
  static override summary = 'Serve the agents over HTTP, for programs and dashboards on this machine.'
  static override description =
    'First marks interrupted turns, as recover --all --continue none does. The server keeps no state: you can kill it at any time. Turns that a client started run in processes of their own and continue. The API is described by /v1/openapi.json.'
  static override examples = [
    '<%= config.bin %> serve',
    '<%= config.bin %> serve --listen unix:/run/user/1000/substrat.sock',
  ]
  static override flags = {
    listen: Flags.string({
      default: DEFAULT_LISTEN,
      helpValue: 'IP:PORT|unix:PATH|fd:3',
      description: 'address or unix socket to listen on, or the socket that systemd passes on',
    }),
    'tls-cert': Flags.string({
      helpValue: 'FILE',
      dependsOn: ['tls-key'],
      description: 'certificate in PEM: serve HTTPS; an address that other machines can reach needs it',
    }),
    'tls-key': Flags.string({
      helpValue: 'FILE',
      dependsOn: ['tls-cert'],
      description: 'private key of the certificate in PEM',
    }),
    insecure: Flags.boolean({
      description:
        'allow an address that other machines can reach without TLS: the token can be read on the way',
    }),
    'allow-host': Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
      description: 'also accept requests for this host name; repeatable; default: only the address itself',
    }),
    'read-only': Flags.boolean({
      default: false,
      description: 'refuse every request that changes something, and do not mark interrupted turns first',
    }),
    'exit-when-idle': Flags.string({
      helpValue: 'DURATION',
      description: 'end after so long without requests, streams and commands, such as 5m; default: never',
    }),
    'new-token': Flags.boolean({
      description: 'replace the token; default: keep the token of the last start',
    }),
    'print-link': Flags.boolean({
      exclusive: ['new-token', 'read-only', 'exit-when-idle'],
      description: 'print the link of the page, which has the token, and start no server',
    }),
  }

  async run(): Promise<void> {
    const core = loadCore(this.config)
    try {
      const home = core.homeAddress(() =>
        core.withOfficial(
          { root: this.config.root, copies: path.join(this.config.dataDir, 'providers') },
          this.config.plugins.values() as never,
        ),
      )
      const { flags } = await this.parse(Serve)
      if (core.callingAgent(home, () => core.openHome(home)) !== null)
        throw new StartError('TREE_RULES', 'an agent may not start a server', 'run it outside of an agent')
      const place = {
        core,
        home,
        listen: flags.listen,
        security: {
          tlsCert: flags['tls-cert'],
          tlsKey: flags['tls-key'],
          isInsecure: flags.insecure,
        },
      }
      if (flags['print-link']) return void process.stdout.write(`${pageLink(place)}\n`)
      await runServer({
        ...place,
        command: commandOf(this.config),
        version: this.config.version,
        page: path.join(__dirname, 'page'),
        allowedHosts: flags['allow-host'] ?? [],
        isReadOnly: flags['read-only'],
        isTokenNew: flags['new-token'],
        idleMs: durationOf(core, flags['exit-when-idle']),
      })
    } catch (error) {
      this.fail(core, error)
    }
  }

  private fail(core: ReturnType<typeof loadCore>, error: unknown): void {
    // oclif reports its own errors of flags and help.
    if ('oclif' in Object(error)) throw error
    const { code, message, hint } = asStartError(error)
    const known = Object.hasOwn(core.EXIT_STATUS, code)
      ? (code as keyof typeof core.EXIT_STATUS)
      : 'UNEXPECTED'
    const shown = new core.SubstratError(known, message, hint == null ? {} : { hint })
    core.stderr.line(core.errorLine(shown))
    if (process.env.DEBUG) process.stderr.write(`${(Object(error) as Error).stack}\n`)
    this.exit(shown.exitStatus)
  }
}

function durationOf(core: Core, text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : core.parseDuration(text)
  if (text === undefined || (ms !== undefined && ms > 0)) return ms
  throw new StartError(
    'USAGE',
    `--exit-when-idle ${JSON.stringify(text)} is not a duration`,
    'write it as 30s, 5m or 2h',
  )
}

function asStartError(error: unknown): { code: string; message: string; hint?: string | null | undefined } {
  const { code, message, syscall } = Object(error) as NodeJS.ErrnoException
  if (syscall === 'listen')
    return {
      code: 'USAGE',
      message: `cannot listen: ${message}`,
      hint:
        code === 'EADDRINUSE'
          ? 'end the other server, or choose another address: --listen'
          : 'choose another address: --listen',
    }
  return codedError(error)
}
