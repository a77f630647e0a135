/** How many turns may still be begun for what waits in inboxes; side by side they spend from the same. */
export class TurnBudget {
  private spent = 0
  private isClosed = false

  constructor(
    private readonly turnsMax: number,
    /** Of which this one is a part. */
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

  /** Nothing more is begun. */
  close(): void {
    this.isClosed = true
  }
}
