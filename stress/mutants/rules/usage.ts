/** Reports of a provider beside its reply: whole usage, counted once, and its own items, given back unchanged. */
import type { Mutant } from '../mutant.js'

export const USAGE: Mutant[] = [
  {
    name: 'a total counts what earlier records of the run counted',
    edits: [['return counted === null ? total : combined(total, counted, -1)', 'return remainder']],
    suites: ['turn/drive-agent'],
  },
  {
    name: 'cached tokens, reasoning tokens and costs are not added up',
    edits: [
      [
        `for (const part of PARTS) {
           if (a[part] === undefined && b[part] === undefined) continue
           total[part] = Math.min((a[part] ?? 0) + sign * (b[part] ?? 0), TOKENS_MAX)
         }`,
        ';',
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: 'a sum of costs has digits that no provider reported',
    edits: [['Math.round(cost * 1e9)', 'cost * 1e9']],
    suites: ['session/fold/usage'],
  },
  {
    name: 'a sum of tokens has no upper end',
    edits: [
      [
        'Math.min((a[part] ?? 0) + sign * (b[part] ?? 0), TOKENS_MAX)',
        '(a[part] ?? 0) + sign * (b[part] ?? 0)',
      ],
    ],
    suites: ['session/fold/usage'],
  },
  {
    name: 'a damaged agent below another is not named in its usage',
    edits: [['lowestFirst(branchOf(store, treeOf, all, peekState), treeOf)', '[treeOf]']],
    suites: ['commands/usage'],
  },
  {
    name: 'the agents in usage are in another order than in list',
    edits: [['counted.sort(oldestFirst)', 'counted']],
    suites: ['commands/usage#order of list'],
  },
  {
    name: 'the usage of an earlier response of the run is forgotten',
    edits: [['run.usage ?? NO_USAGE', 'NO_USAGE']],
    suites: ['session/fold/turn'],
  },
  {
    name: "the usage in a program's store is not recorded with its interruption",
    edits: [
      [
        "{ kind: 'run.interrupted', run_id: run.run_id, reason, ...usedFields(used) }",
        "{ kind: 'run.interrupted', run_id: run.run_id, reason, ...{} }",
      ],
    ],
    suites: ['recovery/settle#usage', 'recovery/settle-killed'],
  },
  {
    name: 'the usage of a program that was stopped is forgotten',
    edits: [['used = usedFields(event)', 'used = {}']],
    suites: ['commands/program-usage#cancelled'],
  },
  {
    name: "a provider's items are not stored with its response",
    edits: [['if (items.length === 0) return {}', 'return {}']],
    suites: ['turn/drive-model'],
  },
  {
    name: "a provider's items are not given back",
    edits: [
      [
        'return items_blob === undefined ? (items ?? []) : (JSON.parse(session.text(items_blob)) as JsonObject[])',
        'return []',
      ],
    ],
    suites: ['turn/drive-model'],
  },
  {
    name: 'a fork with the same model provider gets the text in place of the messages',
    edits: [['conversation === undefined', 'true']],
    suites: ['turn/prompt/history'],
  },
  {
    name: 'a fork with another provider gets the items of the first',
    edits: [["isSame && kind === 'model'", "kind === 'model'"]],
    suites: ['commands/fork'],
  },
  {
    name: 'a result from elsewhere is not awaited',
    edits: [['if (deferred === undefined) return {}', 'return {}']],
    suites: ['commands/tool-results'],
  },
  {
    name: 'the deadline of an awaited result is ignored',
    edits: [['deadline_at !== undefined && callIds.includes(call_id)', 'false']],
    suites: ['commands/tool-results'],
  },
  {
    name: 'a removed agent leaves no usage',
    edits: [
      [
        'if (now !== undefined) store.removed.put(removedAgentOf(store, now, new Date(clock.now()).toISOString()))',
        ';',
      ],
    ],
    suites: ['commands/usage#as before their removal'],
  },
  {
    name: 'a removed agent leaves no usage by model',
    edits: [['models: [...models.rows().values()],', 'models: [],']],
    suites: ['commands/usage#as before their removal'],
  },
  {
    name: 'an agent whose removal was killed counts twice',
    edits: [['store.removed.all().filter((each) => !store.hasAgent(each.agentId))', 'store.removed.all()']],
    suites: ['commands/usage#whose removal was killed'],
  },
  {
    name: 'a turn without usage is in no row of a model',
    edits: [['if (isUnused === true) return [{ model: begunWith, used: null }]', ';']],
    suites: ['commands/usage#every turn is in a row'],
  },
]
