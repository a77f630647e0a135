/** The settings, with their defaults and environment variables. Programs load this module; it must stay free of zod. */

export type SettingKind =
  | 'text'
  | 'count'
  | 'count_or_0'
  | 'duration'
  | 'durations'
  | 'names'
  | 'unknown_tool'
  | 'rules'
  | 'context'
  | 'workspace_scope'
  | 'budget'
  | 'amounts'
  | 'weight'
  | 'zone'
  | 'switch'
  | 'servers'
  | 'targets'
  | 'channels'

interface Setting {
  kind: SettingKind
  default: string | null
  env: string
  help: string
}

export const SETTINGS = {
  provider: { kind: 'text', default: null, env: 'SUBSTRAT_PROVIDER', help: 'provider of a new agent' },
  model: {
    kind: 'text',
    default: null,
    env: 'SUBSTRAT_MODEL',
    help: 'model of a new agent with the configured provider',
  },
  slots_max: {
    kind: 'count',
    default: '4',
    env: 'SUBSTRAT_SLOTS_MAX',
    help: 'maximum number of provider calls at once, across all processes',
  },
  warm_max: {
    kind: 'count_or_0',
    default: '2',
    env: 'SUBSTRAT_WARM_MAX',
    help: 'maximum number of agent servers kept between turns; 0: none',
  },
  depth_max: {
    kind: 'count',
    default: '8',
    env: 'SUBSTRAT_DEPTH_MAX',
    help: 'maximum depth of the tree of agents',
  },
  children_max: {
    kind: 'count',
    default: '100',
    env: 'SUBSTRAT_CHILDREN_MAX',
    help: 'maximum number of living children of an agent',
  },
  context: {
    kind: 'context',
    default: 'all',
    env: 'SUBSTRAT_CONTEXT',
    help: 'how much of the earlier conversation a turn of a new agent begins with: all, turn or last:N',
  },
  workspace_scope: {
    kind: 'workspace_scope',
    default: 'host',
    env: 'SUBSTRAT_WORKSPACE_SCOPE',
    help: 'in a shared home: whether only the host of a new agent runs its turns, or any',
  },
  timeout: {
    kind: 'duration',
    default: '10m',
    env: 'SUBSTRAT_TIMEOUT',
    help: 'how long to wait for a busy agent or a free slot',
  },
  turn_timeout: {
    kind: 'duration',
    default: '12h',
    env: 'SUBSTRAT_TURN_TIMEOUT',
    help: 'limit for one turn; time in which substrat was stopped (SIGSTOP) or the machine slept counts at most 5 seconds',
  },
  shutdown_grace: {
    kind: 'duration',
    default: '30s',
    env: 'SUBSTRAT_SHUTDOWN_GRACE',
    help: 'how long a turn may run after SIGTERM, SIGINT or SIGHUP',
  },
  tool_timeout: {
    kind: 'duration',
    default: '120s',
    env: 'SUBSTRAT_TOOL_TIMEOUT',
    help: 'time limit for one tool call',
  },
  token_lifetime: {
    kind: 'duration',
    default: '7d',
    env: 'SUBSTRAT_TOKEN_LIFETIME',
    help: 'how long a resume token is valid',
  },
  retry_delays: {
    kind: 'durations',
    default: '2s,4s,8s',
    env: 'SUBSTRAT_RETRY_DELAYS',
    help: 'pauses before each retry of a failed model request',
  },
  allow: {
    kind: 'names',
    default: null,
    env: 'SUBSTRAT_ALLOW',
    help: 'tools that run without approval, for every agent',
  },
  ask: {
    kind: 'switch',
    default: 'on',
    env: 'SUBSTRAT_ASK',
    help: 'when a turn waits for you, ask at the terminal and continue it; off: exit 5',
  },
  'recovery.unknown_tool': {
    kind: 'unknown_tool',
    default: 'stop',
    env: 'SUBSTRAT_RECOVERY_UNKNOWN_TOOL',
    help: 'after a crash during a tool call: stop for a person, or let the model check',
  },
  'recovery.mcp_hints': {
    kind: 'switch',
    default: 'off',
    env: 'SUBSTRAT_RECOVERY_MCP_HINTS',
    help: 'after a crash during a call of an MCP tool: run it again if its server calls the tool read-only or idempotent',
  },
  on_unknown: {
    kind: 'rules',
    default: null,
    env: 'SUBSTRAT_ON_UNKNOWN',
    help: 'rules for tool calls whose result a crash lost, as JSON: ["TOOL=rerun", "shell(git push*)=check COMMAND"]',
  },
  'recovery.takeover': {
    kind: 'switch',
    default: 'on',
    env: 'SUBSTRAT_RECOVERY_TAKEOVER',
    help: 'in a home in PostgreSQL: continue a turn on another host once its leash has ended its programs',
  },
  budget: {
    kind: 'budget',
    default: null,
    env: 'SUBSTRAT_BUDGET',
    help: 'caps of the whole home: UNIT=NUMBER[/PERIOD], as in tokens=2M/day,requests=500/hour',
  },
  budget_turn: {
    kind: 'amounts',
    default: 'tokens=500k,usd=2,time=30m',
    env: 'SUBSTRAT_BUDGET_TURN',
    help: 'hold of one turn of an agent program, until the program reports its use',
  },
  budget_cached: {
    kind: 'weight',
    default: '1',
    env: 'SUBSTRAT_BUDGET_CACHED',
    help: 'how much a token of cached input counts in a budget, from 0 to 1',
  },
  timezone: {
    kind: 'zone',
    default: null,
    env: 'SUBSTRAT_TIMEZONE',
    help: 'time zone of the hours, days, weeks and months of budgets, as in Europe/Berlin; default: that of the machine',
  },
  mcp_servers: {
    kind: 'servers',
    default: null,
    env: 'SUBSTRAT_MCP_SERVERS',
    help: 'MCP servers (stdio) for every model agent, as JSON',
  },
  notify: {
    kind: 'targets',
    default: null,
    env: 'SUBSTRAT_NOTIFY',
    help: 'targets of notifications when a turn waits, fails or ends, as JSON',
  },
  channels: {
    kind: 'channels',
    default: null,
    env: 'SUBSTRAT_CHANNELS',
    help: 'conversation services whose threads are agents, as JSON',
  },
} as const satisfies Record<string, Setting>
