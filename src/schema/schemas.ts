/** The schemas that the package ships as JSON Schemas, by name (`substrat schema`). */
import { z } from 'zod'
import { bundle } from './bundle.js'
import { config, plugin } from './config.js'
import { goneHost, holder, home, nameEntry, records, removedAgent, serverFile } from './files.js'
import { message } from './mail.js'
import { failed, OUTPUTS, streamed } from './outputs.js'
import { snapshot } from './snapshot.js'
import { framed } from './types.js'

const FILES = {
  bundle,
  config,
  'gone-host': framed(goneHost),
  home: framed(home),
  lock: holder,
  message: framed(message),
  name: framed(nameEntry),
  plugin,
  'removed-agent': framed(removedAgent),
  record: z.union(records.map((record) => framed(record))).describe('A line of `events.jsonl`.'),
  server: framed(serverFile),
  snapshot: snapshot.describe('`session.json`.'),
}

const ofCommands = Object.entries(OUTPUTS).map(([command, schema]) => [
  `output-${command.replaceAll(' ', '-')}`,
  schema,
])

export const SCHEMAS: Record<string, z.ZodType> = {
  ...FILES,
  ...Object.fromEntries(ofCommands),
  'output-error': failed,
  'output-stream': streamed,
}
