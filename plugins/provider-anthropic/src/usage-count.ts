/** The tokens of one response. */
import type Anthropic from '@anthropic-ai/sdk'
import type { ModelEvent } from 'substrat/provider'
import { usageEvent } from '../../shared/src/model/usage.js'
import { countOf, type Wire } from '../../shared/src/model/wire.js'

/** Counts are cumulative: each event can correct the earlier ones. */
export class UsageCount {
  model: unknown
  private counts: Record<string, number> = {}

  take(usage: Wire<Anthropic.Usage | Anthropic.MessageDeltaUsage> | null | undefined): void {
    for (const [name, count] of Object.entries(usage ?? {})) {
      if (typeof count === 'number') this.counts[name] = count
    }
    const thinking = usage?.output_tokens_details?.thinking_tokens
    if (typeof thinking === 'number') this.counts.thinking_tokens = thinking
  }

  get isKnown(): boolean {
    return Object.keys(this.counts).length > 0
  }

  /** The API's `input_tokens` are without those that its cache read or wrote. */
  get event(): ModelEvent {
    const { input_tokens, output_tokens, thinking_tokens } = this.counts
    const { cache_read_input_tokens: read, cache_creation_input_tokens: write } = this.counts
    return usageEvent(
      countOf(input_tokens) + countOf(read) + countOf(write),
      countOf(output_tokens),
      { cache_read_tokens: read, cache_write_tokens: write, reasoning_tokens: thinking_tokens },
      this.model,
    )
  }
}
