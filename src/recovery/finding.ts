/** What the audit of a home finds. */
export interface Finding {
  agent_id: string | null
  /** Which invariant does not hold, in words. */
  invariant: string
  detail: string
}

export type Found = (invariant: string, detail: string) => void
