import { ICON_PATHS, type IconName } from '../model/icon-paths.js'

/** Stands beside a word, so a screen reader skips it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={ICON_PATHS[name]} />
    </svg>
  )
}
