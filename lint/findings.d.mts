export interface Finding {
  kind: string
  line: number
  sentence: string
  what: string
  why: string
}
export function findingsIn(file: string, text: string): Finding[]
export function longestIn(file: string, text: string): Record<string, number>
