/** Commands with a mistake in them. A row has the command and the corrected one. */
import { chmodSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../src/limits.js'
import type { House } from '../../test/support/cli.js'
import { modelProvider, writePlugin } from '../../test/support/plugin.js'
import { asking, NOTHING, usage, veteran, WORKS, waiting } from './setups.js'
import type { History } from './walk.js'

/** The file `token` has the token of `a`, and `id` its id. */
const withToken =
  (park: (house: House) => Promise<void>) =>
  async (house: House): Promise<void> => {
    await park(house)
    const { wait } = (await house.ok('token', 'rotate', 'a', '--json')).json
    house.write('token', wait.token)
    house.write('id', wait.token_id)
    house.write('file', 'the result')
  }

/** The file `tools` names a directory with an editor that changes nothing. */
const withEditor = (house: House): void => {
  chmodSync(house.write('vi', '#!/bin/sh\n'), 0o755)
  house.write('tools', house.workspace)
}
const EDITED: Partial<History> = { prepare: withEditor, fill: { KEY: 'slots_max', VALUE: '3' } }

const aPackage = (house: House): void => {
  writePlugin(house.workspace, { name: 'x', providers: { x: modelProvider('') } })
}

/** The turn of `a` waits for a larger budget. */
const overBudget = async (house: House): Promise<void> => {
  await house.spawn('a', '--budget', 'requests=1')
  await house.ok('send', 'a', 'first')
  await house.run(['send', 'a', 'second'])
}

const target = (house: House): Promise<unknown> =>
  house.ok('config', 'set', 'notify', '[{"name": "me", "on": ["failed"], "run": ["true"]}]')

const WORKER = WORKS.map((word) => `'${word}'`).join(' ')

export const USAGE: History[] = [
  usage('an option is unknown', ['spawn --option x=1', 'providers']),
  usage('an option has no value', ['spawn --option x', `spawn --name b ${WORKER}`]),
  usage('a name has a slash', ['spawn --name x/y', 'spawn --name x-y']),
  usage('a message is empty', ["send a ''", 'send a hi']),
  usage('there are too many arguments', ['send a one two', "send a 'one two'"]),
  usage('a key is empty', ["send a x --key ''", 'send a x --key k']),
  usage('a duration has no unit', ['send a x --timeout 5', 'send a x --timeout 5s']),
  usage('a time is none', ['send a x --not-before soon', 'send a x --not-before 10m']),
  usage('a rule is none', ['spawn --on-unknown shell=again', 'spawn --on-unknown shell=rerun']),
  usage('a rule names no tool', [
    'spawn --provider scripted --on-unknown shel=rerun',
    'spawn --provider scripted --on-unknown shell=rerun',
  ]),
  usage('a program has no rules', [
    `spawn ${WORKER} --on-unknown shell=rerun --name b`,
    `spawn ${WORKER} --name b`,
  ]),
  usage('a budget has an unknown unit', ['spawn --budget words=5', 'spawn --budget tokens=5M']),
  usage('a budget counts dollars', ['spawn --budget usd=5', 'spawn --budget tokens=5M']),
  usage('an added amount has a period', ['approve a --add requests=5/day', 'approve a --add requests=5'], {
    prepare: overBudget,
  }),
  usage('a context is none', ['spawn --context last', 'spawn --context last:2']),
  usage('a program keeps its conversation', [
    `spawn ${WORKER} --context last:2 --name b`,
    `spawn ${WORKER} --context turn --name b`,
  ]),
  usage('a list of tools is none', ['set a --allow ,', 'set a --allow all']),
  usage('a tool is unknown', ['spawn --allow nonsense', 'spawn --allow shell']),
  usage('an age is none', ['prune --older-than x', 'prune --older-than 30d']),
  usage('a pattern is none', ["spawn --allow 'shell(a; b)' --name b", "spawn --allow 'shell(a)' --name b"]),
  usage('a program has no patterns', [
    `spawn ${WORKER} --allow 'shell(a)' --name b`,
    `spawn ${WORKER} --allow shell --name b`,
  ]),
  usage('a setting is unknown', ['config get nonsense', 'config list']),
  usage('a flag is unknown', ['send a x --nonsense', 'send a x']),
  usage('a command is unknown', ['purge']),
  usage('nothing is to change', ['set a', 'set a --allow shell']),
  usage('an entry to take back is not there', ['set a --disallow shell', 'set a --allow shell']),
  usage('an entry to take back is of the setting', ['set a --disallow shell', 'set a --allow shell'], {
    prepare: async (house) => {
      await veteran(house)
      await house.ok('config', 'set', 'allow', 'shell')
    },
    fill: { TOOLS: 'none' },
  }),
  usage('cancel names no agent', ['cancel', 'cancel a']),
  usage('cancel names too much', ['cancel a --all', 'cancel a']),
  usage('deliver names too much', ['deliver a --all', 'deliver --all']),
  usage('recover names too much', ['recover a --all', 'recover --all']),
  usage('a workspace does not exist', ['spawn --workspace no', 'spawn --workspace .']),
  usage('no target is configured', ['notify test', 'config list']),
  usage('a target is unknown', ['notify test you', 'notify test me'], { prepare: target }),
  usage('the text to search for is empty', ["search ''", 'search text']),
  usage('an expression is none', ["log a --grep '/(/'", 'search text']),
  usage('--host-gone names this home', ['recover --host-gone no', 'recover --all']),
  usage('a log has no such record', ['log a --since 99', 'log a']),
  usage('a log ends before the record', ['log a --follow --since 99', 'log a']),
  usage('--watch has no terminal', ['list --watch', 'list']),
  usage('an agent needs no host', ['set a --here', 'set a --allow shell']),
  usage('a child has the name of a role', ['spawn --parent a --name parent', 'spawn --parent a --name b']),

  usage('a message is not UTF-8', ['send a', 'send a hi'], { stdin: Buffer.from([0xff]) }),
  usage('a message is too large', ['send a', 'send a hi'], {
    stdin: Buffer.alloc(limits.messageBytesMax + 1, 'a'),
  }),
  usage('a decision has no token', ['resume a --approve'], { prepare: (h) => waiting(h) }),
  usage('a result has no token', ['resume a --result file'], {
    prepare: withToken((h) => waiting(h)),
    fill: { FILE: 'file' },
  }),
  usage('a decision is of another kind', ['answer a red'], { prepare: (h) => waiting(h) }),
  usage('a token has no decision', ['resume a --token $token', 'resume a --token $token --approve'], {
    prepare: withToken((h) => waiting(h)),
  }),
  usage('stdin has two meanings', ['resume a --token - --input -', 'resume a --input red'], {
    prepare: withToken(asking),
    correctedEnv: { SUBSTRAT_TOKEN: '$token' },
  }),
  usage(
    'the file of a result is missing',
    ['resume a --token $token --result no', 'resume a --token $token --result file'],
    {
      prepare: withToken((h) => waiting(h)),
    },
  ),
  usage('edits are not JSON', ['approve a $id --edits -', 'approve a'], {
    prepare: withToken((h) => waiting(h)),
    stdin: 'x',
  }),
  usage('edits are of another call', ['approve a $id --edits -'], {
    prepare: withToken((h) => waiting(h)),
    stdin: '[{"call_id": "none", "input": {}}]',
  }),
  usage('a chained command is to be always allowed', ['approve a --always'], { prepare: (h) => waiting(h) }),

  usage('no editor is named', ['config edit'], { ...EDITED, env: { PATH: '$tools:$PATH' } }),
  usage('the editor fails', ['config edit'], { ...EDITED, env: { PATH: '$tools:$PATH', EDITOR: 'false' } }),
  usage('a plugin is not installed', ['plugins uninstall none', 'plugins']),
  usage('a plugin needs a newer substrat', ['plugins add ./x'], {
    prepare: (house) => {
      aPackage(house)
      const file = join(house.workspace, 'x', 'package.json')
      const manifest = JSON.parse(readFileSync(file, 'utf8'))
      writeFileSync(file, JSON.stringify({ ...manifest, engines: { substrat: '>=9' } }))
    },
    byHand: aPackage,
  }),
  usage('a package has the name of an official plugin', ['plugins add ./x'], {
    prepare: (house) => {
      aPackage(house)
      const file = join(house.workspace, 'x', 'package.json')
      const manifest = JSON.parse(readFileSync(file, 'utf8'))
      writeFileSync(file, JSON.stringify({ ...manifest, name: 'substrat-provider-openai' }))
    },
    byHand: aPackage,
  }),
  usage('there is no such package', ['plugins add ./no'], { prepare: NOTHING }),
  usage('a provider has the name of another', ['plugins add ./x'], {
    prepare: (house) => {
      writePlugin(house.workspace, { name: 'x', providers: { exec: modelProvider('') } })
    },
    byHand: aPackage,
  }),
  usage('a bundle is none', ['import file'], {
    prepare: async (h) => [await veteran(h), h.write('file', 'x')],
  }),
  usage('a bundle is not there', ['import no', 'import file'], {
    prepare: async (house) => {
      await veteran(house)
      await house.ok('export', 'a', '--bundle', 'file')
      await house.ok('terminate', 'a')
    },
  }),
  usage('a file is too large', ['import large', 'import file'], {
    prepare: async (house) => {
      await veteran(house)
      await house.ok('export', 'a', '--bundle', 'file')
      await house.ok('terminate', 'a')
      truncateSync(house.write('large', ''), limits.bundleBytesMax + 1)
    },
  }),
  usage('a line of a crontab is too long', ['units cron'], { env: { PATH: `/${'x'.repeat(1000)}:/bin` } }),
  usage('a crontab has a backslash', ['units cron'], { env: { SUBSTRAT_HOME: '/tmp/a\\b' } }),
  usage('a crontab has a line feed', ['units cron'], {
    env: { SUBSTRAT_HOME: '/tmp/a\nb' },
    correctedEnv: { SUBSTRAT_HOME: '/tmp/ab' },
  }),
  usage('the directory of the command is gone', ['spawn'], {
    under: `mkdir gone && cd gone && rmdir ../gone && exec "$@"`,
  }),
]
