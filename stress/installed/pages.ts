/**
 * The code blocks of the pages that a new user follows, and how each is run in the chroot. A block that is not listed fails the
 * run. A block that needs something outside says so in its page.
 */

/** A block that does not run here, with the reason. */
interface Left {
  starts: string
  left: string
}

/** A block that runs as typed. */
interface Typed {
  starts: string
  /** Commands of root before it. */
  prelude?: string
  /** The shell's lines before it, such as a place or an agent that the page assumes. */
  before?: string
  /** Changes of the text: the page has a name or an address of another machine. */
  replace?: [RegExp, string][]
  after?: string
  /** Text that stdout and stderr must have. */
  says: string[]
}

export type Plan = Left | Typed

const REPOSITORY =
  'mkdir -p ~/work && cd ~/work && git init -q . && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m first'
const AT_WORK = `until substrat log thinker | grep -q 'program started'; do sleep 0.1; done`
/** Without a quote: it stands within some. */
const POSTGRES =
  'pg_ctlcluster 17 main start && { su postgres -c "createuser stranger" 2>/dev/null || true; }'
const NEW_DATABASE = 'su postgres -c "dropdb --if-exists substrat && createdb --owner stranger substrat"'
const SERVING = `cd ~ && substrat spawn --name notes --provider scripted >/dev/null
rm -f serve.log; substrat serve >serve.log 2>&1 & SERVER=$!
until [ -e serve.log ]; do sleep 0.1; done
until grep -q 'listening' serve.log; do sleep 0.1; done
cat serve.log`
const STOP = 'kill $SERVER; wait $SERVER || true'
const TOKEN_FILE: [RegExp, string] = [/serve-[0-9a-f]{16}\.token/g, 'serve-*.token']
/** A stream stays open: curl ends with 28 after the time. */
const STREAM: [RegExp, string] = [/^curl -N (.*)$/m, 'curl -N -m 5 $1 || [ $? = 28 ]']

export const PAGES: Record<string, Plan[]> = {
  'README.md': [
    {
      starts: '$ substrat spawn --name thinker',
      before: 'cd ~ && set -m',
      replace: [
        [/^(?!\$ ).*\n/gm, ''],
        [/^\$ /gm, ''],
        [/&$/m, `&\n${AT_WORK}`],
        // At a terminal, the list is for people.
        [/^substrat list$/m, `NO_COLOR=1 script -qec 'substrat list' /dev/null`],
        [/^kill -9 %1$/m, 'kill -9 %1; wait %1 || true'],
      ],
      says: [
        'its process died',
        'continuing the interrupted turn',
        'Forty-two.',
        'already sent with this key',
      ],
    },
    { starts: 'npm ci && npm run demo', left: 'needs a clone, as the page says' },
    {
      starts: 'npm ci\nnpm pack',
      left: 'needs a clone, as the page says; the package of the registry is installed instead',
    },
    {
      starts: 'export OPENAI_API_KEY',
      before: REPOSITORY,
      says: [],
      after: 'cat weekly.md; grep -q "You wrote" weekly.md',
    },
    {
      starts: '$ substrat help exit-codes',
      replace: [
        [/^(?!\$ ).*\n/gm, ''],
        [/^\$ /gm, ''],
      ],
      says: ['fsync failed'],
    },
  ],
  'docs/first-agent.md': [
    {
      starts: 'substrat spawn --name notes',
      before: REPOSITORY,
      says: ['echo: What is open?', 'echo: Summarise this:'],
    },
    { starts: 'substrat spawn --name slow', before: 'cd ~ && set -m', says: ['interrupted', 'Done.'] },
  ],
  'docs/serve.md': [
    {
      starts: 'substrat serve',
      before: 'cd ~',
      replace: [[/^substrat serve$/m, SERVING]],
      says: ['listening on http://127.0.0.1:4777'],
      after: STOP,
    },
    {
      starts: 'TOKEN=',
      before: SERVING,
      replace: [TOKEN_FILE],
      says: ['"path":"notes"'],
      after: STOP,
    },
    {
      starts: 'curl -N',
      before: `${SERVING}\nTOKEN=$(cat ~/.local/state/substrat/serve-*.token)\nfor n in 1 2 3; do substrat send notes $n; done`,
      replace: [STREAM],
      says: ['event: record'],
      after: STOP,
    },
    {
      starts: '$ substrat serve',
      left: 'needs a restart of the machine; test/servers/page-reboot.test.ts makes it',
    },
    {
      starts: 'curl -H "Authorization: Bearer $TOKEN" -H \'Content-Type',
      before: `${SERVING}\nTOKEN=$(cat ~/.local/state/substrat/serve-*.token)`,
      says: ['echo: Write the daily report.'],
      after: STOP,
    },
  ],
  'docs/postgres.md': [
    {
      starts: 'export SUBSTRAT_HOME',
      prelude: `${POSTGRES} && ${NEW_DATABASE}`,
      says: ['created the home'],
      after: 'substrat spawn --name notes --provider scripted; substrat send notes hi',
    },
    {
      starts: 'substrat set notes',
      prelude: POSTGRES,
      before: 'export SUBSTRAT_HOME=postgres:///substrat?host=/run/postgresql; cd ~',
      // The last line is for an agent program, which has sessions of its own.
      replace: [
        [/\/srv\/notes/, '~/'],
        [/^substrat resume notes --reseed.*$/m, ''],
      ],
      says: [],
    },
  ],
  'docs/cron.md': [
    {
      starts: '(crontab -l',
      // A new user has no table, so the first command fails.
      before: 'set +e',
      says: [],
      after: "crontab -l; crontab -l | grep -q 'substrat.* deliver --all'",
    },
    {
      starts: 'substrat set report --context',
      before: 'cd ~ && substrat spawn --name report --provider scripted >/dev/null',
      says: ['echo: Write…'],
    },
    { starts: 'mkdir -p ~/.config/systemd/user', left: 'needs systemd, as the page says' },
    { starts: '#!/bin/sh\nkey=', left: 'needs a mail system, as the page says' },
  ],
}
