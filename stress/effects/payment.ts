/** The payment service of the lab, which is a program in Python with its own count. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export interface Payments {
  charges: string[]
  requests: string[]
}

export class PaymentService {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  static async start(database: string, repository: string): Promise<PaymentService> {
    const program = join(repository, 'stress', 'effects', 'payment.py')
    const child = spawn('python3', [program, database], { stdio: ['ignore', 'pipe', 'inherit'] })
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout?.once('data', (text: Buffer) => resolve(Number(text.toString())))
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`the payment service exited ${code}`)))
    })
    return new PaymentService(child, port)
  }

  stop(): void {
    this.child.removeAllListeners('exit')
    this.child.kill('SIGKILL')
  }

  /** The command of the tool. */
  charge(delayMs: number): string {
    return `curl -sf -X POST -H "Idempotency-Key: $SUBSTRAT_CALL" '${this.url}/charges?delay=${delayMs}'`
  }

  /** The command of the rule `check`: exit 1 if there is no charge. */
  get check(): string {
    return `curl -sf ${this.url}/charges/$SUBSTRAT_CALL; code=$?; [ $code != 22 ] || exit 1; exit $code`
  }

  async all(): Promise<Payments> {
    return (await (await fetch(`${this.url}/all`)).json()) as Payments
  }

  private get url(): string {
    return `http://127.0.0.1:${this.port}`
  }
}
