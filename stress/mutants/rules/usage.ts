/** Reports of a provider beside its reply: whole usage, counted once, and its own items, given back unchanged. */
import type { Mutant } from '../mutant.js'

export const USAGE: Mutant[] = [
  {
    name: 'a total counts what earlier records of the run counted',
    place: 'session/fold/usage.ts remainder',
    edits: { 'return:1': 'return @identifier:1' },
    suites: ['turn/drive-agent'],
  },
  {
    name: 'cached tokens, reasoning tokens and costs are not added up',
    place: 'session/fold/usage.ts addOptional',
    edits: { 'forOf:1': '' },
    suites: ['session/fold/turn'],
  },
  {
    name: 'a sum of costs has digits that no provider reported',
    place: 'session/fold/usage.ts addOptional',
    edits: { 'call:3': '@arguments.0' },
    suites: ['session/fold/usage'],
  },
  {
    name: 'a sum of tokens has no upper end',
    place: 'session/fold/usage.ts addOptional',
    edits: { 'call:1': '@arguments.0' },
    suites: ['session/fold/usage'],
  },
  {
    name: 'a damaged agent below another is not named in its usage',
    place: 'operations/usage.ts agentsOf',
    edits: { 'call:2': '[@arguments.1]' },
    suites: ['commands/usage'],
  },
  {
    name: 'the agents in usage are in another order than in list',
    place: 'operations/usage.ts viewUsage',
    edits: { 'call:9': '@callee.object' },
    suites: ['commands/usage#order of list'],
  },
  {
    name: 'the usage of an earlier response of the run is forgotten',
    place: 'session/fold/usage.ts countUsage',
    edits: { 'logical:1': '@right' },
    suites: ['session/fold/turn'],
  },
  {
    name: "the usage in a program's store is not recorded with its interruption",
    place: 'recovery/settlement.ts interruption',
    edits: { 'call:1': '{}' },
    suites: ['recovery/settle#usage', 'recovery/settle-killed'],
  },
  {
    name: 'the usage of a program that was stopped is forgotten',
    place: 'turn/step/step.ts stoppedRecords',
    edits: { 'call:1': '{}' },
    suites: ['commands/program-usage#cancelled'],
  },
  {
    name: "a provider's items are not stored with its response",
    place: 'turn/ask/stored.ts storedItems',
    edits: { 'if:1': '@return:1' },
    suites: ['turn/drive-model'],
  },
  {
    name: "a provider's items are not given back",
    place: 'turn/prompt/history.ts itemsOf',
    edits: { 'return:1': 'return []' },
    suites: ['turn/drive-model'],
  },
  {
    name: 'a fork with the same model provider gets the text in place of the messages',
    place: 'turn/prompt/history.ts seedExchange',
    edits: { 'binary:1': 'true' },
    suites: ['turn/prompt/history'],
  },
  {
    name: 'a fork with another provider gets the items of the first',
    place: 'operations/fork.ts fork',
    edits: { 'logical:4': '@right' },
    suites: ['commands/fork'],
  },
  {
    name: 'a result from elsewhere is not awaited',
    place: 'turn/tool-runs.ts deferralOf',
    edits: { 'if:1': '@return:1' },
    suites: ['commands/tool-results'],
  },
  {
    name: 'the deadline of an awaited result is ignored',
    place: 'turn/drive.ts Turn.earliestDeadline',
    edits: { 'logical:1': 'false' },
    suites: ['commands/tool-results'],
  },
]
