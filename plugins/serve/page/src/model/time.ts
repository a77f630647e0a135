/** Times and amounts as people read them. */

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })
const COUNT = new Intl.NumberFormat()
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

export function dateText(time: string): string {
  return DATE.format(new Date(time))
}

export function clockText(time: string): string {
  return CLOCK.format(new Date(time))
}

/** A text of substrat with its times as the page writes them. Messages have those of the server, in its zone or in UTC. */
export function withLocalTimes(text: string): string {
  return text.replace(
    /\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)(?=$|[^\w])/g,
    (whole, date: string, time: string, zone: string) => {
      const at = `${date}T${time}${zone}`
      return Number.isNaN(Date.parse(at)) ? whole : dateText(at)
    },
  )
}

/** Each with its seconds, and those from which on a time is rounded up to one of them. */
const STEPS: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ['day', 86_400, 86_400 - 1800],
  ['hour', 3600, 3600 - 30],
  ['minute', 60, 59.5],
]

/** "3 min. ago", "in 2 hr." */
export function agoText(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000
  for (const [unit, length, least] of STEPS)
    if (Math.abs(seconds) >= least) return RELATIVE.format(Math.round(seconds / length), unit)
  return Math.abs(seconds) < 10 ? 'now' : RELATIVE.format(Math.trunc(seconds), 'second')
}

/** When a turn that waits for the end of a rate limit continues. */
export function limitText(end: string, now = Date.now()): string {
  const when = agoText(end, now)
  if (Date.parse(end) > now)
    return when === 'now' ? 'It can continue in a moment.' : `It can continue ${when}.`
  return `The limit ended ${when === 'now' ? 'just now' : when}; the next substrat deliver continues the turn.`
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export function countText(count: number): string {
  return COUNT.format(count)
}

export function shortCount(count: number): string {
  return SHORT.format(count)
}

export function costText(usd: number): string {
  return `$${usd.toFixed(usd !== 0 && usd < 1 ? 4 : 2)}`
}

export function bytesText(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${SHORT.format(bytes / 1024)} KiB`
}
