/** The module that oclif loads for the command `store init`, and for no other. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { Command } from '@oclif/core/command'
import type * as reading from 'substrat/reading'
import { applicationName } from './application-name.js'
import { connectTo } from './connection.js'
import { makeSchema } from './init.js'
import { assertSafe } from './security.js'

type Core = typeof reading

class StoreInit extends Command {
  static override summary = 'Create the home in the database that SUBSTRAT_HOME names, or migrate it.'
  static override description =
    'Creates the schema substrat with its tables and functions in one transaction, or replaces the functions by those of this version. Refuses a newer schema. Needs a role that may create a schema; other roles need only EXECUTE on its functions.'
  static override examples = ['SUBSTRAT_HOME=postgres:///substrat <%= config.bin %> store init']

  async run(): Promise<void> {
    // From the substrat that runs this plugin: its errors and exit statuses.
    const file = path.join(this.config.root, 'dist', 'reading.cjs')
    const core = createRequire(file)(file) as Core
    await this.parse(StoreInit)
    try {
      const { url, password } = core.homeUrl()
      if (url === undefined) {
        throw new core.SubstratError('USAGE', 'SUBSTRAT_HOME does not name a database', {
          hint: 'set it, such as SUBSTRAT_HOME=postgres://USER@HOST/DATABASE',
        })
      }
      assertSafe(core, url)
      process.stdout.write(`${await init(core, url, password ?? process.env.PGPASSWORD)}\n`)
    } catch (error) {
      const shown = error instanceof core.SubstratError ? error : unusable(core, error as Error)
      core.stderr.line(core.errorLine(shown))
      this.exit(shown.exitStatus)
    }
  }
}

async function init(core: Core, url: string, password: string | undefined): Promise<string> {
  const client = await connectTo({ url, password, applicationName: applicationName() })
  try {
    const made = await makeSchema(client, core.FORMAT)
    if ('newer' in made) {
      throw new core.SubstratError('UNKNOWN_FORMAT', `the home at ${url} has schema version ${made.newer}`, {
        hint: 'install the version of substrat-store-postgres that made it, or a newer one',
      })
    }
    if ('encoding' in made) {
      throw new core.SubstratError(
        'HOME_UNUSABLE',
        `the database at ${url} has the encoding ${made.encoding}`,
        {
          hint: 'create one with UTF8: createdb --encoding UTF8 --template template0 NAME',
        },
      )
    }
    const { version, before, homeId } = made
    if (before === 0) return `created the home ${homeId}, schema version ${version}`
    return before === version
      ? `the home ${homeId} already has schema version ${version}; its functions were replaced`
      : `migrated the home ${homeId} from schema version ${before} to ${version}`
  } finally {
    await client.end().catch(() => undefined)
  }
}

function unusable(core: Core, { message }: Error) {
  return new core.SubstratError('HOME_UNUSABLE', `cannot make the home: ${message}`, {
    hint: 'check the URL in SUBSTRAT_HOME, and that the role may create a schema in the database',
  })
}

export default { COMMANDS: { 'store:init': StoreInit } }
