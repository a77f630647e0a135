/** Metrics and their text form, OpenMetrics 1.0. */

type Labels = Record<string, string>

/** A counter with one value for each set of labels. */
export class Counter {
  private readonly values = new Map<string, number>()

  /** `known`: sets of labels that are there from the beginning, with the value 0. */
  constructor(
    private readonly name: string,
    private readonly help: string,
    known: Labels[] = [],
  ) {
    for (const labels of known) this.add(labels, 0)
  }

  add(labels: Labels, value = 1): void {
    const key = labelText(labels)
    this.values.set(key, (this.values.get(key) ?? 0) + value)
  }

  lines(): string[] {
    const unit = /_(usd|seconds)$/.exec(this.name)?.[1]
    return [
      ...headOf(this.name, 'counter', this.help, unit),
      ...[...this.values].map(([labels, value]) => `${this.name}_total${labels} ${value}`),
    ]
  }
}

export class Histogram {
  private readonly counts: number[]
  private sum = 0

  constructor(
    private readonly name: string,
    private readonly help: string,
    /** The upper limits of all buckets but the last. */
    private readonly limits: number[],
  ) {
    this.counts = new Array(limits.length + 1).fill(0)
  }

  observe(seconds: number): void {
    const at = this.limits.findIndex((limit) => seconds <= limit)
    const index = at < 0 ? this.limits.length : at
    this.counts[index] = (this.counts[index] as number) + 1
    this.sum += seconds
  }

  lines(): string[] {
    let below = 0
    const buckets = this.counts.map((count, index) => {
      below += count
      return `${this.name}_bucket{le="${this.limits[index] ?? '+Inf'}"} ${below}`
    })
    return [
      ...headOf(this.name, 'histogram', this.help, 'seconds'),
      ...buckets,
      `${this.name}_count ${below}`,
      `${this.name}_sum ${this.sum}`,
    ]
  }
}

export function gaugeLines(name: string, help: string, values: [Labels, number][]): string[] {
  return [
    ...headOf(name, 'gauge', help, undefined),
    ...values.map(([labels, value]) => `${name}${labelText(labels)} ${value}`),
  ]
}

export function exposition(families: string[][]): string {
  return `${[...families.flat(), '# EOF'].join('\n')}\n`
}

function headOf(name: string, type: string, help: string, unit: string | undefined): string[] {
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${help}`,
  ]
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
