/** How many turns for pending mail may still start. Parallel visits share one budget. */
export class TurnBudget {
  private spent = 0
  private isClosed = false

  constructor(
    private readonly turnsMax: number,
    /** The budget that this one is a part of. */
    private readonly whole?: TurnBudget,
  ) {}

  get left(): number {
    if (this.isClosed) return 0
    return Math.min(this.turnsMax - this.spent, this.whole?.left ?? Number.POSITIVE_INFINITY)
  }

  spend(): void {
    this.spent += 1
    this.whole?.spend()
  }

  /** Lets no further turn start. */
  close(): void {
    this.isClosed = true
  }
}
