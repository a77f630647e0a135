import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import { suggestion } from '../src/closest.js'
import { BaseCommand } from '../src/command/base.js'
import { table } from '../src/console/print/table.js'
import { SubstratError } from '../src/errors.js'
import { readUserFile } from '../src/files/user-files.js'
import type { SchemaList } from '../src/schema/output-home.js'

export default class Schema extends BaseCommand {
  static override summary = 'Print the JSON Schema of a file or of the output of a command.'
  static override description =
    'Without SCHEMA, lists the schemas. Those that begin with output- are the shapes of --json. A new version adds fields and removes none.'
  static override examples = [
    '<%= config.bin %> schema',
    '<%= config.bin %> schema record',
    '<%= config.bin %> schema output-send',
  ]
  static override args = {
    schema: Args.string({ description: 'a name from substrat schema', ignoreStdin: true }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Schema)
    const { schemas } = JSON.parse(this.textOf('index')) as SchemaList
    const name = args.schema
    if (name === undefined) {
      const text = table(['NAME', 'DESCRIPTION'], schemas, (schema) => [schema.name, schema.description])
      this.printObject({ schemas }, text)
      return
    }
    const names = schemas.map((schema) => schema.name)
    if (!names.includes(name)) {
      const message = `there is no schema ${JSON.stringify(name.slice(0, 80))}${suggestion(name, names)}`
      throw new SubstratError('USAGE', message, { hint: 'list the schemas: substrat schema' })
    }
    // The package has a limit of its size, so its files have no line breaks.
    this.print(JSON.stringify(JSON.parse(this.textOf(name)), null, 2))
  }

  private textOf(name: string): string {
    return readUserFile(join(this.config.root, 'dist', 'schemas', `${name}.json`))
  }
}
