/** A button whose request takes a moment. While it runs, a second click does nothing. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { tell, tellError } from '../state/notes.js'

/** Runs one request at a time, and tells its outcome. */
export function useAction(): {
  isBusy: boolean
  run: (request: () => Promise<unknown>, done: string) => Promise<boolean>
} {
  const [isBusy, setBusy] = useState(false)
  const run = async (request: () => Promise<unknown>, done: string): Promise<boolean> => {
    if (isBusy) return false
    setBusy(true)
    try {
      await request()
      tell(done)
      return true
    } catch (error) {
      tellError(error)
      return false
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, run }
}

export function ActionButton(props: {
  children: ComponentChildren
  request: () => Promise<unknown>
  done: string
  look?: 'primary' | 'plain' | 'danger'
  label?: string
}) {
  const { isBusy, run } = useAction()
  return (
    <button
      type="button"
      class={props.look ?? 'plain'}
      aria-disabled={isBusy}
      aria-label={props.label}
      onClick={() => run(props.request, props.done)}
    >
      {props.children}
    </button>
  )
}
