import * as Flags from '@oclif/core/flags'
import { agent, duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { shellWord } from '../src/errors.js'
import { compactAgent } from '../src/operations/compact.js'

export default class Compact extends WritingCommand {
  static override summary = 'Replace the beginning of a conversation with a summary.'
  static override description =
    'Use it if the service refuses the conversation. The model summarises the messages that are left out; if it refuses, a notice replaces them. If the summary fails otherwise, the conversation stays whole. The log keeps everything. Agent programs such as claude keep their own conversation, which substrat cannot change.'
  static override examples = ['<%= config.bin %> compact notes', '<%= config.bin %> compact notes --keep 1']
  static override args = {
    agent,
  }
  static override flags = {
    keep: Flags.integer({
      min: 0,
      description:
        'keep this many of the latest exchanges: messages, and responses with their results; default: the latest third',
    }),
    drop: Flags.boolean({
      description: 'leave the messages out without a summary, and with any earlier one; asks no model',
    }),
    timeout: duration({
      description: 'wait this long for a busy agent or a slot; default: the timeout setting',
    }),
  }

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Compact)
    const agentId = this.resolveForWrite(args.agent)
    const result = await compactAgent(this.context({ waitMs: flags.timeout }), agentId, {
      keep: flags.keep,
      drops: flags.drop,
    })
    const { agent, how, messages } = result
    // The last exchange stays without --keep, and may be the one that the service refuses.
    const all =
      flags.keep === 0
        ? ''
        : ` (leave out every message: substrat compact ${shellWord(agent.path)} --keep 0${flags.drop ? ' --drop' : ''})`
    const nothing = `nothing to leave out${all}`
    const what = how === null ? nothing : `${messages} messages ${REPLACED[how]}`
    this.printObject(result, `${agent.path}: ${what}`)
  }
}

const REPLACED = { summary: 'are replaced by a summary', dropped: 'are left out without a summary' }
