import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'
import LongestFirst from './test/support/sequence.js'
import { temporaryDirectory } from './test/support/temp-directory.js'

/** The laboratories patch `node:fs` and `process` of their own process, and never undo it. */
const LABS = ['test/stress/**/*.test.ts', 'test/security/**/*.test.ts']
/** They kill a command at each of its steps, or at random: many processes, and few lines that other tests do not run. */
const KILLS = [
  'test/acp/{driven,killed}.test.ts',
  'test/commands/{move-over-ssh,other-host,plugin-list-killed,tools-killed}.test.ts',
  'test/dispatch/{exactly-once,one-answer,*-killed}.test.ts',
  'test/operations/{*-killed,transfer/{import,migrate,move}}.test.ts',
  'test/outbound/storm.test.ts',
  'test/plugins/*-{dying,killed}.test.ts',
  'test/plugins/telegram/killed.test.ts',
  'test/recovery/*-killed.test.ts',
  'test/storage/locks/*-killed.test.ts',
  'test/store-postgres/{conformance,crowded,hosts,lost-calls,migrate,predicates,standby,suspend}.test.ts',
  'test/serve/killed.test.ts',
]
/** They start many processes: installations, signals, pipes, races of commands. `npm run test:labs` runs them with the kills. */
const PROCESSES = [
  'test/command/entry.test.ts',
  'test/console/stdio.test.ts',
  'test/commands/{agent-shell,deliver-workers,mcp,nohup,selftest,umask}.test.ts',
  'test/dispatch/{clock-ahead,limited-programs,signal-to-all}.test.ts',
  'test/operations/{message/direct,stop-agent,terminate-races}.test.ts',
  'test/package/{demo,inspector,owners,readme}.test.ts',
]
/**
 * The second and further files of a command, and what a person sees in a terminal: `npm run test:commands`. Each command has one
 * file of its name in `npm test`.
 */
const COMMANDS = [
  'test/commands/{bad-input,context,config-edit,config-providers,derived-status,drain,earlier-mail,early-signals}.test.ts',
  'test/commands/{forged-move,kept-server,mail,move,newer-build,other-host-unlock,program-usage,program-waits}.test.ts',
  'test/commands/{plugins-add,reviewers,stopped-holder,terminal,tool-results,tools,tools-mail,upgrade,waits}.test.ts',
  'test/terminal/**/*.test.ts',
]
/** Plugins, which are packages of their own, and the commands that only plugins have. */
const PLUGINS = [
  'test/{acp,channel,operator,plugins,serve,store-postgres}/**/*.test.ts',
  'test/commands/models.test.ts',
  'test/docs/{openai-endpoint,openapi}.test.ts',
]
/** They run programs of other people as they are: `npm run test:servers`. */
const SERVERS = ['test/servers/**/*.test.ts']
/** With SUBSTRAT_TEST_STORE=postgres, the only ones: they run tools, programs and kept servers, with homes in PostgreSQL. */
const IN_POSTGRES = [
  'test/commands/{allow,budgets,newer-build,tools}.test.ts',
  'test/dispatch/{kept-servers,program-killed,refusal}.test.ts',
  'test/provider/kept-server.test.ts',
  'test/recovery/settle-programs.test.ts',
  'test/turn/drive-*.test.ts',
]
/** Test files that share a worker process. */
const SHARED = { isolate: false, setupFiles: ['test/support/fresh.ts'] }

export default defineConfig({
  // Plugins import them besides types; their build has this alias too.
  resolve: {
    alias: Object.fromEntries(
      [
        'schema/actors',
        'schema/message',
        'schema/questions',
        'schema/reasons',
        'schema/words',
        'session/entries',
      ].map((file) => [`substrat/${path.basename(file)}`, path.join(import.meta.dirname, `src/${file}.ts`)]),
    ),
  },
  test: {
    pool: 'forks',
    // Most tests wait for processes that they started: twice as many workers as cores keep the cores busy.
    maxWorkers: availableParallelism() * 2,
    // No test depends on speed: these limits end only a test that hangs.
    testTimeout: 15 * 60_000,
    hookTimeout: 15 * 60_000,
    teardownTimeout: 60_000,
    // The commands that run without a process use a module loader that Node 20 calls experimental.
    // Most objects of a test live longer than a young generation of the default size, and would be copied.
    execArgv: ['--max-semi-space-size=64', '--disable-warning=ExperimentalWarning'],
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/support/shared-cache.ts', 'test/support/postgres-homes-server.ts'],
    env: {
      TMPDIR: temporaryDirectory(),
      // A person reads local times.
      TZ: 'UTC',
      // The tests start the CLI as its users do. Under vitest's NODE_ENV=test oclif behaves differently.
      NODE_ENV: 'production',
      // Reading extra certificates costs Node 20 some 35 ms at every start.
      NODE_EXTRA_CA_CERTS: '',
    },
    projects:
      process.env.SUBSTRAT_TEST_STORE === 'postgres'
        ? [{ extends: true, test: { name: 'postgres', include: IN_POSTGRES } }]
        : [
            { extends: true, test: { name: 'labs', include: LABS } },
            { extends: true, test: { name: 'servers', include: SERVERS } },
            { extends: true, test: { name: 'kills', include: [...KILLS, ...PROCESSES], ...SHARED } },
            { extends: true, test: { name: 'plugins', include: PLUGINS, exclude: KILLS, ...SHARED } },
            { extends: true, test: { name: 'commands', include: COMMANDS, ...SHARED } },
            {
              extends: true,
              test: {
                name: 'code',
                include: ['test/**/*.test.ts'],
                exclude: [...LABS, ...SERVERS, ...KILLS, ...PROCESSES, ...COMMANDS, ...PLUGINS],
                ...SHARED,
              },
            },
          ],
  },
})
