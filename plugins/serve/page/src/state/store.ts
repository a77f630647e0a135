/** A value that components follow. */
import { useEffect, useState } from 'preact/hooks'

export class Store<Value> {
  private readonly listeners = new Set<() => void>()

  constructor(private current: Value) {}

  get value(): Value {
    return this.current
  }

  set(value: Value): void {
    if (value === this.current) return
    this.current = value
    for (const listener of this.listeners) listener()
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

export function useStore<Value>(store: Store<Value>): Value {
  const [, redraw] = useState(0)
  useEffect(() => {
    let drawn = store.value
    const look = (): void => {
      if (drawn === store.value) return
      drawn = store.value
      redraw((count) => count + 1)
    }
    // The value may have changed between the drawing and this effect.
    redraw((count) => count + 1)
    return store.subscribe(look)
  }, [store])
  return store.value
}
