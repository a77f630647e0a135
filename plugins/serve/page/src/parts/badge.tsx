import type { Look } from '../model/words.js'
import { Icon } from './icons.js'

/** A status by colour, icon and word. */
export function Badge({ look: { word, tone, icon } }: { look: Look }) {
  return (
    <span class={`badge tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  )
}
